"""Make this host's OSDs as its pillar names them, on disks that were looked at first.

The way without device-mapper, by the steps that Ceph documents for manual deployment
(docs.ceph.com, install/manual-deployment): GPT partitions found by PARTUUID, ``ceph osd new UUID``,
``ceph-osd --mkfs --osd-uuid UUID``, then the OSD's own unit. Every uuid on disk is computed from the cluster's
fsid, so that whose a partition is can be read from the partition itself, after any interruption.
"""

import concurrent.futures
import contextvars
import json
import os
import subprocess
from pathlib import Path

from salt.exceptions import CommandExecutionError

LIMIT = 300  # seconds one command of one OSD may take
AT_ONCE = 8  # OSDs made side by side at most, fewer on fewer processors


def plan():
    """Return this host's planned OSDs: a list of ``{uuid, parts: {role: {disk, size, partuuid}}}``.

    Sizes are bytes; the data part's is ``None``: the whole disk. Empty where pillar names none.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.plan
    """
    planned = []
    for disk, osd in sorted(_storage().get("osds", {}).items()):
        for osd_uuid in osd.get("uuids", []):
            parts = {"data": {"disk": disk, "size": None}}
            for role in ("db", "wal"):
                if osd.get(role):
                    parts[role] = {"disk": osd[role], "size": int(osd[f"{role}_size"])}
            for role, part in parts.items():
                part["partuuid"] = __salt__["osd_slots.partuuid"](osd_uuid, role)
            planned.append({"uuid": osd_uuid, "parts": parts})
    return planned


def check():
    """Look at every planned disk and return what stands against it: ``{disk: problem}``, empty where all is well.

    ``osd_disk.problem`` decides. Nothing is written.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.check
    """
    disks = sorted({part["disk"] for osd in plan() for part in osd["parts"].values()})
    in_use = __salt__["disks.in_use"]() if disks else {}
    found = _side_by_side(_looked_at, [(disk, in_use) for disk in disks])
    return {disk: problem for disk, problem in zip(disks, found, strict=True) if problem}


def missing():
    """Return the planned OSDs that are not made on this host, or do not run.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.missing
    """
    return [osd["uuid"] for osd in plan() if not __salt__["osd_daemon.whole"](osd)]


def deploy():
    """Make and start the planned OSDs that are not made or do not run: ``{made: {uuid: id}, failed: {uuid: why}}``.

    Everything is looked at again right before it is used; what exists is left alone. Run again after any
    interruption: the same uuids give the same partitions, the same ids and no second OSD.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.deploy
    """
    problems = check()
    if problems:
        raise CommandExecutionError("; ".join(f"{disk}: {problem}" for disk, problem in problems.items()))
    todo = [osd for osd in plan() if not __salt__["osd_daemon.whole"](osd)]
    ids = __salt__["osd_ids.waiting"](todo) if todo else {}
    todo = [{**osd, "id": ids.get(osd["uuid"])} for osd in todo]
    held = __salt__["osd_slots.make"](todo) if todo else []
    try:
        done = dict(
            zip([osd["uuid"] for osd in todo], _side_by_side(_made_or_failed, [(osd,) for osd in todo]), strict=True)
        )
    finally:
        for descriptor in held:
            os.close(descriptor)
    made = {osd_uuid: answer for osd_uuid, answer in done.items() if isinstance(answer, int)}
    failed = {osd_uuid: answer for osd_uuid, answer in done.items() if osd_uuid not in made}
    if made:  # one call: each makes systemd read all its units anew
        _run(["systemctl", "enable", *(f"ceph-osd@{osd_id}" for osd_id in made.values())])
    return {"made": made, "failed": failed}


def report():
    """Return each planned OSD as it lies on this host: ``{osds: {uuid: {id, parts}}, names}``.

    ``parts`` is ``{role: {node, disk, size}}``, from the partitions and labels themselves: sizes are the
    partitions' real bytes, ``disk`` is the device that the partition is on, the id is the label's. ``names``
    tells what device each planned disk's name is now.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.report
    """
    found = {}
    for osd in plan():
        parts = {}
        for role, part in osd["parts"].items():
            node = _node(part)
            if node.exists():
                size = int((Path("/sys/class/block") / node.resolve().name / "size").read_text()) * 512
                disk = str(Path("/dev") / (Path("/sys/class/block") / node.resolve().name).resolve().parent.name)
                parts[role] = {"node": str(node.resolve()), "disk": disk, "size": size}
        label = __salt__["disks.label"](str(_node(osd["parts"]["data"]))) if "data" in parts else None
        found[osd["uuid"]] = {"id": (label or {}).get("id"), "parts": parts}
    disks = {part["disk"] for osd in plan() for part in osd["parts"].values()}
    return {"osds": found, "names": {disk: str(Path(disk).resolve()) for disk in sorted(disks)}}


def metadata():
    """Return what the cluster says of each OSD (``ceph osd metadata``), on a host with the admin's key.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' osd.metadata
    """
    return json.loads(_run(["ceph", "--connect-timeout", "30", "--format", "json", "osd", "metadata"]))


def _side_by_side(function, calls):
    """A function's answers to a list of arguments, a bounded number at once.

    Salt's dunders live in a context of the calling thread, so each call gets a copy of it.
    """
    with concurrent.futures.ThreadPoolExecutor(min(AT_ONCE, max(2, os.cpu_count() or 2))) as pool:
        futures = [pool.submit(contextvars.copy_context().run, function, *call) for call in calls]
        return [future.result() for future in futures]


def _storage():
    return __pillar__.get("ceph", {}).get("storage", {})


def _node(part):
    return Path("/dev/disk/by-partuuid") / part["partuuid"]


def _looked_at(disk, in_use):
    """What stands against a disk; one that cannot be looked at is a problem too."""
    try:
        return __salt__["osd_disk.problem"](disk, _storage().get("disks", {}).get(disk), in_use)
    except (OSError, CommandExecutionError, subprocess.SubprocessError) as err:
        return f"cannot be looked at: {err}"


def _made_or_failed(osd):
    """The id of an OSD that was made, or why it was not, as text."""
    try:
        return __salt__["osd_daemon.make"](osd)
    except (OSError, CommandExecutionError, subprocess.SubprocessError) as err:
        return str(err)


def _run(command, stdin=None, ok=(0,)):
    """A command's standard output; its own words as an error where it fails."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT, check=False)  # noqa: S603
    if done.returncode not in ok:
        raise CommandExecutionError(
            f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()[-2000:]}"
        )
    return done.stdout
