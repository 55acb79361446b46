"""Where hosts stand in the CRUSH map: the commands that bring it to what pillar says. Nothing here asks the cluster."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from proposals.text import names
from proposals.text.errors import PolicyError

# Small to large: Ceph's default types between host and root (docs.ceph.com, rados/operations/crush-map).
TYPES = ("chassis", "rack", "row", "pdu", "pod", "room", "datacenter", "zone", "region")
ROOT = "default"


def locations(said: object, hostnames: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return each host's place: ``{host name: {type: bucket}}``, of those that have one.

    said
        The site's ``crush_locations``: ``{minion id or glob: {rack: r1, row: a}}``; later lines win.
    hostnames
        The host name of each storage minion.

    Raises PolicyError where it is not understood.
    """
    found: dict[str, dict[str, str]] = {}
    if not isinstance(said, Mapping):
        raise PolicyError(f"crush_locations is {names.shown(said)}: expected 'MINION: {{rack: NAME}}' lines")
    for pattern, place in said.items():
        if not isinstance(place, Mapping) or not place:
            raise PolicyError(f"crush_locations: {names.shown(pattern)} has no place: expected such as {{rack: r1}}")
        for kind, bucket in place.items():
            if kind not in TYPES:
                near = names.nearest(str(kind), TYPES)
                raise PolicyError(f"crush_locations: {names.shown(pattern)}: unknown type '{names.shown(kind)}'{near}")
            if not names.PROFILE.fullmatch(str(bucket)):
                raise PolicyError(
                    f"crush_locations: {names.shown(pattern)}: '{names.shown(bucket)}' is no bucket's name"
                )
        for minion, host in hostnames.items():
            if fnmatchcase(minion, str(pattern)):
                found[host] = {str(kind): str(bucket) for kind, bucket in place.items()}
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
        if known.get(name, (None, None))[1] != above:
            todo.append(["osd", "crush", "move", name, f"{above_kind}={above}"])
    return todo


def _chains(wanted: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, tuple[str, str]]]:
    """Each bucket's type and what it stands in, large ones first, so that places exist before their content."""
    found: dict[str, tuple[str, tuple[str, str]]] = {}
    for host, place in sorted(wanted.items()):
        above = ("root", ROOT)
        for kind in reversed(TYPES):
            if kind in place:
                _note(found, place[kind], kind, above)
                above = (kind, place[kind])
        _note(found, host, "host", above)
    order = ("root", *reversed(TYPES), "host")
    return dict(sorted(found.items(), key=lambda item: (order.index(item[1][0]), item[0])))


def _note(found: dict, name: str, kind: str, above: tuple[str, str]) -> None:
    if found.setdefault(name, (kind, above)) != (kind, above):
        raise PolicyError(
            f"crush_locations: {name} would stand in {found[name][1][1]} and in {above[1]}: expected one place"
        )
