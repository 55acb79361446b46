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
import shutil
import subprocess
from pathlib import Path

from salt.exceptions import CommandExecutionError

LIMIT = 300  # seconds one command of one OSD may take
AT_ONCE = 8  # OSDs made side by side at most, fewer on fewer processors
BOOTSTRAP = "/var/lib/ceph/bootstrap-osd/ceph.keyring"
DATA_DIR = Path("/var/lib/ceph/osd")
RECORDS = Path("/etc/ceph/osd-devices")  # one file an OSD: what osd-devices@ID.service looks for at boot
KEYS = Path("/var/lib/ceph/bootstrap-osd/new")  # keys of OSDs in the making, 0700
LINKS = {"data": "block", "db": "block.db", "wal": "block.wal"}


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

    A disk may be used if its size and serial are those of the proposal and it is *clean* (no table, no signature,
    nobody has it) or *ours* (its table and every partition on it carry the uuids of this cluster). Nothing is
    written.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.check
    """
    recorded, planned = _storage().get("disks", {}), plan()
    disks = sorted({part["disk"] for osd in planned for part in osd["parts"].values()})
    problems = {}
    for disk in disks:
        try:
            problem = _problem(disk, recorded.get(disk))
        except (OSError, CommandExecutionError, subprocess.SubprocessError) as err:
            problem = f"cannot be looked at: {err}"
        if problem:
            problems[disk] = problem
    return problems


def missing():
    """Return the planned OSDs that are not made on this host, or do not run.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd.missing
    """
    return [osd["uuid"] for osd in plan() if not _whole(osd)]


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
    todo = [osd for osd in plan() if not _whole(osd)]
    made, failed = {}, {}
    if not todo:
        return {"made": made, "failed": failed}
    __salt__["osd_slots.make"](todo)
    with concurrent.futures.ThreadPoolExecutor(min(AT_ONCE, max(2, os.cpu_count() or 2))) as pool:
        # Salt's __salt__ lives in a context of the calling thread: each thread gets a copy.
        for osd, future in [(osd, pool.submit(contextvars.copy_context().run, _make, osd)) for osd in todo]:
            try:
                made[osd["uuid"]] = future.result()
            except (OSError, CommandExecutionError, subprocess.SubprocessError) as err:
                failed[osd["uuid"]] = str(err)
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


def _storage():
    return __pillar__.get("ceph", {}).get("storage", {})


def _node(part):
    return Path("/dev/disk/by-partuuid") / part["partuuid"]


def _problem(disk, recorded):
    """Why a planned disk must not be touched, with the command that helps; ``None`` where it may be."""
    if not Path(disk).exists():
        return "is not on this host: plug it in, or run discovery and populate again"
    identity = __salt__["disks.identity"](disk)
    if recorded is None:
        return "has no size and serial on record: let proposal.populate write this profile again"
    for key in ("size", "serial"):
        if recorded.get(key) != identity[key]:
            return (
                f"has {key} {identity[key]}, the proposal recorded {recorded.get(key)}: another disk? "
                "run discovery and populate again"
            )
    table = __salt__["disks.partitions"](disk)
    if table and table["guid"] == __salt__["osd_slots.guid"](disk):
        return _strangers(disk, table)
    return _unclean(disk)


def _strangers(disk, table):
    """What lies in our own table that no record of this cluster explains."""
    for part in table["partitions"]:
        if not __salt__["osd_slots.ours"](part):
            what = part["name"] or part["type"]
            return f"carries partition {part['number']} ({what}), which this cluster did not make"
    return None


def _unclean(disk):
    """What a disk holds that is not ours; ``None`` where it is clean."""
    busy = __salt__["disks.busy"](disk)
    if busy:
        return f"is in use ({busy}): take it out of the profile"
    parts = __salt__["disks.partition_nodes"](disk)
    held = __salt__["disks.signatures"](disk)
    if parts or held:
        what = ", ".join(held + [f"partition {part}" for part in parts])
        cure = f"wipefs --all {' '.join([*parts, disk])}"
        return f"is not clean ({what}): if nothing on it is needed, '{cure}' on this host"
    return None


def _whole(osd):
    """Whether an OSD is made and runs: its label says so, its record is there to start it, its unit is active."""
    if not all(_node(part).exists() for part in osd["parts"].values()):
        return False
    osd_id = _made(osd)
    if osd_id is None or not (RECORDS / str(osd_id)).exists():
        return False
    unit = f"ceph-osd@{osd_id}"
    return __salt__["service.enabled"](unit) and __salt__["service.status"](unit)


def _made(osd):
    """The id of an OSD that ``ceph-osd --mkfs`` finished, by its label; ``None`` for any other."""
    label = __salt__["disks.label"](str(_node(osd["parts"]["data"])))
    return label["id"] if label and label["fsid"] == osd["uuid"] and label.get("ready") else None


def _make(osd):
    """Register, format, record and start one OSD; return its id."""
    osd_id = _made(osd)
    if osd_id is None:
        key = _key(osd["uuid"])
        osd_id = _register(osd["uuid"], key)
        _record(osd_id, osd)
        _mkfs(osd_id, osd, key)
    _record(osd_id, osd)
    unit = f"ceph-osd@{osd_id}"
    _run(["systemctl", "reset-failed", unit], ok=(0, 1))  # an earlier run may have started it too often
    _run(["systemctl", "start", unit])
    (KEYS / osd["uuid"]).unlink(missing_ok=True)
    return osd_id


def _register(osd_uuid, key):
    """Give the cluster an OSD and its key; the same uuid and key give the same id again."""
    bootstrap = ["ceph", "--name", "client.bootstrap-osd", "--keyring", BOOTSTRAP, "--connect-timeout", "60"]
    out = _run([*bootstrap, "osd", "new", osd_uuid, "-i", "-"], stdin=json.dumps({"cephx_secret": key}))
    return int(out.strip().splitlines()[-1])


def _key(osd_uuid):
    """The key of an OSD in the making, kept until it is made: ``osd new`` answers only the same one again."""
    KEYS.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = KEYS / osd_uuid
    if not kept.exists():
        made = _run(["ceph-authtool", "--gen-print-key"]).strip()
        fresh = KEYS / f"{osd_uuid}.new"
        _secret(fresh, made)
        fresh.rename(kept)
    return kept.read_text(encoding="ascii")


def _record(osd_id, osd):
    """Write what the OSD's unit looks for at boot, whole or not at all."""
    RECORDS.mkdir(mode=0o755, parents=True, exist_ok=True)
    lines = [f"fsid {osd['uuid']}"]
    lines += [f"{LINKS[role]} {part['partuuid']}" for role, part in sorted(osd["parts"].items())]
    fresh = RECORDS / f".{osd_id}.new"
    fresh.write_text("\n".join(lines) + "\n", encoding="ascii")
    fresh.rename(RECORDS / str(osd_id))


