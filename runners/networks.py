"""``salt-run networks.*``: which ports become a bond, what lies on it, and whether the network keeps its promise."""

import salt.pillar
import salt.utils.args

from proposals import answer
from proposals.files import tree
from proposals.files.site import site
from proposals.inventory import kept
from proposals.networking import arguments, fragments, plan, proof, switches, tables
from proposals.policy import store
from proposals.text import names
from proposals.text.errors import ArgumentError

SECONDS = 3  # of one measurement
STREAMS = 16  # at once, of 64 KiB: what the Mellanox paper measured with
KINDS = ("public", "cluster")


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def peek(**kwargs):
    """Show what a network proposal would be; write nothing.

    CLI Example:

    .. code-block:: bash

        salt-run networks.peek cluster-network=192.168.100.0/24 cluster-vlan=3001
    """
    made, _ = _plan(kwargs)
    shown = made.as_dict()
    return answer.told(answer.printed(tables.proposal, shown), shown, __opts__.get("output"))


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def populate(**kwargs):
    """Write a network proposal: a fragment a host, the two networks, ``proposal.json``.

    CLI Example:

    .. code-block:: bash

        salt-run networks.populate name=apollo cluster-network=192.168.100.0/24 cluster-vlan=3001
    """
    made, root = _plan(kwargs)
    report = store.populate_network(root, fragments.wanted(made), made.arguments.force)
    shown = made.as_dict()
    text = "\n".join([answer.printed(tables.proposal, shown), *report.messages])
    return answer.told(text, {**shown, "messages": report.messages}, __opts__.get("output"), report.status)


@answer.answers
def show(name="default", **_):
    """Show a stored network proposal.

    CLI Example:

    .. code-block:: bash

        salt-run networks.show apollo
    """
    stored = _stored(name)
    return answer.told(answer.printed(tables.proposal, stored), stored, __opts__.get("output"))


@answer.answers
def switch(name="default", ports=None, **kwargs):
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
    return answer.told(text, {"as": system, "text": text}, __opts__.get("output"))


def _stored(name):
    """A stored network proposal; one that is not there is told with those that are."""
    root = site(__opts__).proposals
    stored = store.stored_network(root, names.check_profile(str(name)))
    if stored is None:
        known = [folder.removeprefix("network-") for folder in tree.folders(root) if folder.startswith("network-")]
        raise ArgumentError(
            f"there is no network proposal '{name}'; there are: {', '.join(known) or 'none, run networks.populate'}"
        )
    return stored


@answer.answers
def ping(**_):
    """Let every host ping every other on both networks; exit status 1 where one does not answer, and who is odd.

    CLI Example:

    .. code-block:: bash

        salt-run networks.ping
    """
    return _pinged(None)


@answer.answers
def jumbo(mtu=None, **_):
    """The same with whole frames that nobody may cut: what the MTU says must also pass the switches.

    mtu
        Bytes; without, the largest MTU that the hosts have on that network.

    CLI Example:

    .. code-block:: bash

        salt-run networks.jumbo
    """
    return _pinged(mtu or "most")


@answer.answers
def iperf(seconds=SECONDS, streams=STREAMS, **_):
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
        speeds = {host: one["speed"] for host, one in hosts.items() if one["speed"]}
        found = failed + proof.slow(rates)
        problems += [f"{kind}: {line}" for line in found]
        lines += [tables.rates(kind, sorted(hosts), rates), *proof.below(rates, speeds)]
        lines.append(f"all against {min(hosts)}: {sum(together.values()):.0f} Mb/s together")
        told = {f"{one} {other}": rate for (one, other), rate in rates.items()}
        data[kind] = {"rates": told, "together": sum(together.values()), "problems": found}
    return _said(lines, problems, data)


@answer.answers
def bonds(**_):
    """Show every bond of every host: ports, LACP state and partner, speed, errors; exit status 1 where one is not up.

    CLI Example:

    .. code-block:: bash

        salt-run networks.bonds
    """
    answered = __salt__["minions.ask"](__salt__["minions.ours"](), ["links_proof.bonds"])
    found = {host: one["links_proof.bonds"] for host, one in sorted(answered.items())}
    odd = {host: one for host, one in found.items() if not isinstance(one, dict)}
    good = {host: one for host, one in found.items() if host not in odd}
    problems = [f"{host}: {said}" for host, said in odd.items()]
    problems += [f"{host}: {line}" for host, one in good.items() for bond in one.values() for line in bond["problems"]]
    return _said([tables.bonds(good)], problems, good)


