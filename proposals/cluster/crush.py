"""Where hosts stand in the CRUSH map: the commands that bring it to what pillar says. Nothing here asks the cluster."""

import re
from collections.abc import Collection, Iterable, Mapping

from proposals.settings import reader
from proposals.settings.kinds import is_name
from proposals.settings.pools import BY_ENCLOSURE, BY_PATH, TYPES
from proposals.text.errors import PolicyError
from proposals.text.names import matched

ROOT = "default"
NOWHERE = ("", "")  # where roots stand
SHELVES = {BY_ENCLOSURE: ("in", "enclosure"), BY_PATH: ("behind", "expander")}  # how disks lie, and in what
# ID_PATH of a disk behind a SAS expander: its address is the expander's own (systemd's udev-builtin-path_id.c).
EXPANDER = re.compile(r"-sas-exp(?:0x)?([0-9a-f]{16})-phy")


def locations(
    written: object, hostnames: Mapping[str, str], found_in: Mapping[str, Mapping[str, Collection[str]]] | None = None
) -> dict[str, dict[str, str]]:
    """Return each host's place: ``{host name: {type: bucket}}``, of those that have one.

    written
        The site's ``crush_locations``: ``{minion id or glob: {rack: r1, row: a}}``; later lines win.
    hostnames
        The host name of each storage minion.
    found_in
        The shelves of each minion's OSDs (``shelves``), which ``by-enclosure`` and ``by-path`` name.

    Raises PolicyError where it is not understood.
    """
    places, problems = reader.only("crush_locations", written)
    if problems:
        raise PolicyError("\n".join(problems))
    found: dict[str, dict[str, str]] = {}
    for pattern, place in places.items():
        among = matched(hostnames, pattern)
        found |= {hostnames[minion]: _named(minion, place, (found_in or {}).get(minion, {})) for minion in among}
    return found


def _named(minion: str, place: Mapping[str, str], found: Mapping[str, Collection[str]]) -> dict[str, str]:
    """A place whose buckets have their names: that of a shelf is its identity's."""
    return {
        kind: _shelf(minion, name, found.get(name, ())) if name in SHELVES else name for kind, name in place.items()
    }


def _shelf(minion: str, said: str, found: Collection[str]) -> str:
    lie, what = SHELVES[said]
    if len(found) != 1:
        seen = f"lie {lie} {', '.join(sorted(found))}" if found else f"are {lie} no {what} that discovery saw"
        raise PolicyError(
            f"crush_locations: {minion}: {said}: its OSDs' data disks {seen}: expected one {what}; name its "
            "place by hand, or run ceph.stage.prep and ceph.stage.discovery, which look"
        )
    return f"{what}-{next(iter(found))}"


def shelves(osds: Mapping[str, Mapping], hosts: Mapping[str, Mapping]) -> dict[str, dict[str, list[str]]]:
    """Return in which shelves the data disks of each minion's OSDs lie: ``{minion: {by-enclosure: [identity]}}``, and
    by what else a site may name them.

    osds
        By minion the planned OSDs by data disk.
    hosts
        The minions as discovery stored them. An identity that is no plain word is none.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for minion, disks in osds.items():
        entries = [disk for disk in hosts.get(minion, {}).get("ceph_disks") or () if disk.get("id") in disks]
        found[minion] = {
            BY_ENCLOSURE: sorted({name for disk in entries if (name := _enclosure(disk))}),
            BY_PATH: sorted({name for disk in entries if (name := _expander(disk))}),
        }
    return found


def shelf(disk: Mapping) -> tuple[str, str] | None:
    """Return by what an inventory's disk names its shelf, ``by-enclosure`` before ``by-path``, and its identity."""
    if name := _enclosure(disk):
        return BY_ENCLOSURE, name
    return (BY_PATH, name) if (name := _expander(disk)) else None


def _enclosure(disk: Mapping) -> str | None:
    name = str(disk.get("enclosure") or "").lower().removeprefix("0x")
    return name if is_name(name) else None


def _expander(disk: Mapping) -> str | None:
    path = EXPANDER.search(str(disk.get("path") or "").lower())
    return path[1] if path else None


