"""Every OSD as it is beside what was planned, line by line. Nothing here opens a file or asks a minion."""

from collections.abc import Mapping, Sequence

from proposals.text.notes import FEW, SCREEN, by_name

PLANNED = "as planned"
EACH = "all=true tells of each OSD, --out json too"
SILENT: Mapping[str, Mapping] = {"osds": {}, "names": {}}  # in place of a host's answer
LABELS = {"data": "bluestore_bdev", "db": "bluefs_db", "wal": "bluefs_wal"}  # of `ceph osd metadata`


def report(planned: Mapping[str, Mapping], hosts: Mapping[str, Mapping], metadata: list[Mapping]) -> list[dict]:
    """Return each planned OSD with what is wrong with it: ``{id, uuid, host, data, db, wal, sizes, problems, waits}``.

    ``waits``: its parts that are to move (``salt-run osd.migrate``). Both their places are as planned.

    planned
        ``{minion: {data disk: {uuids, db, db_size, wal, wal_size, ...}}}``, as the profiles give it.
    hosts
        ``osd.report``'s answer of each minion; of the OSDs of one that is missing nothing is known.
    metadata
        ``ceph osd metadata``'s answer.
    """
    known = {entry["id"]: entry for entry in metadata}
    lines = []
    for minion, osds in sorted(planned.items()):
        answer = hosts.get(minion, SILENT)
        for disk, osd in sorted(osds.items()):
            wanted = {"data": (disk, None)}
            wanted |= {role: (osd[role], osd.get(f"{role}_size")) for role in ("db", "wal") if osd.get(role)}
            for uuid in osd.get("uuids") or ():
                lies = answer["osds"].get(uuid, {}).get("parts", {})
                places, waits = _now(wanted, osd.get("moves", {}), lies, answer["names"])
                lines.append({**_line(minion, uuid, places, answer, known), "waits": waits})
    return lines


def lines(osds: Sequence[Mapping], every: bool = False) -> list[str]:
    """Return what a person reads of all OSDs of ``report``: each; of more than ``FEW`` hosts and a screen those that
    are not as planned, or are to move, where they are alike.

    every
        Each, however many there are.
    """
    if every or len(osds) <= SCREEN or len({osd["host"] for osd in osds}) <= FEW:
        return [text(osd) for osd in osds]
    odd: dict[tuple[str, str], list[str]] = {}
    for osd in osds:
        if (state := _state(osd)) != PLANNED:
            odd.setdefault((osd["host"], state), []).append(_name(osd))
    return [*by_name(((host, names, state) for (host, state), names in odd.items()), few=0), EACH]


def text(line: Mapping) -> str:
    """Return what a person reads of one OSD of ``report``."""
    where = " ".join(
        f"{role} {line[role]} {_size(line[f'{role}_size'])}" for role in ("data", "db", "wal") if line[role]
    )
    return f"osd.{line['id']} {line['host']} {where}: {_state(line)}"


def _name(line: Mapping) -> str:
    """The OSD's name; where it is not known, the disk that it is planned on."""
    return str(line["data"]) if line["id"] is None else f"osd.{line['id']}"


def _state(line: Mapping) -> str:
    waits = f", its {' and '.join(line['waits'])} waits for osd.migrate" if line["waits"] else ""
    return "; ".join(line["problems"]) or f"{PLANNED}{waits}"


def _now(wanted: Mapping, moves: Mapping, lies: Mapping, names: Mapping) -> tuple[dict, list[str]]:
    """Where each part is as planned: where it is to move once it lies there, else where it lay; and those that wait."""
    places, waits = dict(wanted), []
    for role, move in sorted(moves.items()):
        to, part = move["to"], lies.get(role)
        there = {"disk": names.get(to), "size": move["size"]} if to else None
        if (part and {"disk": part["disk"], "size": part["size"]}) != there:
            waits.append(role)
        elif to:
            places[role] = (to, move["size"])
        else:
            places.pop(role, None)
    return places, waits


def _line(minion: str, uuid: str, wanted: Mapping, answer: Mapping, known: Mapping) -> dict:
    """One OSD: the host's own view and the cluster's must both be the plan."""
    osd = answer["osds"].get(uuid, {"id": None, "parts": {}})
    metadata = known.get(osd["id"])
    problems = []
    if answer is SILENT:
        problems.append("is not known: its host did not answer")
    elif osd.get("unread"):
        problems.append(f"is not known: {osd['unread']}")
    elif osd["id"] is None:
        problems.append("is not made: run ceph.stage.deploy")
    elif not metadata or "bluestore_bdev_partition_path" not in metadata:
        problems.append("has not reported to the cluster: does its daemon run?")
    else:
        for role, (disk, size) in wanted.items():
            problems += _part(role, disk, size, answer, osd["parts"].get(role), metadata)
        problems += [f"carries a {role} that is not planned" for role in osd["parts"] if role not in wanted]
    line = {"id": osd["id"], "uuid": uuid, "host": minion, "problems": problems}
    line |= {role: wanted.get(role, (None,))[0] for role in ("data", "db", "wal")}
    line |= {f"{role}_size": osd["parts"].get(role, {}).get("size") for role in ("data", "db", "wal")}
    return line


def _part(
    role: str, disk: str, size: int | None, answer: Mapping, part: Mapping | None, metadata: Mapping
) -> list[str]:
    """What is wrong with one part of an OSD."""
    if part is None:
        return [f"has no {role} partition, planned on {disk}"]
    problems = []
    device = answer["names"].get(disk)
    if part["disk"] != device:
        problems.append(f"its {role} lies on {part['disk']}, planned on {disk} ({device})")
    if size is not None and part["size"] != size:
        problems.append(f"its {role} has {part['size']} bytes, planned {size}")
    device_of_cluster = metadata.get(f"{LABELS[role]}_partition_path")
    if device_of_cluster != part["node"]:
        problems.append(f"the cluster says its {role} is {device_of_cluster}, the host {part['node']}")
    return problems


def _size(size: int | None) -> str:
    return f"{size / 2**30:.1f} GiB" if size else "-"
