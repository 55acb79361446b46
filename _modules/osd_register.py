"""What the monitors know of this host's OSDs in the making: number and key, given once and never doubled.

A number may be that of a destroyed OSD, which waits on this host for another disk (``salt-run osd.replace``). All by
the bootstrap key, whose profile allows no more than this: ``osd new``, ``osd purge-new`` and reading maps.
"""

import base64
import json
import secrets
import struct
import time
from pathlib import Path

from salt.exceptions import CommandExecutionError

BOOTSTRAP = "/var/lib/ceph/bootstrap-osd/ceph.keyring"
KEYS = Path("/var/lib/ceph/bootstrap-osd/new")  # 0700; one file an OSD in the making, its key


def waiting(osds):
    """Return which OSD in the making takes which id of a destroyed one: ``{uuid: id}``.

    An id goes to an OSD of the same host and device class (CRUSH keeps both with the id). OSDs that the cluster
    knows already keep theirs.

    osds
        Of ``osd.plan``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_register.waiting '[]'
    """
    tree = json.loads(_ceph(["--format", "json", "osd", "tree", "destroyed"]))["nodes"]
    mine = [node for node in tree if node["type"] == "host" and node["name"] == __grains__["host"]]
    children = {child for node in mine for child in node["children"]}
    free = {}
    for node in tree:
        if node["id"] in children:
            free.setdefault(node.get("device_class"), []).append(node["id"])
    if not free:
        return {}
    known = {osd["uuid"] for osd in _dump()}
    found = {}
    for osd in osds:
        ids = sorted(free.get(_class(osd), []), reverse=True)
        if osd["uuid"] not in known and ids:
            found[osd["uuid"]] = ids[-1]
            free[_class(osd)].remove(ids[-1])
    return found


def new(osd_uuid, device_class=None, osd_id=None):
    """Give the cluster an OSD and its key; return number and key. The same uuid gives the same number again.

    Where the key of an interrupted run is lost, what that run registered is taken back first.

    osd_uuid
        The OSD's fsid.
    device_class
        Its CRUSH device class; ``None``: by its kind of disk.
    osd_id
        The number of a destroyed OSD that it takes over; ``None``: the lowest free one.

    CLI Example: for ``osd_raw.make``.
    """
    lost = not (KEYS / osd_uuid).exists()
    key = _key(osd_uuid)
    command = ["osd", "new", osd_uuid, *([] if osd_id is None else [str(osd_id)]), "-i", "-"]
    told = {"cephx_secret": key, **({"crush_device_class": device_class} if device_class else {})}
    try:
        out = _ceph(command, stdin=json.dumps(told))
    except CommandExecutionError:
        if not lost or not forget(osd_uuid):
            raise
        out = _ceph(command, stdin=json.dumps(told))
    return int(out.strip().splitlines()[-1]), key


def begun(osd_uuid):
    """Return whether a run began to make an OSD and did not end; from now on this one has begun.

    CLI Example: for ``osd_lvm.make``.
    """
    KEYS.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark = KEYS / f"{osd_uuid}.begun"
    there = mark.exists()
    mark.touch(mode=0o600)
    return there


def made(osd_uuid):
    """Note that an OSD is made: what was kept for the next run goes.

    CLI Example: for ``osd_raw.make``.
    """
    for name in (osd_uuid, f"{osd_uuid}.begun"):
        (KEYS / name).unlink(missing_ok=True)


def forget(osd_uuid):
    """Take back what an interrupted run registered: number and keys. Return whether there was anything.

    ``osd purge-new`` refuses an OSD that was ever started: its data may be wanted.

    CLI Example: for ``osd_lvm.make``.
    """
    known = next((osd for osd in _dump() if osd["uuid"] == osd_uuid), None)
    if known is None:
        return False
    if "new" not in known["state"]:
        raise CommandExecutionError(
            f"osd.{known['osd']} ran already and is not whole on its disks: look at what became of them; "
            f"'salt-run osd.replace {known['osd']}' gives it up"
        )
    _ceph(["osd", "purge-new", str(known["osd"]), "--yes-i-really-mean-it"])
    return True


def _class(osd):
    """The device class that is planned, or that Ceph will see in the data disk (src/blk/kernel/KernelDevice.cc)."""
    if osd.get("class"):
        return osd["class"]
    block = Path("/sys/class/block") / Path(osd["parts"]["data"]["disk"]).resolve().name
    if (block / "queue/rotational").read_text().strip() == "1":
        return "hdd"
    return "nvme" if block.name.startswith("nvme") else "ssd"


def _key(osd_uuid):
    """The key of an OSD in the making, kept until it is made: ``osd new`` answers only the same one again."""
    KEYS.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = KEYS / osd_uuid
    if not kept.exists():
        fresh = KEYS / f"{osd_uuid}.new"
        fresh.unlink(missing_ok=True)
        fresh.touch(mode=0o600)
        fresh.write_text(_new_key(), encoding="ascii")
        fresh.rename(kept)
    return kept.read_text(encoding="ascii")


def _new_key():
    """A fresh cephx key: type 1, creation time, 16 random bytes, in base64 (src/auth/Crypto.cc of Ceph)."""
    header = struct.pack("<HIIH", 1, int(time.time()), 0, 16)
    return base64.b64encode(header + secrets.token_bytes(16)).decode("ascii")


def _dump():
    return json.loads(_ceph(["--format", "json", "osd", "dump"]))["osds"]


def _ceph(words, stdin=None):
    command = ["ceph", "--name", "client.bootstrap-osd", "--keyring", BOOTSTRAP, "--connect-timeout", "60"]
    return __salt__["commands.run"]([*command, *words], stdin=stdin, limit=120)
