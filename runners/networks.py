"""``salt-run networks.*``: which ports become a bond, what lies on it, and whether the network keeps its promise."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import salt.utils.args

from proposals.files import site, tree
from proposals.inventory import kept
from proposals.networking import arguments, fragments, plan, proof, switches, tables
from proposals.policy import store
from proposals.text import names
from proposals.text import tables as text_tables
from proposals.text.errors import ArgumentError
from runners.engine import answer, jobs, minions, replies

SECONDS = 3  # of one measurement
STREAMS = 16  # at once, of 64 KiB: what the Mellanox paper measured with
KINDS = ("public", "cluster")


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
    planned, root = _plan(kwargs)
    report = store.populate_network(root, fragments.wanted(planned), planned.arguments.force)
    shown = planned.as_dict()
    text = "\n".join([text_tables.printed(tables.proposal, shown), *report.messages])
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
def switch(name: str = "default", ports: str | None = None, **kwargs: Any) -> answer.Answer:
    """Print the switches' configuration for a stored proposal: ``as=mlnx-os`` or ``as=nx-os``.

    as
        ``mlnx-os`` or ``nx-os``.
    ports
        A YAML file on the master: which cable is where, ``HOST: {PORT: SWITCH 1/7}``. Without, hosts are cabled in the
        order of their names.

    CLI Example:

    .. code-block:: bash

        salt-run networks.switch apollo as=mlnx-os ports=/srv/cables.yml
    """
    system = kwargs.pop("as", "mlnx-os")
    if kwargs:
        raise ArgumentError(f"switch: '{next(iter(kwargs))}' is not an argument; known are name, ports, as")
    text = switches.text(_stored(name), system, tree.read_yaml(ports) if ports else None)
    return answer.Answer(text, {"as": system, "text": text})


def _stored(name: str) -> dict[str, Any]:
    """A stored network proposal; one that is not there is told with those that are."""
    root = site.site(__opts__).proposals
    stored = store.stored_network(root, names.check_profile(str(name)))
    if stored is None:
        known = [folder.removeprefix("network-") for folder in tree.folders(root) if folder.startswith("network-")]
        raise ArgumentError(
            f"there is no network proposal '{name}'; there are: {', '.join(known) or 'none, run networks.populate'}"
        )
    return stored


@answer.answers
def ping(**_: Any) -> answer.Answer:
    """Let every host ping every other on both networks; exit status 1 where one does not answer, and who is odd.

    CLI Example:

    .. code-block:: bash

        salt-run networks.ping
    """
    return _pinged(None)


@answer.answers
def jumbo(mtu: int | None = None, **_: Any) -> answer.Answer:
    """The same with whole frames that nobody may cut: what the MTU says must also pass the switches.

    mtu
        Bytes; without, the largest MTU that the hosts have on that network.

    CLI Example:

    .. code-block:: bash

        salt-run networks.jumbo
    """
    return _pinged(mtu or "most")


@answer.answers
def iperf(seconds: int = SECONDS, streams: int = STREAMS, **_: Any) -> answer.Answer:
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
    problems, lines, data = [], [], {}
    for kind, hosts in _places():
        rates, together, failed = _measured(hosts, int(seconds), int(streams))
        speeds = {host: place["speed"] for host, place in hosts.items() if place["speed"]}
        odd = failed + proof.slow(rates)
        problems += [f"{kind}: {line}" for line in odd]
        lines += [tables.rates(kind, sorted(hosts), rates), *proof.below(rates, speeds)]
        lines.append(f"all against {min(hosts)}: {sum(together.values()):.0f} Mb/s together")
        pairs = {f"{client} {server}": rate for (client, server), rate in rates.items()}
        data[kind] = {"rates": pairs, "together": sum(together.values()), "problems": odd}
    return _proof(lines, problems, data)


@answer.answers
def bonds(**_: Any) -> answer.Answer:
    """Show every bond of every host: ports, LACP state and partner, speed, errors; exit status 1 where one is not up.

    CLI Example:

    .. code-block:: bash

        salt-run networks.bonds
    """
    found = jobs.ask(__opts__, minions.ours(__opts__), "links_proof.bonds")
    problems = replies.lines(found.problems)
    for host, bonds in found.answers.items():
        problems += [f"{host}: {line}" for bond in bonds.values() for line in bond["problems"]]
    return _proof([tables.bonds(found.answers)], problems, found.answers)


def _pinged(mtu: int | str | None) -> answer.Answer:
    """Ping on both networks, whole frames of an MTU or small ones: the matrix, and who does not fit in."""
    problems, lines, data = [], [], {}
    for kind, hosts in _places():
        size = max(place["mtu"] for place in hosts.values()) if mtu == "most" else mtu
        targets = {host: place["address"] for host, place in hosts.items()}
        rows = jobs.ask(__opts__, sorted(hosts), "links_proof.ping", [targets, size])
        odd = replies.lines(rows.problems)
        odd += proof.small(hosts, size) if size else []
        odd += proof.unreached(rows.answers)
        problems += [f"{kind}: {line}" for line in odd]
        title = f"{kind}, frames of {size} bytes" if size else kind
        lines.append(tables.matrix(title, sorted(hosts), rows.answers))
        data[kind] = {"matrix": rows.answers, "problems": odd, "mtu": size}
    return _proof(lines, problems, data)


def _measured(hosts: Mapping[str, Mapping], seconds: int, streams: int) -> tuple[proof.Rates, proof.Rates, list[str]]:
    """Rates of all pairs in Mb/s, round by round; those of all against the first; what failed, by pair."""
    limit = (len(hosts) + 2) * (seconds + 20)  # servers end by themselves, whatever becomes of this process
    rates, failed = {}, []

    def run(clients: Mapping[str, tuple[str, int]]) -> proof.Rates:
        """One round: each client measures towards its server, side by side."""
        asked = {
            client: [hosts[server]["address"], port, seconds, streams] for client, (server, port) in clients.items()
        }
        found, wrong = proof.rates(clients, _each(asked, "links_proof.rate"))
        failed.extend(wrong)
        return found

    try:
        served = proof.served(sorted(hosts))
        _each({host: [place["address"], served[host], limit] for host, place in hosts.items()}, "links_proof.serve")
        for clients in proof.schedule(sorted(hosts)):
            rates |= run(clients)
        together = run(proof.all_against_first(sorted(hosts)))
    finally:
        jobs.ask(__opts__, sorted(hosts), "links_proof.stop", kind=bool)
    return rates, together, failed


def _each(arguments: Mapping[str, Sequence[Any]], function: str) -> dict[str, object]:
    """Run a function on several minions, each with its own arguments, in one job: they look theirs up by their id."""
    found = jobs.ask(__opts__, sorted(arguments), "links_proof.for_host", [function, arguments], object, timeout=120)
    return {**found.answers, **{problem.minion: problem.text for problem in found.problems}}


def _places() -> Iterator[tuple[str, dict[str, dict]]]:
    """For both networks: the hosts that have an address there, with interface, MTU and speed."""
    stored = kept.load_inventory(site.site(__opts__).inventory).get("networks") or {}
    settings = {**stored, **minions.pillar(__opts__)}
    networks = {kind: settings[f"{kind}_network"] for kind in KINDS if settings.get(f"{kind}_network")}
    if not networks:
        raise ArgumentError("no network is known: run ceph.stage.discovery first")
    if networks.get("cluster") == networks.get("public"):
        networks.pop("cluster")
    places = jobs.ask(__opts__, minions.ours(__opts__), "links_proof.places", [networks]).whole()
    for kind in networks:
        hosts = {host: place[kind] for host, place in places.items() if kind in place}
        if len(hosts) > 1:
            yield kind, hosts


def _proof(lines: Sequence[str], problems: Sequence[str], data: Mapping[str, Any]) -> answer.Answer:
    """The answer of a proof: its tables, then what is wrong."""
    return answer.Answer("\n".join([*lines, *problems]), data, 1 if problems else 0)


def _plan(kwargs: Mapping[str, Any]) -> tuple[plan.NetworkPlan, Path]:
    """The plan for what discovery stored, and the proposals folder."""
    paths = site.site(__opts__)
    parsed = arguments.parse(salt.utils.args.clean_kwargs(**kwargs))
    targets = minions.match(__opts__, parsed.target) if parsed.target else None
    return plan.peek(kept.load_inventory(paths.inventory), parsed, targets), paths.proposals
