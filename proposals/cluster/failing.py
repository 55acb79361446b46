"""Which disks of which hosts fail, and what to type then. Nothing here opens a file or asks a minion."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proposals.cluster import smart
from proposals.cluster.smart import FAILS, SOUND, UNTOLD, WARNS
from proposals.text.names import shown
from proposals.text.notes import FEW, counted, several

STATES = (FAILS, WARNS, SOUND, UNTOLD)
OSD = "osd."
HOWTO = "docs/howto/replace-a-disk.md"
WORKS = f"it still works; see {HOWTO}"
REPLACED = f"they are replaced one after the other: see {HOWTO}"
EACH = "'salt-run disk.health --out json' names each"


@dataclass(frozen=True)
class JudgedDisk:
    """A disk of a host: which it is, its state and why, the OSDs on it by its role for them, its stable name."""

    host: str
    device: str
    label: str
    state: str
    why: str
    osds: Mapping[str, list[str]]
    id: str

    def as_dict(self) -> dict:
        """The disk as a program reads it."""
        return {key: getattr(self, key) for key in ("host", "device", "state", "why", "osds")}

    def line(self) -> str:
        """The disk for a person, but for its host."""
        held = [f"{role} of {several(names, 'more')}" for role, names in self.osds.items()]
        return f"{self.device} ({self.label}) {self.state}: {self.why}; {', '.join(held) or 'no planned OSD on it'}"

    def fix(self) -> str:
        """What to type, or to read."""
        if self.state == WARNS:
            return WORKS
        if not self.osds:
            return f"see there with 'lsblk {self.device}' what else is on it, and change it"
        names = {name for held in self.osds.values() for name in held}
        numbers = {role: _numbers(held) for role, held in {"": names, **self.osds}.items()}
        if len(numbers[""]) < len(names):
            return "ask again once the cluster answers: it knows the numbers of these OSDs"
        out = f"'ceph osd out {' '.join(numbers[''])}' copies the data elsewhere"
        if "data" not in self.osds:
            return f"{out}, then 'salt-run osd.replace host={self.host} device={self.id}' gives them up; see {HOWTO}"
        return f"{out}, then " + ", ".join(f"'salt-run osd.replace {number}'" for number in numbers["data"])


def _numbers(names: Iterable[str]) -> list[str]:
    return sorted((name.removeprefix(OSD) for name in names if name.startswith(OSD)), key=int)


def planned(
    osds: Mapping[str, Mapping], states: Iterable[Mapping] | None
) -> dict[str, dict[str, dict[str, list[str]]]]:
    """Return the OSDs on each planned disk by role: ``{minion: {disk: {role: [osd.12]}}}``.

    A disk that fails is not read for this: what is planned says what lies on it.

    osds
        ``{minion: {data disk: {uuids, db, wal, ...}}}``, as the profiles give it.
    states
        ``cluster_osds.states``'s answer: an OSD that it does not know was not made, or is destroyed. None where the
        cluster does not answer; its OSDs are then named by their fsids.
    """
    names = None if states is None else {osd["fsid"]: f"{OSD}{osd['id']}" for osd in states}
    by_disk: dict[str, dict[str, dict[str, list[str]]]] = {}
    for minion, disks in osds.items():
        for data, osd in sorted(disks.items()):
            held = [
                uuid if names is None else names[uuid]
                for uuid in osd.get("uuids") or ()
                if names is None or uuid in names
            ]
            for role, disk in (("data", data), ("db", osd.get("db")), ("wal", osd.get("wal"))):
                if disk and held:
                    by_disk.setdefault(minion, {}).setdefault(disk, {}).setdefault(role, []).extend(held)
    return by_disk


def disks(told: Mapping[str, Mapping], osds: Mapping[str, Mapping[str, Mapping]]) -> list[JudgedDisk]:
    """Return every disk of the hosts: those that fail, those that warn, the others; of these by host and device.

    told
        ``disks_smart.inspect``'s answers, by minion.
    osds
        What ``planned`` returned.
    """
    judged = [
        _disk(host, device, disk if isinstance(disk, Mapping) else {}, osds.get(host, {}))
        for host, each in sorted(told.items())
        for device, disk in sorted(each.items())
    ]
    return sorted(judged, key=lambda disk: STATES.index(disk.state))


def _disk(host: str, device: str, disk: Mapping, osds: Mapping[str, Mapping]) -> JudgedDisk:
    state, why = smart.judge(disk.get("smartctl"))
    label = f"{disk.get('model') or 'no model'}, serial {disk.get('serial') or 'unknown'}"
    id_ = str(disk.get("id") or device)
    return JudgedDisk(host, shown(device), shown(label), state, why, osds.get(id_, {}), shown(id_))


def findings(disks: Iterable[JudgedDisk]) -> list[dict]:
    """Return disks that fail or warn as warnings of a stage's step: ``{severity, hosts, message, fix}``. Of more than
    ``FEW`` hosts, more than ``FEW`` that warn are one for each reason; of those that fail the further ones are one.
    """
    disks = list(disks)
    fails, warns = ([disk for disk in disks if disk.state == state] for state in (FAILS, WARNS))
    if len({disk.host for disk in (*fails, *warns)}) <= FEW:
        return [*map(_finding, fails), *map(_finding, warns)]
    told = [*map(_finding, fails[:FEW]), *_together(fails[FEW:], "more disk", "fail", REPLACED)]
    if len(warns) <= FEW:
        return [*told, *map(_finding, warns)]
    reasons: dict[str, list[JudgedDisk]] = {}
    for disk in warns:
        reasons.setdefault(disk.why, []).append(disk)
    first, rest = list(reasons.items())[:FEW], list(reasons.values())[FEW:]
    told += [line for why, alike in first for line in _together(alike, "disk", f"warn: {why}", WORKS)]
    return told + _together([disk for alike in rest for disk in alike], "more disk", "warn for other reasons", WORKS)


def _finding(disk: JudgedDisk) -> dict:
    return {"severity": "warning", "hosts": [disk.host], "message": disk.line(), "fix": disk.fix()}


def _together(disks: Sequence[JudgedDisk], noun: str, says: str, fix: str) -> list[dict]:
    """One warning of several disks, a disk's own where it is one, none where there is none."""
    if len(disks) < 2:
        return [*map(_finding, disks)]
    hosts, message = sorted({disk.host for disk in disks}), f"{counted(len(disks), noun)} {says}"
    return [{"severity": "warning", "hosts": hosts, "message": message, "fix": f"{fix}; {EACH}"}]


def text(disks: Iterable[JudgedDisk]) -> list[str]:
    """Return what disks told, line by line: those that fail or warn with what to do, the others counted."""
    disks = list(disks)
    lines = [
        f"{several(each['hosts'])}{':' if each['hosts'][1:] else ''} {each['message']}\n  -> {each['fix']}"
        for each in findings(disks)
    ]
    states = [disk.state for disk in disks]
    counts = ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states)
    return [*lines, *_untold(disks), f"{counted(len(disks), 'disk')}: {counts}" if disks else "no disk was told of"]


def _untold(disks: Iterable[JudgedDisk]) -> Iterator[str]:
    """Why disks tell nothing, in one line for each reason."""
    hosts: dict[str, list[str]] = {}
    for disk in disks:
        if disk.state == UNTOLD:
            hosts.setdefault(disk.why.removeprefix(f"{disk.device}: "), []).append(disk.host)
    for why, names in sorted(hosts.items()):
        yield f"not told: {counted(len(names), 'disk')} of {several(sorted(set(names)))}: {why}"
