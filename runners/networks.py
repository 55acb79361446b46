"""``salt-run networks.*``: plan bonds, VLANs and addresses, store and show plans, test the networks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import salt.utils.args
import yaml

from proposals.files import site
from proposals.networking import arguments, fragments, plan, switches, tables
from proposals.networking import cables as cabling
from proposals.pictures import networks as pictures
from proposals.policy import store
from proposals.text import argument_readers, names
from proposals.text import tables as text_tables
from proposals.text.errors import ArgumentError
from proposals.text.notes import cut
from runners.engine import answer
from runners.engine.asking import jobs, minions
from runners.engine.cluster import network_proof
from runners.engine.master import pages, planning
from runners.engine.runs import one_at_a_time


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def peek(**kwargs: Any) -> answer.Answer:
    """Show what a network proposal would be; write nothing.

    CLI Example:

    .. code-block:: bash

        salt-run networks.peek cluster-network=192.168.100.0/24 cluster-vlan=3001
    """
    planned, _ = _plan(kwargs)
    shown = planned.as_dict()
    return answer.Answer(text_tables.printed(tables.proposal, shown), shown)


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def populate(**kwargs: Any) -> answer.Answer:
    """Write a network proposal: a fragment a host, the two networks, ``proposal.json``.

    CLI Example:

    .. code-block:: bash

        salt-run networks.populate name=apollo cluster-network=192.168.100.0/24 cluster-vlan=3001
    """
    with one_at_a_time.alone(__opts__, "networks.populate", one_at_a_time.PROPOSALS):
        planned, root = _plan(kwargs)
        report = store.populate_network(root, fragments.wanted(planned), planned.arguments.force)
    shown = planned.as_dict()
    text = "\n".join([text_tables.printed(tables.proposal, shown), *cut(report.messages, "--out json has each")])
    return answer.Answer(text, {**shown, "messages": report.messages}, report.status)


@answer.answers
def show(name: str = "default", **_: Any) -> answer.Answer:
    """Show a stored network proposal.

    CLI Example:

    .. code-block:: bash

        salt-run networks.show apollo
    """
    stored = _stored(name)
    return answer.Answer(text_tables.printed(tables.proposal, stored), stored)


@answer.answers
def page(name: str = "default", file: str = "networks.html", ports: str | None = None, **_: Any) -> answer.Answer:
    """Write a stored network proposal as a picture that needs no server: links and ports of each host.

    file
        Where to; ``.html`` or ``.svg`` at its end says which.
    ports
        A YAML file on the master, as for ``networks.switch``: each port is shown with its switch.

    CLI Example:

    .. code-block:: bash

        salt-run networks.page apollo file=/srv/networks.html ports=/srv/cables.yml
    """
    wires = None if ports is None else cabling.read(str(ports))
    return pages.write(str(file), lambda: pictures.wired(_stored(name), wires))


@answer.answers
def switch(name: str = "default", ports: str | None = None, **kwargs: Any) -> answer.Answer:
    """Print the switches' configuration for a stored proposal: ``as=mlnx-os`` or ``as=nx-os``.

    as
        ``mlnx-os`` or ``nx-os``.
    ports
        A YAML file on the master: which cable is where, ``HOST: {PORT: SWITCH 1/7}``; ``networks.cables`` prints it.
        Without, hosts are cabled in the order of their names.

    CLI Example:

    .. code-block:: bash

        salt-run networks.switch apollo as=mlnx-os ports=/srv/cables.yml
    """
    system = argument_readers.text("as", kwargs.pop("as", "mlnx-os"))
    if kwargs:
        raise ArgumentError(f"switch: '{next(iter(kwargs))}' is not an argument; known are name, ports, as")
    text = switches.text(_stored(name), system, None if ports is None else cabling.read(str(ports)))
    return answer.Answer(text, {"as": system, "text": text})


@answer.answers
def cables(**_: Any) -> answer.Answer:
    """Print which cable is where, as the switches tell hosts by LLDP: the port map of ``networks.switch``.

    What is not known of a host is a comment, and the exit status 1. lldpd answers, or else systemd-networkd.

    CLI Example:

    .. code-block:: bash

        salt-run networks.cables > /srv/cables.yml
    """
    replies = jobs.ask(__opts__, minions.ours(__opts__), "host_lldp.neighbours", kind=list)
    found, unknown = cabling.table(replies.answers)
    unknown += [f"{problem.minion}: {names.shown(problem.text, 200)}" for problem in replies.problems]
    text = [*(f"# {line}" for line in unknown), yaml.safe_dump(found).strip()]
    return answer.Answer("\n".join(text), {"ports": found, "unknown": unknown}, 1 if unknown else 0)


def _stored(name: str) -> dict[str, Any]:
    """A stored network proposal; one that is not there is told with those that are."""
    return store.finished_network(site.site(__opts__).proposals, str(name))


@answer.answers
def ping(**_: Any) -> answer.Answer:
    """Let every host ping every other on both networks; exit status 1 where one does not answer. Odd hosts are named.

    CLI Example:

    .. code-block:: bash

        salt-run networks.ping
    """
    return _answer(network_proof.ping(__opts__))


@answer.answers
def jumbo(mtu: int | None = None, **_: Any) -> answer.Answer:
    """The same with whole frames that nobody may cut: what the MTU says must also pass the switches.

    mtu
        Bytes; without, the largest MTU that the hosts have on that network.

    CLI Example:

    .. code-block:: bash

        salt-run networks.jumbo
    """
    size = network_proof.LARGEST if mtu is None else _count("mtu", mtu)
    return _answer(network_proof.ping(__opts__, size))


@answer.answers
def iperf(seconds: int = network_proof.SECONDS, streams: int = network_proof.STREAMS, **_: Any) -> answer.Answer:
    """Measure what every pair of hosts carries, no host in two measurements at once, then all against one.

    A network that serves clients is loaded fully for (hosts - 1) x seconds: not beside work that matters.

    seconds
        Of each measurement.
    streams
        At once, of 64 KiB each.

    CLI Example:

    .. code-block:: bash

        salt-run networks.iperf seconds=3
    """
    return _answer(network_proof.iperf(__opts__, _count("seconds", seconds), _count("streams", streams)))


@answer.answers
def bonds(**_: Any) -> answer.Answer:
    """Show every bond of every host: ports, LACP state and partner, speed, errors; exit status 1 where one is not up.

    CLI Example:

    .. code-block:: bash

        salt-run networks.bonds
    """
    return _answer(network_proof.bonds(__opts__))


def _count(name: str, typed: object) -> int:
    return int(str(argument_readers.count(name, typed)[0]))


def _answer(proof: network_proof.Proof) -> answer.Answer:
    """A proof's tables, then what is wrong."""
    return answer.Answer("\n".join([*proof.tables, *proof.problems]), proof.data, 1 if proof.problems else 0)


def _plan(kwargs: Mapping[str, Any]) -> tuple[plan.NetworkPlan, Path]:
    """The plan for what discovery stored, and the proposals folder."""
    parsed = arguments.parse(salt.utils.args.clean_kwargs(**kwargs))
    targets = planning.minions_of(__opts__, parsed.target) if parsed.target else None
    return plan.peek(minions.seen(__opts__), parsed, targets), site.site(__opts__).proposals
