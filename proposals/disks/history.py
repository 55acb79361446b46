"""What became of what was planned or deployed before."""

from collections.abc import Collection, Mapping, Sequence

from proposals.disks.shape import Origin, Placed
from proposals.inventory.disk import Disk, is_silent
from proposals.text.argument_readers import words
from proposals.text.notes import WARNING, Note, counted, several

PLACE = ("db", "wal", "db_size", "wal_size")


class Stored:
    """A stored proposal beside the arguments ``typed`` in a later run.

    ``target`` names hosts and plans none, so that it makes no difference between arguments."""

    def __init__(self, stored: Mapping | None, typed: Mapping) -> None:
        self.hosts: Mapping[str, Mapping] = stored.get("hosts", {}) if stored else {}
        self.arguments = stored.get("arguments") if stored else None
        self.typed = _planning(typed)

    def asked(self, host: str) -> object:
        """The arguments that a host was planned with: those of the proposal, or of the run that it is kept from."""
        return self.hosts[host].get("arguments", self.arguments)

    def same(self, host: str) -> Mapping | None:
        """What is stored of a host, where it was planned with the arguments of this run."""
        return self.hosts[host] if host in self.hosts and _planning(self.asked(host)) == self.typed else None

    def kept(self, covered: Collection[str]) -> dict[str, list[str]]:
        """The hosts that this run does not cover and that keep what other arguments planned, by these arguments."""
        groups: dict[str, list[str]] = {}
        for host in sorted(self.hosts):
            asked = self.asked(host)
            if host not in covered and self.hosts[host].get("osds") and _planning(asked) != self.typed:
                groups.setdefault(words(asked if isinstance(asked, Mapping) else {}), []).append(host)
        return groups


def _planning(asked: object) -> object:
    return {key: value for key, value in asked.items() if key != "target"} if isinstance(asked, Mapping) else asked


def kept_notes(kept: Mapping[str, list[str]]) -> list[Note]:
    """What is told of hosts that keep what other arguments planned (``Stored.kept``)."""
    return [
        Note(WARNING, f"{several(hosts)}: not covered by this run, kept as planned with {asked}")
        for asked, hosts in kept.items()
    ]


def by_hand(stored: Mapping | None) -> str | None:
    """The arguments that somebody made a stored proposal with, as they are typed; None where there are none."""
    asked = [stored["arguments"], *(host.get("arguments") for host in stored["hosts"].values())] if stored else []
    return next((words(typed) for typed in asked if typed), None)


def moves(before: Mapping | None, now: Mapping, waiting: Collection[str] = ()) -> list[Note]:
    """What a host's stored plan (``before``) placed elsewhere than the new one does, where it is not deployed.

    ``waiting`` are the fsids of OSDs that are told of otherwise: they wait for another device."""
    if not before:
        return []
    placed = {osd["uuid"]: osd for osd in now["osds"]}
    here = {disk["id"] for disk in now["disks"]}
    known = [osd for osd in before["osds"] if osd["uuid"] in placed or osd["data"] in here]
    lost = len(before["osds"]) - len(known)
    new = [osd for osd in known if not osd["existing"] and osd["uuid"] not in waiting]
    gone = sum(osd["uuid"] not in placed for osd in new)
    moved = sum(any(osd[key] != placed[osd["uuid"]][key] for key in PLACE) for osd in new if osd["uuid"] in placed)
    called_off = [osd for osd in known if osd.get("moves") and _lies_still(osd, placed.get(osd["uuid"], osd))]
    lines = []
    if called_off:
        stay = "OSD stays where it lies" if len(called_off) == 1 else "OSDs stay where they lie"
        lines.append(f"{len(called_off)} {stay}, which the stored proposal moves: migrate=true plans that")
    if moved:
        lines.append(f"{_osds(moved, 'is', 'are')} placed or sized otherwise than the stored proposal has it")
    if gone:
        lines.append(f"{_osds(gone, 'is', 'are')} no longer planned, and the stored proposal has it")
    if lost:
        with_them = "is gone with its data disk" if lost == 1 else "are gone with their data disks"
        lines.append(f"{counted(lost, 'OSD')} of the stored proposal {with_them}")
    return [Note(WARNING, line) for line in lines]


def _lies_still(was: Mapping, now: Mapping) -> bool:
    """Whether an OSD that was to move lies where it lay and is not to move any more."""
    return not now.get("moves") and all(was[key] == now[key] for key in PLACE)


def _osds(count: int, one: str, many: str) -> str:
    return f"1 OSD that is not deployed {one}" if count == 1 else f"{count} OSDs that are not deployed {many}"


def recalled(
    origins: Sequence[Origin], existing: Sequence[Placed], before: Mapping, disks: Sequence[Disk]
) -> tuple[Origin, ...]:
    """Origins of existing OSDs with what the stored proposal (``before``: its part of the host) knows of them.

    An inventory need not tell format and encryption; where nobody does, they are BlueStore and not encrypted. It
    cannot tell what lies on devices that are not there any more, or do not answer."""
    stored = {osd["uuid"]: osd for osd in before.get("osds", ())}
    here = {disk.id for disk in disks if disk.residents or not is_silent(disk.reason)}
    pairs = zip(origins, existing, strict=True)
    return tuple(_recalled(origin, osd, stored.get(origin.fsid, {}), here) for origin, osd in pairs)


def _recalled(origin: Origin, osd: Placed, known: Mapping, here: Collection[str]) -> Origin:
    """A part that lies elsewhere by now was moved there: with the device that it lay on falls nothing."""
    roles = [role for role in ("db", "wal") if getattr(osd, role) is None and known.get(role) not in (None, *here)]
    return origin._replace(
        format=origin.format or known.get("format") or "bluestore",
        encryption=origin.encryption or known.get("encryption"),
        missing=tuple(sorted({known[role] for role in roles})),
        lost=tuple((key, known.get(key)) for role in roles for key in (role, f"{role}_size")),
    )
