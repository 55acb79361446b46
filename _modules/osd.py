"""Make this host's OSDs as its pillar names them, on disks that were looked at first.

What is planned stands in ``osd_plan``, whether a disk may be touched in ``osd_guard``. Two ways lead to an OSD: logical
volumes (``osd_lvm_parts``) and ``ceph-volume`` (``osd_lvm``), or partitions (``osd_raw_parts``) and Ceph's documented
steps (``osd_raw``). In both, every uuid on disk is computed from the cluster's fsid (``osd_names``), so that whose a
slot is can be read from the disk itself, after any interruption.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

TAG = "halocline/osd"  # of the events that tell the master how far this host is
AT_ONCE = 8  # OSDs made side by side at most, fewer on fewer processors
PARTS = {"raw": "osd_raw_parts", "lvm": "osd_lvm_parts"}
OSD = {"raw": "osd_raw", "lvm": "osd_lvm"}


def plan() -> list[dict]:
    """Return this host's planned OSDs, as ``osd_plan.osds`` has them; empty where pillar names none.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.plan
    """
    return __salt__["osd_plan.osds"]()


def absent() -> dict[str, str]:
    """Return the planned OSDs that a disk is missing for, gone or unreadable: ``{fsid: why}``. Deploy makes the others.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.absent
    """
    planned = plan()
    return _absent(planned, _gone(planned))


def check() -> dict[str, str]:
    """Look at every planned disk and return what stands against it: ``{disk: problem}``, empty where all is well.

    ``osd_guard.problem`` decides. A disk that is gone stands against nothing (``osd.absent``). Nothing is written.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.check
    """
    planned = plan()
    return _problems(planned, _gone(planned))


def missing() -> list[str]:
    """Return the fsids of planned OSDs that are not made on this host, or do not run.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.missing
    """
    planned, lost = _present(plan())
    return [*lost, *(osd["fsid"] for osd in _todo(planned, _groups(planned)))]


def dry_run() -> dict[str, str]:
    """Return what ``osd.deploy`` would make now, a line for each OSD's fsid: its way, its disks and sizes.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.dry_run
    """
    lines = {}
    planned, _ = _present(plan())
    groups = _groups(planned)
    for osd in _todo(planned, groups):
        parts = [
            f"{role} on {part['disk']}" + (f" ({part['size'] / 2**30:.1f} GiB)" if part["size"] else "")
            for role, part in osd["parts"].items()
        ]
        osd_id = _call(osd, "made", groups)
        verb = "make" if osd_id is None else f"start osd.{osd_id}"
        crypt = ", encrypted" if osd["dmcrypt"] else ""
        lines[osd["fsid"]] = f"{verb}: {', '.join(parts)} ({osd['method']}{crypt})"
    return lines


def deploy() -> dict[str, dict]:
    """Make and start the planned OSDs that are not made or do not run.

    Returns ``{made: {fsid: id}, started: {fsid: id}, failed: {fsid: why}}``; started are those that lay on their disks
    already.

    Everything is looked at again right before it is used; what exists is left alone, and so is what ``absent`` names.
    Run again after any interruption: the same fsids give the same slots, the same ids and no second OSD. An event tells
    the master of each that is through.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.deploy
    """
    everything = plan()
    lost = _gone(everything)  # asked once: a disk that comes and goes is looked at by the guard, or left alone
    planned = [osd for osd in everything if osd["fsid"] not in _absent(everything, lost)]
    groups = _groups(planned)
    todo = _todo(planned, groups)
    if not todo:
        return {"made": {}, "started": {}, "failed": {}}
    if problems := _problems(everything, lost):
        raise CommandExecutionError("; ".join(f"{disk}: {problem}" for disk, problem in problems.items()))
    there = {osd["fsid"]: osd_id for osd in todo if (osd_id := _call(osd, "made", groups)) is not None}
    left = _bare(todo, there, groups) | _left(todo, there)
    todo = [osd for osd in todo if osd["fsid"] not in left]
    __salt__["osd_plan.needs_aio"](todo)
    waiting = __salt__["osd_register.waiting"](todo)
    todo = [{**osd, "id": waiting.get(osd["fsid"])} for osd in todo]
    held: list[int] = []
    tell = _teller(len(todo))
    try:
        for method, parts in PARTS.items():
            osds = [osd for osd in todo if osd["method"] == method]
            held += __salt__[f"{parts}.make"](osds) if osds else []
        new = __salt__["osd_register.new"]([osd for osd in todo if _unregistered(osd, groups)])
        todo = [{**osd, "new": new.get(osd["fsid"])} for osd in todo]
        answers = halocline.side_by_side(_made_or_failed, [(osd,) for osd in todo], _at_once(), tell)
    finally:
        for descriptor in held:
            os.close(descriptor)
    outcome = {osd["fsid"]: answer for osd, answer in zip(todo, answers, strict=True)}
    ids = {fsid: answer for fsid, answer in outcome.items() if isinstance(answer, int)}
    units = [f"ceph-osd@{ids[osd['fsid']]}" for osd in todo if osd["fsid"] in ids and osd["method"] == "raw"]
    if units:  # one call: each makes systemd read all its units anew
        halocline.run(["systemctl", "enable", *units])
    made = {fsid: osd_id for fsid, osd_id in ids.items() if fsid not in there}
    started = {fsid: osd_id for fsid, osd_id in ids.items() if fsid in there}
    failed = left | {fsid: answer for fsid, answer in outcome.items() if fsid not in ids}
    return {"made": made, "started": started, "failed": failed}


def report() -> dict[str, dict]:
    """Return each planned OSD as it lies on this host: ``{osds: {fsid: {id, parts, unread}}, names}``.

    ``unread`` is why its data disk cannot be read, ``None`` where it can. ``parts`` is
    ``{role: {node, disk, size}}``, from the partitions, volumes and labels themselves: sizes are their real bytes,
    ``disk`` is the device that they are on, the id is the label's. ``names`` tells what device each planned disk's name
    is now.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.report
    """
    planned = plan()
    groups = _groups(planned)
    osds, lost = {}, _gone(planned)
    for osd in planned:
        unread = lost.get(osd["parts"]["data"]["disk"])
        osd_id = None if unread else _call(osd, "made", groups)
        osds[osd["fsid"]] = {"id": osd_id, "parts": _call(osd, "parts", groups), "unread": unread}
    places = [place for osd in planned for place in (*osd["parts"].values(), *osd["moves"].values()) if place]
    disks = {place["disk"] for place in places}
    return {"osds": osds, "names": {disk: str(Path(disk).resolve()) for disk in sorted(disks)}}


def _present(planned: Sequence[dict]) -> tuple[list[dict], dict[str, str]]:
    """The planned OSDs whose disks are all there, and why others are not: ``absent``'s answer."""
    lost = _absent(planned, _gone(planned))
    return [osd for osd in planned if osd["fsid"] not in lost], lost


