"""What a person reads of an upgrade: before it, and while it is under way."""

from collections.abc import Mapping, Sequence

from proposals.cluster.upgrade import order
from proposals.cluster.upgrade.hosts import Host
from proposals.cluster.upgrade.record import Record
from proposals.text.names import shown
from proposals.text.notes import FEW, by_name, counted, several

EACH = "'salt-run upgrade.status --out json' names each"
NOTHING = "all hosts have the newest packages of Ceph that their sources have, and all daemons run from them"


def plan(hosts: Mapping[str, Host], last: set[str], systems: Sequence[str]) -> list[str]:
    """Return what would be done, in its order, a line for each kind of daemons.

    hosts
        Those that take part, by minion.
    last
        Active managers and metadata servers, whose hosts come last.
    systems
        The file systems whose active servers are reduced meanwhile.
    """
    lines = []
    for kind in order.KINDS:
        if not (waiting := order.of_kind(hosts, kind, last)):
            continue
        first, *others = waiting
        if kind == "mds" and systems:
            lines.append(f"mds: one active server alone in {', '.join(systems)}, restored afterwards")
        then = f", then {several(others, most=FEW)}" if others else ""
        how = ", as many at once as Ceph allows (ok-to-stop --max)" if kind == "osd" and len(others) > 1 else ""
        count = counted(sum(map(len, waiting.values())), "daemon")
        lines.append(f"{kind}: {first} alone at first{then}{how}: {count}")
    if left := order.rest(hosts):
        lines.append(f"packages alone: {several(left)}")
    return lines


def versions(hosts: Mapping[str, Host]) -> list[str]:
    """Return how many hosts have which version of the packages, and go to which."""
    found: dict[str, list[str]] = {}
    for minion, host in hosts.items():
        now = shown(host.version) or "half installed"
        found.setdefault(now if not host.newer else f"{now} -> {shown(host.next)}", []).append(minion)
    return [f"{step}: {several(minions)}" for step, minions in sorted(found.items())]


def status(hosts: Mapping[str, Host], record: Record | None, paused: str | None) -> list[str]:
    """Return how far an upgrade is."""
    lines = []
    if record:
        lines.append(f"to {shown(record.target)}, under way since {record.since}, by {shown(record.user)}")
        for name, (most, replay) in record.systems.items():
            also = ", and standbys that replay" if replay else ""
            lines.append(f"file system {shown(name)} gets max_mds {most}{also} back when its servers are through")
    else:
        lines.append("no upgrade is under way")
    if paused:
        lines.append(f"paused {shown(paused, 200)}: 'salt-run upgrade.resume' lets it go on")
    lines += versions(hosts)
    older = {minion: [n for kind in order.KINDS for n in host.waiting(kind)] for minion, host in hosts.items()}
    anew = [(minion, map(shown, names), "to begin anew") for minion, names in older.items() if names]
    return [*lines, *by_name(anew, "{who}: {text}: {names}", EACH)]


def done(what: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what was done, a line for each host: ``node1: packages 16.2.15; restarted osd.1, osd.2``; of more than
    ``FEW`` hosts a line for each thing.

    what
        By minion, each a verb and what it was done to.
    """
    if len(what) <= FEW:
        return [f"{minion}: {'; '.join(told)}" for minion, told in what.items()]
    parts = [(minion, each.partition(" ")) for minion, told in what.items() for each in told]
    return by_name(
        ((minion, names.split(", "), verb) for minion, (verb, _, names) in parts), "{who}: {text} {names}", EACH
    )
