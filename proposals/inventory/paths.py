"""Several paths to one disk: what any of them shows counts for the disk."""

from collections.abc import Sequence

from proposals.inventory.disk import Disk, Resident

MULTIPATH = "multipath path of"  # what makes a disk a path, and stands against no role of the device made of them
MAPPED = ("/dev/dm-", "/dev/mapper/")  # such devices


def several(disks: Sequence[Disk]) -> bool:
    """Whether two of ``disks`` have one id or one wwn. Quick, for the nearly all hosts where none have."""
    wwns = [disk.wwn for disk in disks if disk.wwn]
    return len(set(wwns)) < len(wwns) or len({disk.id for disk in disks}) < len(disks)


def joined(disks: Sequence[Disk]) -> tuple[Disk, ...]:
    """``disks``, of which one path stands for each disk and the others are unused as paths to it.

    Reasons and OSDs known by any path are those of the disk."""
    answer = list(disks)
    for group in _groups(disks):
        chosen = min(group, key=lambda at: (*_rank(disks[at]), at))
        paths = [disks[chosen], *(disks[at] for at in group if at != chosen)]
        for at in group:
            answer[at] = disks[at]._replace(reason=f"another path to {disks[chosen].id}", residents=())
        answer[chosen] = disks[chosen]._replace(reason=_reason(paths), residents=_residents(paths))
    return tuple(answer)


def _groups(disks: Sequence[Disk]) -> list[list[int]]:
    """Positions of the paths of each disk that has several."""
    group_of: dict[tuple[str, str], list[int]] = {}
    for at, disk in enumerate(disks):
        keys = [("id", disk.id), ("wwn", disk.wwn)] if disk.wwn else [("id", disk.id)]
        group: list[int] = [at]
        for key in keys:
            other = group_of.get(key, group)
            if other is not group:  # the id leads to one group and the wwn to another: all are one disk
                other += group
                group_of.update(dict.fromkeys([key for key, value in group_of.items() if value is group], other))
                group = other
        group_of.update(dict.fromkeys(keys, group))
    return [group for group in {id(group): group for group in group_of.values()}.values() if len(group) > 1]


def _rank(disk: Disk) -> tuple:
    """The device that a multipath device makes of its paths comes first, then a path that shows OSDs."""
    return (disk.reason or "").startswith(MULTIPATH), not disk.residents, disk.reason is not None


def _reason(paths: Sequence[Disk]) -> str | None:
    reasons: dict[str, str] = {}
    made = paths[0].device.startswith(MAPPED)
    for path in paths:
        for reason in (path.reason or "").split("; "):
            if reason and not (made and reason.startswith(MULTIPATH)):
                reasons.setdefault(reason, reason if path is paths[0] else f"{reason} (by {path.device})")
    return "; ".join(reasons.values()) or None


def _residents(paths: Sequence[Disk]) -> tuple[Resident, ...]:
    parts: dict[tuple[str, str], Resident] = {}
    for path in paths:
        for resident in path.residents:
            parts.setdefault((resident.owner, resident.role), resident)
    return tuple(sorted(parts.values(), key=lambda one: (one.offset, one.role, one.owner)))