def _absent(planned: Sequence[Mapping], lost: Mapping[str, str]) -> dict[str, str]:
    return {
        osd["fsid"]: "; ".join(why)
        for osd in planned
        if (why := [lost[part["disk"]] for part in osd["parts"].values() if part["disk"] in lost])
    }


def _gone(planned: Sequence[Mapping]) -> dict[str, str]:
    """Why each disk of planned OSDs that is gone is, or carries a label that cannot be read."""
    disks = sorted({part["disk"] for osd in planned for part in osd["parts"].values()})
    reasons = halocline.side_by_side(__salt__["osd_guard.gone"], [(disk,) for disk in disks], _at_once())
    lost = {disk: why for disk, why in zip(disks, reasons, strict=True) if why}
    rest = [osd for osd in planned if osd["parts"]["data"]["disk"] not in lost]  # what hangs would hang once more
    return lost | {osd["parts"]["data"]["disk"]: why for osd in rest if (why := __salt__["osd_guard.unread"](osd))}


def _problems(planned: Sequence[Mapping], lost: Mapping[str, str]) -> dict[str, str]:
    """``check``'s answer: what stands against each planned disk but those that are ``lost``, ``_gone``'s answer."""
    impossible = __salt__["osd_plan.problems"]()
    if impossible or not planned:
        return impossible
    parts: dict[str, list[tuple[str, Mapping]]] = {}
    absent = _absent(planned, lost)  # they need no room now; of one that has moved nobody knows which slot is its own
    for osd in planned:
        for part in osd["parts"].values():
            if part["disk"] not in lost:
                parts.setdefault(part["disk"], []).extend([] if osd["fsid"] in absent else [(osd["method"], part)])
    in_use = __salt__["disks_kernel.in_use"]()
    groups = _groups(planned)
    calls = [(disk, in_use, parts[disk], groups.get(str(Path(disk).resolve()))) for disk in sorted(parts)]
    problems = zip(sorted(parts), halocline.side_by_side(_problem, calls, _at_once()), strict=True)
    return {disk: problem for disk, problem in problems if problem}


