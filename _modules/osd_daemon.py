"""One OSD of this host: registered, formatted, recorded, started.

The steps are those that Ceph documents for manual deployment (docs.ceph.com, install/manual-deployment). Killed
between any two of them, the next run goes on: the same uuid and key give the same id, and only a label that says
``ready`` counts as made.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

from salt.exceptions import CommandExecutionError

LIMIT = 300  # seconds one command may take
BOOTSTRAP = "/var/lib/ceph/bootstrap-osd/ceph.keyring"
DATA_DIR = Path("/var/lib/ceph/osd")
RECORDS = Path("/etc/ceph/osd-devices")  # one file an OSD: what osd-devices@ID.service looks for at boot
KEYS = Path("/var/lib/ceph/bootstrap-osd/new")  # keys of OSDs in the making, 0700
LINKS = {"data": "block", "db": "block.db", "wal": "block.wal"}


def made(osd):
    """Return the id of an OSD that ``ceph-osd --mkfs`` finished, by its label; ``None`` for any other.

    osd
        One of ``osd.plan``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_daemon.made '{uuid: x, parts: {data: {partuuid: y}}}'
    """
    label = __salt__["disks.label"](str(_node(osd["parts"]["data"])))
    return label["id"] if label and label["fsid"] == osd["uuid"] and label.get("ready") else None


def whole(osd):
    """Return whether an OSD is made and runs: label, record and unit all say so.

    osd
        One of ``osd.plan``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_daemon.whole '{uuid: x, parts: {data: {partuuid: y}}}'
    """
    if not all(_node(part).exists() for part in osd["parts"].values()):
        return False
    osd_id = made(osd)
    if osd_id is None or not (RECORDS / str(osd_id)).exists():
        return False
    unit = f"ceph-osd@{osd_id}"
    return __salt__["service.enabled"](unit) and __salt__["service.status"](unit)


def make(osd):
    """Register, format, record and start one OSD, as far as that is not done; return its id.

    osd
        One of ``osd.plan``; its partitions are there.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_daemon.make '{uuid: x, parts: {data: {partuuid: y}}}'
    """
    osd_id = made(osd)
    if osd_id is None:
        key = _key(osd["uuid"])
        osd_id = _register(osd["uuid"], key, osd.get("id"))
        _record(osd_id, osd)
        _mkfs(osd_id, osd, key)
    _record(osd_id, osd)
    unit = f"ceph-osd@{osd_id}"
    _run(["systemctl", "reset-failed", unit], ok=(0, 1))  # an earlier run may have started it too often
    _run(["systemctl", "start", unit])
    (KEYS / osd["uuid"]).unlink(missing_ok=True)
    return osd_id


def _register(osd_uuid, key, osd_id=None):
    """Give the cluster an OSD and its key; the same uuid and key give the same id again.

    ``osd_id`` is a destroyed OSD's that it takes over.
    """
    bootstrap = ["ceph", "--name", "client.bootstrap-osd", "--keyring", BOOTSTRAP, "--connect-timeout", "60"]
    wanted = [] if osd_id is None else [str(osd_id)]
    out = _run([*bootstrap, "osd", "new", osd_uuid, *wanted, "-i", "-"], stdin=json.dumps({"cephx_secret": key}))
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


def _node(part):
    return Path("/dev/disk/by-partuuid") / part["partuuid"]


def _run(command, stdin=None, ok=(0,)):
    """A command's standard output; its own words as an error where it fails."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT, check=False)  # noqa: S603
    if done.returncode not in ok:
        raise CommandExecutionError(
            f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()[-2000:]}"
        )
    return done.stdout
