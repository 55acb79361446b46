"""One OSD on partitions: registered, formatted, recorded, started.

The steps are those that Ceph documents for manual deployment (docs.ceph.com, install/manual-deployment). Killed
between any two of them, the next run goes on: the same fsid and key give the same id, and only a label that says
``ready`` counts as made.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

DATA_DIR = Path("/var/lib/ceph/osd")
RECORDS = Path("/etc/ceph/osd-devices")  # one file an OSD: what osd-devices@ID.service looks for at boot
LINKS = {"data": "block", "db": "block.db", "wal": "block.wal"}
LABEL = 4096  # bytes of BlueStore's label
TRIES = 3  # of mkfs, where udev takes a part back meanwhile


def made(osd: Mapping, groups: Mapping | None = None) -> int | None:
    """Return the id of an OSD that ``ceph-osd --mkfs`` finished, by its label; ``None`` for any other.

    osd
        One of ``osd_plan.osds``.
    groups
        Not used: the same for both ways.

    CLI Example: for ``osd.report``.
    """
    node = _node(osd["parts"]["data"])
    label = __salt__["disks_label.read"](str(node)) if node.exists() else None
    return label["id"] if label and label["fsid"] == osd["fsid"] and label.get("ready") else None


def whole(osd: Mapping, groups: Mapping | None, units: Mapping[str, str]) -> bool:
    """Return whether an OSD is made and runs: label, record and unit all say so.

    osd, groups
        As for ``made``.
    units
        ``daemons.units``' answer for all OSDs.

    CLI Example: for ``osd.missing``.
    """
    if not all(_node(part).exists() for part in osd["parts"].values()):
        return False
    osd_id = made(osd)
    if osd_id is None or not _recorded(osd_id, osd):
        return False
    return units.get(f"ceph-osd@{osd_id}.service") == "enabled"


def _recorded(osd_id: int, osd: Mapping) -> bool:
    """Whether the OSD's record names all of its slots: by another one, or half of it, it does not start at the next
    boot."""
    record = RECORDS / str(osd_id)
    lines = record.read_text(encoding="utf-8", errors="replace").splitlines() if record.exists() else []
    slots = (f"{LINKS[role]} {part['partuuid']}" for role, part in osd["parts"].items())
    return {f"fsid {osd['fsid']}", *slots} <= set(lines)


def parts(osd: Mapping, groups: Mapping | None = None) -> dict[str, dict]:
    """Return where an OSD's parts lie: ``{role: {node, disk, size}}``, bytes. Arguments as for ``made``.

    CLI Example: for ``osd.report``.
    """
    places = {}
    for role, part in osd["parts"].items():
        node = _node(part)
        if node.exists():
            places[role] = {
                "node": str(node.resolve()),
                "disk": __salt__["disks_kernel.holder"](str(node)),
                "size": __salt__["disks_kernel.size"](str(node)),
            }
    return places


def lacks(osd: Mapping, groups: Mapping | None = None) -> list[str]:
    """Return which parts of an OSD have no slot, by name or in the table of their disk. Arguments as for ``made``.

    CLI Example: for ``osd.deploy``.
    """

    def slots(disk: str) -> list[str]:
        return [part["uuid"] for part in (__salt__["disks.partitions"](disk) or {"partitions": []})["partitions"]]

    missing = {role: part for role, part in osd["parts"].items() if not _node(part).exists()}
    return [role for role, part in missing.items() if part["partuuid"] not in slots(part["disk"])]


def make(osd: Mapping) -> int:
    """Register, format, record and start one OSD, as far as that is not done; return its id.

    osd
        One of ``osd_plan.osds``; its partitions are there. Where it is not made yet, ``new`` is what
        ``osd_register.new`` gave it.

    CLI Example: for ``osd.deploy``.
    """
    __salt__["osd_record.settled"](osd["fsid"])
    osd_id = made(osd)
    if osd_id is None:
        if not isinstance(osd["new"], tuple):
            raise CommandExecutionError(osd["new"] or "it was made and is no more: look at its disk, run it again")
        osd_id, key = osd["new"]
        _vacant(osd_id, osd["fsid"])
        _record(osd_id, osd)
        _format(osd_id, osd, key)
    elif not _recorded(osd_id, osd):
        _linked(osd_id, osd)
    _record(osd_id, osd)
    unit = f"ceph-osd@{osd_id}"
    __salt__["daemons.forgive"]([unit])  # an earlier run may have started it too often
    halocline.run(["systemctl", "start", unit])
    __salt__["osd_register.made"](osd["fsid"], osd_id, osd["parts"]["data"]["disk"])
    return osd_id


def _vacant(osd_id: int, fsid: str) -> None:
    """Raise where an OSD that had this number before has still its record or folder here: the first says which slots of
    shared devices were its own, and nobody else knows.
    """
    folder = DATA_DIR / f"ceph-{osd_id}"
    there = (folder / "fsid").read_text().strip() if (folder / "fsid").exists() else ""  # empty: mkfs was killed then
    recorded = [other for other, record in __salt__["osd_record.read"]().items() if record["id"] == osd_id]
    if others := {*recorded, *filter(None, [there])} - {fsid}:
        raise CommandExecutionError(
            f"osd.{osd_id} was OSD {', '.join(sorted(others))} here, whose place is not free yet: type again what "
            "took it away (osd.replace, osd.remove, or the stage removal), then run this stage again. Of a cluster "
            f"that is gone: move {RECORDS / str(osd_id)} and {folder} away"
        )


def _linked(osd_id: int, osd: Mapping) -> None:
    """Raise where the last start of an OSD whose record is not whole found other slots than are planned: it may have
    moved since, and by an older DB or WAL it would be lost.
    """
    for role, name in LINKS.items():
        link = DATA_DIR / f"ceph-{osd_id}" / name
        planned = _node(osd["parts"][role]) if role in osd["parts"] else None
        if link.is_symlink() and (found := link.readlink()) != planned:
            raise CommandExecutionError(
                f"osd.{osd_id}: {RECORDS / str(osd_id)} does not name its slots, and {link} leads to {found}, not to "
                f"{planned or 'nothing'} as planned: it was left as it is; bring the record back from a backup"
            )


def _record(osd_id: int, osd: Mapping) -> None:
    """Write what the OSD's unit looks for at boot."""
    __salt__["osd_record.write"](osd_id, osd["fsid"], {role: part["partuuid"] for role, part in osd["parts"].items()})