def _pinged(mtu):
    """Ping on both networks, whole frames of an MTU or small ones: the matrix, and who does not fit in."""
    problems, lines, data = [], [], {}
    for kind, hosts in _places():
        size = max(one["mtu"] for one in hosts.values()) if mtu == "most" else mtu
        targets = {host: one["address"] for host, one in hosts.items()}
        answered = __salt__["minions.ask"](sorted(hosts), ["links_proof.ping"], [[targets, size]])
        matrix = {host: one["links_proof.ping"] for host, one in answered.items() if host in hosts}
        odd = [f"{host}: {row}" for host, row in matrix.items() if not isinstance(row, dict)]
        matrix = {host: row for host, row in matrix.items() if isinstance(row, dict)}
        found = odd + [f"{host}: did not answer the question" for host in sorted(set(hosts) - set(answered))]
        found += proof.small(hosts, size) if size else []
        found += proof.unreached(matrix)
        problems += [f"{kind}: {line}" for line in found]
        lines.append(tables.matrix(f"{kind}, frames of {size} bytes" if size else kind, sorted(hosts), matrix))
        data[kind] = {"matrix": matrix, "problems": found, "mtu": size}
    return _said(lines, problems, data)


def _measured(hosts, seconds, streams):
    """Rates of all pairs in Mb/s, round by round; those of all against the first; what failed, by pair."""
    rates, together, failed = {}, {}, []
    ports = list(range(proof.PORT, proof.PORT + len(hosts)))
    limit = (len(hosts) + 2) * (seconds + 20)  # servers end by themselves, whatever becomes of this process
    arguments_ = {
        host: [one["address"], ports if host == min(hosts) else ports[:1], limit] for host, one in hosts.items()
    }
    try:
        _each(arguments_, "links_proof.serve")
        for pairs in proof.rounds(sorted(hosts)):
            _clients({one: (other, ports[0]) for one, other in pairs}, hosts, seconds, streams, rates, failed)
        one = min(hosts)
        others = {host: (one, port) for host, port in zip(sorted(set(hosts) - {one}), ports[1:], strict=False)}
        _clients(others, hosts, seconds, streams, together, failed)
    finally:
        __salt__["minions.ask"](sorted(hosts), ["links_proof.stop"])
    return rates, together, failed


def _clients(pairs, hosts, seconds, streams, rates, failed):
    """One round: each client measures towards its server, side by side."""
    arguments_ = {one: [hosts[other]["address"], port, seconds, streams] for one, (other, port) in pairs.items()}
    for one, said in _each(arguments_, "links_proof.rate").items():
        other = pairs[one][0]
        if isinstance(said, int | float):
            rates[one, other] = said
        else:
            failed.append(f"{one} to {other}: {said}")


def _each(arguments_, function):
    """Run a function on several minions, each with its own arguments, in one job: they look theirs up by their id."""
    job = "links_proof.for_host"
    answered = __salt__["minions.ask"](sorted(arguments_), [job], [[function, arguments_]], timeout=120)
    return {host: answered.get(host, {}).get(job, "did not answer") for host in arguments_}


def _places():
    """For both networks: the hosts that have an address there, with interface, MTU and speed."""
    own = salt.pillar.get_pillar(__opts__, {}, __opts__["id"], "base").compile_pillar()
    known = {**(kept.load_inventory(site(__opts__).inventory).get("networks") or {}), **own}
    networks = {kind: known[f"{kind}_network"] for kind in KINDS if known.get(f"{kind}_network")}
    if not networks:
        raise ArgumentError("no network is known: run ceph.stage.discovery first")
    if networks.get("cluster") == networks.get("public"):
        networks.pop("cluster")
    minions = __salt__["minions.ours"]()
    answered = __salt__["minions.ask"](minions, ["links_proof.places"], [[networks]])
    found = {
        host: one["links_proof.places"]
        for host, one in answered.items()
        if isinstance(one.get("links_proof.places"), dict)
    }
    if silent := sorted(set(minions) - set(found)):
        raise ArgumentError(f"{', '.join(silent)}: did not answer: look at 'salt-run manage.status'")
    for kind in networks:
        hosts = {host: one[kind] for host, one in sorted(found.items()) if kind in one}
        if len(hosts) > 1:
            yield kind, hosts


def _said(lines, problems, data):
    """The answer of a proof: its tables, then what is wrong."""
    return answer.told("\n".join([*lines, *problems]), data, __opts__.get("output"), 1 if problems else 0)


def _plan(kwargs):
    """The plan for what discovery stored, and the proposals folder."""
    paths = site(__opts__)
    wanted = arguments.parse(salt.utils.args.clean_kwargs(**kwargs))
    targets = __salt__["minions.match"](wanted.target) if wanted.target else None
    return plan.peek(kept.load_inventory(paths.inventory), wanted, targets), paths.proposals