def commands(wanted: Mapping[str, Mapping[str, str]], tree: Iterable[Mapping]) -> list[list[str]]:
    """Return the ``ceph`` commands that bring hosts and buckets to their places; empty where they are there.

    A host without OSDs gets its bucket, so that its first OSD stands in the right place from the beginning.
    What the map has beside is left alone, and so is a bucket below its root for which the site writes no level above.
    Raises PolicyError where a bucket would have two places.
    """
    nodes = list(tree)
    parent = {child: node["name"] for node in nodes for child in node.get("children", ())}
    known = {node["name"]: (node["type"], parent.get(node["id"])) for node in nodes}
    chains, below, written = _chains(wanted), _below(nodes), _written(wanted)
    todo: list[list[str]] = []
    for name, (kind, _) in chains.items():
        if known.get(name, (kind, None))[0] != kind:
            raise PolicyError(f"crush_locations: {name} is a {known[name][0]} in the CRUSH map, not a {kind}")
        if name not in known:
            todo.append(["osd", "crush", "add-bucket", name, kind])
    for name, (kind, (above_kind, above)) in chains.items():
        if kind != "host" and name not in written and name in below.get(above, ()):
            continue
        if above and known.get(name, (None, None))[1] != above:
            todo.append(["osd", "crush", "move", name, f"{above_kind}={above}"])
    return todo


def still(todo: Iterable[list[str]], tree: Iterable[Mapping]) -> list[list[str]]:
    """Return those of ``commands`` that move no OSD: new buckets, and hosts that have none yet."""
    below = {node["id"]: node.get("children", ()) for node in tree}
    named = {node["name"]: node["id"] for node in tree}

    def bare(id_: int) -> bool:
        return id_ < 0 and all(bare(child) for child in below.get(id_, ()))

    return [words for words in todo if words[2] == "add-bucket" or words[3] not in named or bare(named[words[3]])]


def dragged(todo: Iterable[list[str]], wanted: Collection[str], tree: Iterable[Mapping]) -> list[str]:
    """Return why buckets must not be moved, a line each: they hold hosts with OSDs that are not meant.

    todo, tree
        ``commands``, and what they were made for.
    wanted
        The names of the hosts that are meant.
    """
    nodes = list(tree)
    below, hosts = _below(nodes), {node["name"] for node in nodes if node["type"] == "host" and node.get("children")}
    moved = [words[3] for words in todo if words[2] == "move"]
    return [
        f"{name} holds {', '.join(others)} too, with all data there: name them as well, with their place under "
        "crush_locations, or leave that bucket where it is"
        for name in moved
        if name not in hosts and (others := sorted(below.get(name, set()) & hosts - set(wanted)))
    ]


def edits(todo: Iterable[list[str]]) -> list[list[str]]:
    """Return what ``commands`` do to the CRUSH map, as words for ``crushtool``."""
    return [
        ["--add-bucket", *words[3:]]
        if words[2] == "add-bucket"
        else ["--move", words[3], "--loc", *words[4].split("=")]
        for words in todo
    ]


def _below(nodes: Iterable[Mapping]) -> dict[str, set[str]]:
    """The names of all that stands below each bucket."""
    named = {node["id"]: node for node in nodes}

    def within(node: Mapping) -> set[str]:
        inside = [named[child] for child in node.get("children", ()) if child in named]
        return {each["name"] for each in inside}.union(*(within(each) for each in inside))

    return {node["name"]: within(node) for node in named.values()}


def _written(wanted: Mapping[str, Mapping[str, str]]) -> set[str]:
    """The buckets for which the site writes a level above."""
    return {
        name
        for place in wanted.values()
        for name in [place[kind] for kind in ("root", *reversed(TYPES)) if kind in place][1:]
    }


def _chains(wanted: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, tuple[str, str]]]:
    """Each bucket's type and what it stands in, large ones first, so that places exist before their content."""
    chains: dict[str, tuple[str, tuple[str, str]]] = {}
    for host, place in sorted(wanted.items()):
        above = ("root", place.get("root", ROOT))
        if "root" in place:
            _note(chains, place["root"], "root", NOWHERE)
        for kind in reversed(TYPES):
            if kind in place:
                _note(chains, place[kind], kind, above)
                above = (kind, place[kind])
        _note(chains, host, "host", above)
    order = ("root", *reversed(TYPES), "host")
    return dict(sorted(chains.items(), key=lambda item: (order.index(item[1][0]), item[0])))


def _note(found: dict, name: str, kind: str, above: tuple[str, str]) -> None:
    if found.setdefault(name, (kind, above)) != (kind, above):
        raise PolicyError(
            f"crush_locations: {name} would stand in {found[name][1][1]} and in {above[1]}: expected one place"
        )
