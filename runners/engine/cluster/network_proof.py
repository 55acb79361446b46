"""Tests of both networks: every host is asked, side by side; ``proposals/networking/proof.py`` judges the answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from proposals.files.site import site
from proposals.inventory import kept
from proposals.networking import proof, tables
from proposals.stages import replies
from proposals.text.errors import ArgumentError, PolicyError
from proposals.text.notes import FEW, by_host, by_name
from proposals.validation.roles import DAEMONS
from runners.engine.asking import jobs, minions

SECONDS = 3  # of one measurement
STREAMS = 16  # at once, of 64 KiB: what the Mellanox paper measured with
LARGEST = 0  # of ``ping``'s frames: as large as the hosts' own MTU
KINDS = ("public", "cluster")
ROLES = {"public": DAEMONS, "cluster": ("storage",)}  # whose hosts need an address in each
Hosts = Mapping[str, Mapping[str, Any]]  # by minion: where it is in one network, as ``links_proof.places`` answers


class Proof(NamedTuple):
    """What was seen: tables for a person, a line for each problem, the same for a program."""

    tables: list[str]
    problems: list[str]
    data: dict[str, Any]


def ping(opts: Mapping, size: int | None = None) -> Proof:
    """Let every host ping every other on both networks.

    opts
        The master's options.
    size
        Send whole frames of so many bytes, which nobody on the way may cut; None: small ones.
    """
    seen = Proof([], [], {})
    for kind, hosts in _networks(opts, seen):
        mtu = max(place["mtu"] for place in hosts.values()) if size == LARGEST else size
        targets = {host: place["address"] for host, place in hosts.items()}
        rows = jobs.ask(opts, hosts, "links_proof.ping", [targets, mtu])
        told = [
            [
                *replies.lines(rows.problems),
                *(proof.small(hosts, mtu, every) if mtu else []),
                *proof.unreached(rows.answers, every),
            ]
            for every in (True, len(hosts) <= FEW)
        ]
        title = f"{kind}, frames of {mtu} bytes" if mtu else kind
        seen.tables.append(tables.matrix(title, sorted(hosts), rows.answers))
        seen.problems.extend(_folded(kind, *told))
        seen.data[kind] = {"matrix": rows.answers, "problems": told[0], "mtu": mtu}
    return seen


def iperf(opts: Mapping, seconds: int, streams: int) -> Proof:
    """Measure what every pair of hosts carries on both networks, then all hosts against the first.

    opts
        The master's options.
    seconds, streams
        Of each measurement.
    """
    seen = Proof([], [], {})
    for kind, hosts in _networks(opts, seen):
        rates, together, failed = _measured(opts, hosts, seconds, streams)
        few = len(hosts) <= FEW
        told = [[*proof.unmeasured(failed, every), *proof.slow(rates, every)] for every in (True, few)]
        speeds = {host: place["speed"] for host, place in hosts.items() if place["speed"]}
        total = sum(together.values())
        seen.tables.extend([tables.rates(kind, sorted(hosts), rates), *proof.below(rates, speeds, few)])
        seen.tables.append(f"all against {min(hosts)}: {total:.0f} Mb/s together")
        seen.problems.extend(_folded(kind, *told))
        pairs = {f"{client} {server}": rate for (client, server), rate in rates.items()}
        below = proof.below(rates, speeds)
        seen.data[kind] = {"rates": pairs, "together": total, "below": below, "problems": told[0]}
    return seen


def _folded(kind: str, every: Sequence[str], told: Sequence[str]) -> list[str]:
    """A network's problems for a person, and where each of them is told."""
    return [f"{kind}: {line}" for line in (*told, *([tables.EACH] if len(told) < len(every) else []))]


def bonds(opts: Mapping) -> Proof:
    """Ask every host for its bonds."""
    answered = jobs.ask(opts, minions.ours(opts), "links_proof.bonds")
    problems = replies.lines(answered.problems)
    lacking: list[tuple[str, tuple, str]] = []
    for host, found in answered.answers.items():
        lacking += [(host, (), line) for bond in found.values() for line in bond["problems"]]
    problems += by_name(lacking, "{who}: {text}", tables.EACH)
    return Proof([tables.bonds(answered.answers)], problems, answered.answers)


