"""The DB and WAL slots of one OSD on logical volumes: where they are, which of them it lies in.

The tags of its volumes say it, in ``ceph-volume``'s words, which reads them at each start (ceph-volume's
devices/lvm/migrate.py writes the same ones). ``ceph-volume lvm new-db`` and ``migrate`` themselves are not used: they
write the tags before they copy, in several steps, and where they are killed on the way a volume may have lost whose it
is. Here the tags of a volume change in one step, and while any change, ``osd_record`` lets nothing start.
"""

from collections.abc import Mapping
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

DATA_DIR = Path("/var/lib/ceph/osd")
DEV = Path("/dev")
LINKS = {"db": "block.db", "wal": "block.wal"}
TYPES = {"data": "block", "db": "db", "wal": "wal"}
PLACES = tuple(f"ceph.{role}_{what}" for role in LINKS for what in ("uuid", "device"))
LIMIT = 900  # seconds one call of ceph-volume may take


def node(fsid: str, role: str, name: str) -> str:
    """Return the device node of a slot, by its name; empty where it is not there.

    CLI Example: for ``osd_migrate.inspect``.
    """
    paths = sorted(DEV.glob(f"ceph-*/{__salt__['osd_names.volume'](fsid, role, name)}"))
    return str(paths[0]) if paths else ""


def on(node: str, disk: str) -> bool:
    """Return whether a slot's node is on a disk.

    CLI Example: for ``osd_migrate.inspect``.
    """
    return Path(node).parent.name == __salt__["osd_names.group"](disk)


def free(fsid: str, role: str, name: str) -> str:
    """Take away a slot of an OSD in which nothing of it lies, by its name; return what went.

    CLI Example: for ``osd_migrate.free``.
    """
    volume = _volumes(fsid).get(name)
    if volume is None or volume["role"] != role or volume["tags"].get("ceph.osd_fsid"):
        raise CommandExecutionError(f"slot {name} is not a volume that OSD {fsid} has left: it was not freed")
    halocline.unused(Path(volume["path"]))
    halocline.run(["lvremove", "--quiet", "--yes", volume["path"]])
    return f"volume {volume['path'].removeprefix('/dev/')}"


def attach(osd_id: int, fsid: str, slots: Mapping) -> None:
    """Let the tags of an OSD's volumes, and so its folder, name these slots and no others. It is stopped.

    The folder is in memory: after the host restarted it is made.

    osd_id, fsid
        Of the OSD.
    slots
        ``{role: slot}``, the data's too.

    CLI Example: for ``osd_copy.part``.
    """
    volumes = _volumes(fsid)
    own = {role: volumes[slot] for role, slot in slots.items()}
    tags = {key: value for key, value in own["data"]["tags"].items() if key not in PLACES}
    for role in LINKS:
        if role in own:
            tags |= {f"ceph.{role}_uuid": own[role]["uuid"], f"ceph.{role}_device": own[role]["path"]}
    for slot, volume in volumes.items():
        _tag(volume, {**tags, "ceph.type": TYPES[volume["role"]]} if slot in slots.values() else {})
    _activate(osd_id, fsid)


def attached(osd_id: int, fsid: str, slots: Mapping) -> bool:
    """Return whether an OSD's tags and folder name these slots and no others; arguments as for ``attach``.

    CLI Example: for ``osd_migrate.free``.
    """
    volumes = _volumes(fsid)
    tagged = {slot for slot, volume in volumes.items() if volume["tags"].get("ceph.osd_fsid") == fsid}
    links = {role: DATA_DIR / f"ceph-{osd_id}" / link for role, link in LINKS.items()}
    lead = {role: link.resolve() for role, link in links.items() if link.is_symlink()}
    want = {role: Path(volumes[slot]["path"]).resolve() for role, slot in slots.items() if role in LINKS}
    return tagged == set(slots.values()) and lead == want


def settle(osd_id: int, fsid: str, slots: Mapping) -> None:
    """Write down that an OSD may start: its tags say where it lies; arguments as for ``attach``.

    CLI Example: for ``osd_copy.part``.
    """
    __salt__["osd_record.drop"](osd_id)


def _volumes(fsid: str) -> dict[str, dict]:
    """All volumes that this cluster made for an OSD, by slot, with its role."""
    found = {}
    for group in __salt__["disks_lvm.groups"]().values():
        for volume in group["volumes"]:
            owner = __salt__["osd_names.owner"](volume["name"], volume["slot"])
            if owner and owner[1] == fsid:
                found[volume["slot"]] = {**volume, "role": owner[0]}
    return found


def _tag(volume: Mapping, want: Mapping[str, str]) -> None:
    """Give a volume these tags of ``ceph-volume`` and no others: in one command, which LVM writes whole or not."""
    has = volume["tags"]
    words = [f"--deltag={key}={value}" for key, value in has.items() if want.get(key) != value]
    words += [f"--addtag={key}={value}" for key, value in want.items() if has.get(key) != value]
    if words:
        halocline.run(["lvchange", "--quiet", *words, volume["path"]])


def _activate(osd_id: int, fsid: str) -> None:
    """Let ``ceph-volume`` make the folder and its links by the tags; nothing is started."""
    halocline.run(["ceph-volume", "lvm", "activate", "--bluestore", "--no-systemd", str(osd_id), fsid], limit=LIMIT)