def _format(osd_id: int, osd: Mapping, key: str) -> None:
    """Format one OSD; anew where a part is root's again: udev sets the owner at each event of a device, also of one
    that it gets to late on a busy host (``node_permissions_apply`` in systemd's udev-node.c).
    """
    for left in reversed(range(TRIES)):
        try:
            _mkfs(osd_id, osd, key)
        except CommandExecutionError:
            if not left or all(map(_given, osd["parts"].values())):
                raise
        else:
            return


def _given(part: Mapping) -> bool:
    """Whether a part is there and belongs to Ceph's user."""
    try:
        return _node(part).owner() == "ceph"
    except FileNotFoundError:
        return False


def _mkfs(osd_id: int, osd: Mapping, key: str) -> None:
    """Format one OSD; what an interrupted run left in its folder goes first."""
    folder = DATA_DIR / f"ceph-{osd_id}"
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o750)
    keyring = folder / "keyring"
    keyring.touch(mode=0o600)
    keyring.write_text(f"[osd.{osd_id}]\n\tkey = {key}\n", encoding="ascii")
    for role, part in osd["parts"].items():
        _forget_label(_node(part))
        shutil.chown(_node(part), "ceph", "ceph")
        (folder / LINKS[role]).symlink_to(_node(part))
    shutil.chown(folder, "ceph", "ceph")
    shutil.chown(keyring, "ceph", "ceph")
    command = ["ceph-osd", "--id", str(osd_id), "--mkfs", "--osd-uuid", osd["fsid"]]
    command += ["--osd-objectstore", "bluestore", "--setuser", "ceph", "--setgroup", "ceph"]
    halocline.run(command)


def _forget_label(node: Path) -> None:
    """Clear the label of a slot recorded for this OSD, one from before the disk was wiped, or half a one; and its
    copies, which newer releases read where it is gone.

    Raises CommandExecutionError where one of Ceph's programs has it.
    """
    with node.open("r+b") as part:
        halocline.locked(part, f"{node} is in use")
        for place in __salt__["disks_label.places"](part.seek(0, os.SEEK_END)):
            os.pwrite(part.fileno(), bytes(LABEL), place)
        os.fsync(part.fileno())


def _node(part: Mapping) -> Path:
    return Path("/dev/disk/by-partuuid") / part["partuuid"]
