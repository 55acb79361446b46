"""Where hosts stand in the CRUSH map: the commands that bring it to what pillar says. Nothing here asks the cluster."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from proposals.settings import reader
from proposals.settings.pools import TYPES
from proposals.text.errors import PolicyError

ROOT = "default"
NOWHERE = ("", "")  # where roots stand


def locations(written: object, hostnames: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return each host's place: ``{host name: {type: bucket}}``, of those that have one.

    written
        The site's ``crush_locations``: ``{minion id or glob: {rack: r1, row: a}}``; later lines win.
    hostnames
        The host name of each storage minion.

    Raises PolicyError where it is not understood.
    """
    places, problems = reader.only("crush_locations", written)
    if problems:
        raise PolicyError("\n".join(problems))
    found: dict[str, dict[str, str]] = {}
    for pattern, place in places.items():
        found |= {host: place for minion, host in hostnames.items() if fnmatchcase(minion, pattern)}
    return found


def commands(wanted: Mapping[str, Mapping[str, str]], tree: Iterable[Mapping]) -> list[list[str]]:
    """Return the ``ceph`` commands that bring hosts and buckets to their places; empty where they are there.

    A host without OSDs gets its bucket, so that its first OSD stands in the right place from the beginning.
    What the map has beside is left alone. Raises PolicyError where a bucket would have two places.
    """
    nodes = list(tree)
    parent = {child: node["name"] for node in nodes for child in node.get("children", ())}
    known = {node["name"]: (node["type"], parent.get(node["id"])) for node in nodes}
    chains = _chains(wanted)
    todo: list[list[str]] = []
    for name, (kind, _) in chains.items():
        if known.get(name, (kind, None))[0] != kind:
            raise PolicyError(f"crush_locations: {name} is a {known[name][0]} in the CRUSH map, not a {kind}")
        if name not in known:
            todo.append(["osd", "crush", "add-bucket", name, kind])
    for name, (_, (above_kind, above)) in chains.items():
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


def edits(todo: Iterable[list[str]]) -> list[list[str]]:
    """Return what ``commands`` do to the CRUSH map, as words for ``crushtool``."""
    return [
        ["--add-bucket", *words[3:]]
        if words[2] == "add-bucket"
        else ["--move", words[3], "--loc", *words[4].split("=")]
        for words in todo
    ]


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