def _measured(opts: Mapping, hosts: Hosts, seconds: int, streams: int) -> tuple[proof.Rates, proof.Rates, list[str]]:
    """Rates of all pairs in Mb/s, round by round; those of all against the first; what failed, by pair. A host that
    serves none, or does not answer, is left out of the rounds that follow.
    """
    limit = (len(hosts) + 2) * (seconds + 20)  # servers end by themselves, whatever becomes of this process
    served = proof.served(sorted(hosts))
    rates: proof.Rates = {}
    problems = []
    try:
        serve = {host: [hosts[host]["address"], served[host], limit] for host in hosts}
        lost = {host: str(said) for host, said in _each(opts, serve, "links_proof.serve").items() if said is not True}
        for clients in proof.schedule(sorted(hosts)):
            measured, failed = proof.rates(clients, _round(opts, hosts, clients, seconds, streams, lost))
            rates |= measured
            problems += failed
        clients = proof.all_against_first(sorted(hosts))
        together, failed = proof.rates(clients, _round(opts, hosts, clients, seconds, streams, lost))
    finally:
        jobs.ask(opts, hosts, "links_proof.stop", kind=bool)
    return rates, together, problems + failed


def _round(
    opts: Mapping, hosts: Hosts, clients: proof.Round, seconds: int, streams: int, lost: dict[str, str]
) -> dict[str, object]:
    """One round: each client measures towards its server, side by side. ``lost`` says why hosts are left out, and gets
    those that do not answer now: each round would wait for them as long.
    """
    told: dict[str, object] = {}
    for client, (server, _) in clients.items():
        if left := [f"{host}: {lost[host]}" for host in (client, server) if host in lost]:
            told[client] = "; ".join(left)
    pairs = {client: pair for client, pair in clients.items() if client not in told}
    asked = {client: [hosts[server]["address"], port, seconds, streams] for client, (server, port) in pairs.items()}
    rated = _each(opts, asked, "links_proof.rate") if asked else {}
    lost |= {client: replies.SILENT for client, said in rated.items() if said == replies.SILENT}
    return told | rated


def _each(opts: Mapping, arguments: Mapping[str, Sequence[Any]], function: str) -> dict[str, object]:
    """Run a function on several minions, each with its own arguments, in one job: they look theirs up by their id."""
    answered = jobs.ask(opts, arguments, "links_proof.for_host", [function, arguments], object, timeout=120)
    return {**answered.answers, **{problem.minion: problem.text for problem in answered.problems}}


def _networks(opts: Mapping, seen: Proof) -> Iterator[tuple[str, Hosts]]:
    """For both networks: the hosts that have an address there, with interface, MTU and speed. Who does not answer, or
    lacks an address that its role needs, is a problem of what is seen: no table has it.
    """
    stored = kept.load_inventory(site(opts).inventory).get("networks") or {}
    settings = {**stored, **minions.pillar(opts)}
    networks = {kind: settings[f"{kind}_network"] for kind in KINDS if settings.get(f"{kind}_network")}
    if not networks:
        raise ArgumentError("no network is known: run ceph.stage.discovery first")
    if networks.get("cluster") == networks.get("public"):
        networks.pop("cluster")
    places = jobs.ask(opts, minions.ours(opts), "links_proof.places", [networks])
    seen.problems.extend(replies.lines(places.problems))
    for kind, network in networks.items():
        hosts = {host: place[kind] for host, place in places.answers.items() if kind in place}
        lacking = [host for host in _needing(opts, kind) if host in places.answers and host not in hosts]
        told = by_host((host, f"has no address in {network}, which its role needs") for host in lacking)
        seen.problems.extend(f"{kind}: {line}" for line in told)
        seen.problems.extend([] if hosts or lacking else [f"{kind}: no host has an address in {network}"])
        if len(hosts) > 1:
            yield kind, hosts


def _needing(opts: Mapping, kind: str) -> list[str]:
    """The hosts whose roles need an address in a network; none before anything is configured."""
    try:
        members = minions.members(opts)
    except PolicyError:
        return []
    return sorted({host for role in ROLES[kind] for host in members.get(role, ())})