def _left(todo: Sequence[Mapping], there: Mapping[str, int]) -> dict[str, str]:
    """Why OSDs that lie whole on their disks are not started: the cluster let go of them, and of their keys."""
    disks = {osd["fsid"]: osd["parts"]["data"]["disk"] for osd in todo if osd["fsid"] in there}
    return {
        fsid: f"osd.{there[fsid]} has left the cluster, and {disks[fsid]} holds it still: "
        "'salt-run disk.wipe' makes room for a new one, then run the stage again"
        for fsid in (__salt__["osd_register.unknown"](sorted(there)) if there else ())
    }


def _bare(todo: Sequence[Mapping], there: Mapping[str, int], groups: Mapping) -> dict[str, str]:
    """Why OSDs whose data is whole are not started: an empty DB or WAL in place of their own would not be theirs."""
    lacks = {osd["fsid"]: _call(osd, "lacks", groups) for osd in todo if osd["fsid"] in there}
    return {
        fsid: f"osd.{there[fsid]} is made, and its {' and '.join(roles)} lies on no disk of this host where it is "
        "planned: bring its device back, then run the stage again; where that is gone for good, 'salt-run osd.replace "
        f"{there[fsid]}' gives the OSD up"
        for fsid, roles in lacks.items()
        if roles
    }


def _groups(planned: Sequence[Mapping]) -> dict[str, dict]:
    """LVM's view, asked once, where an OSD lies or is to lie on LVM."""
    return __salt__["disks_lvm.groups"]() if any(osd["method"] == "lvm" for osd in planned) else {}


def _todo(planned: Sequence[dict], groups: Mapping) -> list[dict]:
    units = __salt__["daemons.units"]("ceph-osd@*") if planned else {}
    return [osd for osd in planned if not _call(osd, "whole", groups, units)]


def _unregistered(osd: Mapping, groups: Mapping) -> bool:
    """Whether the cluster is to be given an OSD first, asked behind its parts; ``ceph-volume`` does that itself."""
    return osd["method"] == "raw" and _call(osd, "made", groups) is None


def _call(osd: Mapping, function: str, *arguments: Mapping) -> Any:
    """Ask the module of an OSD's own way."""
    return __salt__[f"{OSD[osd['method']]}.{function}"](osd, *arguments)


def _at_once() -> int:
    return min(AT_ONCE, max(2, os.cpu_count() or 2))


def _problem(disk: str, in_use: Mapping, planned: Sequence, group: Mapping | None) -> str | None:
    """What stands against a disk; one that cannot be looked at is a problem too."""
    recorded = __pillar__["ceph"]["storage"].get("disks", {}).get(disk)
    try:
        return __salt__["osd_guard.problem"](disk, recorded, in_use, planned, group)
    except (OSError, CommandExecutionError) as err:
        return f"cannot be looked at: {err}"


def _teller(of: int) -> Callable[[int | str], None]:
    """A function that takes each OSD's answer and tells the master how many are through; none are at first.

    The run log and who watches the stage read these events (``proposals/stages/records.py``); nothing else waits for
    them, so one that does not arrive is no failure.
    """
    through = {"made": 0, "failed": 0, "of": of}
    __salt__["event.send"](TAG, dict(through))

    def tell(answer: int | str) -> None:
        through["made" if isinstance(answer, int) else "failed"] += 1
        __salt__["event.send"](TAG, dict(through))

    return tell


def _made_or_failed(osd: Mapping) -> int | str:
    """The id of an OSD that was made, or why it was not, as text."""
    try:
        return _call(osd, "make")
    except (OSError, CommandExecutionError) as err:
        return str(err)