def _mkfs(osd_id, osd, key):
    """Format one OSD; what an interrupted run left in its folder goes first."""
    folder = DATA_DIR / f"ceph-{osd_id}"
    if folder.exists():
        known = (folder / "fsid").read_text().strip() if (folder / "fsid").exists() else ""
        if known not in ("", osd["uuid"]):  # empty: mkfs was killed while it wrote it
            raise CommandExecutionError(f"{folder} belongs to another OSD: move it away if that one is gone")
        shutil.rmtree(folder)
    folder.mkdir(mode=0o750)
    _secret(folder / "keyring", f"[osd.{osd_id}]\n\tkey = {key}\n")
    for part in osd["parts"].values():
        _forget_label(_node(part))
    _run(["/usr/local/sbin/osd-devices", str(osd_id)])
    shutil.chown(folder, "ceph", "ceph")
    shutil.chown(folder / "keyring", "ceph", "ceph")
    command = ["ceph-osd", "--id", str(osd_id), "--mkfs", "--osd-uuid", osd["uuid"]]
    _run([*command, "--osd-objectstore", "bluestore", "--setuser", "ceph", "--setgroup", "ceph"])


def _secret(path, text):
    """Write a file that only its owner can read, at no time otherwise."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text, encoding="ascii")


def _forget_label(node):
    """Clear the label of a slot recorded for this OSD: one from before the disk was wiped, or half a one."""
    with node.open("r+b") as part:
        part.write(bytes(4096))
        part.flush()
        os.fsync(part.fileno())


def _run(command, stdin=None, ok=(0,)):
    """A command's standard output; its own words as an error where it fails."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT, check=False)  # noqa: S603
    if done.returncode not in ok:
        raise CommandExecutionError(
            f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()[-2000:]}"
        )
    return done.stdout
