"""Make this host's OSDs as its pillar names them, on disks that were looked at first.

What is planned stands in ``osd_plan``, whether a disk may be touched in ``osd_guard``. Two ways lead to an OSD: logical
volumes (``osd_lvm_parts``) and ``ceph-volume`` (``osd_lvm``), or partitions (``osd_raw_parts``) and Ceph's documented
steps (``osd_raw``). In both, every uuid on disk is computed from the cluster's fsid, so that whose a slot is can be
read from the disk itself, after any interruption.
"""

import concurrent.futures
import contextvars
import os
import subprocess
from pathlib import Path

from salt.exceptions import CommandExecutionError

AT_ONCE = 8  # OSDs made side by side at most, fewer on fewer processors
PARTS = {"raw": "osd_raw_parts", "lvm": "osd_lvm_parts"}
OSD = {"raw": "osd_raw", "lvm": "osd_lvm"}


def plan():
    """Return this host's planned OSDs, as ``osd_plan.osds`` has them; empty where pillar names none.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.plan
    """
    return __salt__["osd_plan.osds"]()


def check():
    """Look at every planned disk and return what stands against it: ``{disk: problem}``, empty where all is well.

    ``osd_guard.problem`` decides. Nothing is written.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.check
    """
    planned = plan()
    impossible = __salt__["osd_plan.problems"]()
    if impossible or not planned:
        return impossible
    parts = {}
    for osd in planned:
        for part in osd["parts"].values():
            parts.setdefault(part["disk"], []).append((osd["method"], part))
    in_use = __salt__["disks.in_use"]()
    groups = _groups(planned)
    calls = [(disk, in_use, parts[disk], groups.get(str(Path(disk).resolve()))) for disk in sorted(parts)]
    found = zip(sorted(parts), _side_by_side(_looked_at, calls), strict=True)
    return {disk: problem for disk, problem in found if problem}


def missing():
    """Return the planned OSDs that are not made on this host, or do not run.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.missing
    """
    planned = plan()
    return [osd["uuid"] for osd in _todo(planned, _groups(planned))]


def would():
    """Return what ``osd.deploy`` would make now, one line an OSD: its way, its disks and sizes, or that it starts.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.would
    """
    lines = {}
    planned = plan()
    groups = _groups(planned)
    for osd in _todo(planned, groups):
        parts = [
            f"{role} on {part['disk']}" + (f" ({part['size'] / 2**30:.1f} GiB)" if part["size"] else "")
            for role, part in osd["parts"].items()
        ]
        made = _daemon(osd, "made", groups)
        verb = "make" if made is None else f"start osd.{made}"
        crypt = ", encrypted" if osd["dmcrypt"] else ""
        lines[osd["uuid"]] = f"{verb}: {', '.join(parts)} ({osd['method']}{crypt})"
    return lines


def deploy():
    """Make and start the planned OSDs that are not made or do not run: ``{made: {uuid: id}, failed: {uuid: why}}``.

    Everything is looked at again right before it is used; what exists is left alone. Run again after any
    interruption: the same uuids give the same slots, the same ids and no second OSD.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.deploy
    """
    planned = plan()
    todo = _todo(planned, _groups(planned))
    if not todo:
        return {"made": {}, "failed": {}}
    problems = check()
    if problems:
        raise CommandExecutionError("; ".join(f"{disk}: {problem}" for disk, problem in problems.items()))
    __salt__["osd_plan.needs_aio"](todo)
    ids = __salt__["osd_register.waiting"](todo)
    todo = [{**osd, "id": ids.get(osd["uuid"])} for osd in todo]
    held = []
    try:
        for method, slots in PARTS.items():
            mine = [osd for osd in todo if osd["method"] == method]
            held += __salt__[f"{slots}.make"](mine) if mine else []
        answers = _side_by_side(_made_or_failed, [(osd,) for osd in todo])
    finally:
        for descriptor in held:
            os.close(descriptor)
    done = {osd["uuid"]: answer for osd, answer in zip(todo, answers, strict=True)}
    made = {osd_uuid: answer for osd_uuid, answer in done.items() if isinstance(answer, int)}
    units = [f"ceph-osd@{made[osd['uuid']]}" for osd in todo if osd["uuid"] in made and osd["method"] == "raw"]
    if units:  # one call: each makes systemd read all its units anew
        __salt__["commands.run"](["systemctl", "enable", *units])
    return {"made": made, "failed": {osd_uuid: answer for osd_uuid, answer in done.items() if osd_uuid not in made}}


def report():
    """Return each planned OSD as it lies on this host: ``{osds: {uuid: {id, parts}}, names}``.

    ``parts`` is ``{role: {node, disk, size}}``, from the partitions, volumes and labels themselves: sizes are their
    real bytes, ``disk`` is the device that they are on, the id is the label's. ``names`` tells what device each
    planned disk's name is now.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.report
    """
    planned = plan()
    groups = _groups(planned)
    found = {
        osd["uuid"]: {"id": _daemon(osd, "made", groups), "parts": _daemon(osd, "parts", groups)} for osd in planned
    }
    disks = {part["disk"] for osd in planned for part in osd["parts"].values()}
    return {"osds": found, "names": {disk: str(Path(disk).resolve()) for disk in sorted(disks)}}


def _groups(planned):
    """LVM's view, asked once, where an OSD lies or is to lie on LVM."""
    return __salt__["disks_lvm.groups"]() if any(osd["method"] == "lvm" for osd in planned) else {}


def _todo(planned, groups):
    return [osd for osd in planned if not _daemon(osd, "whole", groups)]


def _daemon(osd, function, *arguments):
    """Ask an OSD's own way."""
    return __salt__[f"{OSD[osd['method']]}.{function}"](osd, *arguments)


def _side_by_side(function, calls):
    """A function's answers to a list of arguments, a bounded number at once.

    Salt's dunders live in a context of the calling thread, so each call gets a copy of it.
    """
    with concurrent.futures.ThreadPoolExecutor(min(AT_ONCE, max(2, os.cpu_count() or 2))) as pool:
        futures = [pool.submit(contextvars.copy_context().run, function, *call) for call in calls]
        return [future.result() for future in futures]


def _looked_at(disk, in_use, planned, group):
    """What stands against a disk; one that cannot be looked at is a problem too."""
    recorded = __pillar__["ceph"]["storage"].get("disks", {}).get(disk)
    try:
        return __salt__["osd_guard.problem"](disk, recorded, in_use, planned, group)
    except (OSError, CommandExecutionError, subprocess.SubprocessError) as err:
        return f"cannot be looked at: {err}"


def _made_or_failed(osd):
    """The id of an OSD that was made, or why it was not, as text."""
    try:
        return _daemon(osd, "make")
    except (OSError, CommandExecutionError, subprocess.SubprocessError) as err:
        return str(err)
