"""What an OSD that is destroyed (``salt-run osd.replace``) or leaves (``ceph.stage.removal``) has on its host: its
daemon is stopped, then its slots are freed, never before the cluster has let go of it.

Its data disk is left as it is: that is pulled, or wiped by a command of its own (``salt-run disk.wipe``).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 300  # seconds one command may take: of dozens of OSDs that stop at once
DATA_DIR = Path("/var/lib/ceph/osd")
RECORDS = Path("/etc/ceph/osd-devices")
SLOTS = Path("/dev/disk/by-partuuid")


def stop(osd_id: int, fsid: str) -> dict[str, str]:
    """Stop one OSD's daemon and keep it from starting; refused where the number is another OSD's here.

    osd_id
        The OSD's number.
    fsid
        Its fsid.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_retire.stop 3 6b0c1f2e-0000-4000-8000-000000000000
    """
    stop_all({fsid: osd_id})
    return {"stopped": f"ceph-osd@{osd_id}"}


def stop_all(osds: Mapping[str, int]) -> list[str]:
    """Stop daemons of several OSDs together, and keep them from starting; return their units. Each that hangs takes its
    time until systemd kills it: all of them take that once.

    osds
        Their numbers by their fsids. Where one number is another OSD's here, none is stopped.

    CLI Example: for ``salt-run osd.replace``.
    """
    for fsid, osd_id in osds.items():
        _here(osd_id, fsid)
    units = [f"ceph-osd@{osd_id}" for osd_id in osds.values()]
    starters = [f"ceph-volume@{kind}-{osd_id}-{fsid}" for fsid, osd_id in osds.items() for kind in ("lvm", "simple")]
    _run(["systemctl", "disable", "--quiet", *units, *starters])
    _run(["systemctl", "stop", *units, *(f"osd-devices@{osd_id}" for osd_id in osds.values())])
    return units


def _here(osd_id: int, fsid: str) -> None:
    """Raise where a number is another OSD's on this host."""
    here = recorded(osd_id)["fsid"]
    if here is None:
        raise CommandExecutionError(
            f"osd.{osd_id} has neither a record in {RECORDS} nor one set of this cluster's logical volumes on this "
            f"host: 'ceph osd find {osd_id}' tells where it ran last"
        )
    if here != fsid:
        raise CommandExecutionError(f"osd.{osd_id} of this host is the OSD with fsid {here}, not {fsid}")


def retire(osd_id: int, fsid: str) -> dict[str, str]:
    """The same for an OSD that leaves: refused where this host's pillar still plans it. One that left before is none.

    osd_id, fsid
        As for ``stop``.

    CLI Example: for ``ceph.stage.removal``.
    """
    if fsid in {osd["fsid"] for osd in __salt__["osd_plan.osds"]()} | _adopted():
        raise CommandExecutionError(f"osd.{osd_id} ({fsid}) is still planned on this host: it was not stopped")
    return stop(osd_id, fsid) if left([fsid]) else {"stopped": "nothing"}


def left(fsids: Sequence[str]) -> dict[str, int]:
    """Return which of some OSDs this host still has something of but their data: ``{fsid: number}``.

    fsids
        Of OSDs.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_retire.left '[6b0c1f2e-0000-4000-8000-000000000000]'
    """
    found = {**_folders(), **_records()}
    volumes = _volumes()
    for fsid, osd_id in _tagged(volumes).items():
        slots = {slot for role in ("db", "wal") for slot in __salt__["osd_names.slots"](fsid, role)}
        starts = __salt__["service.enabled"](f"ceph-volume@lvm-{osd_id}-{fsid}")
        if starts or slots & {volume["slot"] for volume in volumes}:
            found[fsid] = osd_id
    return {fsid: osd_id for fsid, osd_id in found.items() if fsid in fsids}


def numbers(fsids: Sequence[str]) -> dict[str, int]:
    """Return under which numbers this host has or had some OSDs, also those that are destroyed: ``{fsid: number}``.

    fsids
        Of OSDs.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_retire.numbers '[6b0c1f2e-0000-4000-8000-000000000000]'
    """
    waiting = {fsid: place["id"] for fsid, place in __salt__["osd_waiting.kept"]().items()}
    found = {**waiting, **_tagged(_volumes()), **_records()}
    return {fsid: osd_id for fsid, osd_id in found.items() if fsid in fsids}


def _adopted() -> set[str]:
    """The OSDs that were adopted, and that this host's pillar still names."""
    record = __pillar__.get("ceph", {}).get("adopted") or {}  # null, as its OSDs are, once their lines were taken out
    return set(record.get("osds") or {})


def _folders() -> dict[str, int]:
    """The number of each OSD of this cluster whose folder tells: also of those that others made."""
    return {fsid: int(folder.name[5:]) for folder in sorted(DATA_DIR.glob("ceph-[0-9]*")) if (fsid := _of(folder))}


def _of(folder: Path) -> str | None:
    """The OSD whose folder this is; None where it is another cluster's, or says nothing."""
    try:
        fsid, cluster = ((folder / name).read_text(encoding="utf-8").strip() for name in ("fsid", "ceph_fsid"))
    except OSError:
        return None
    return fsid if cluster == __pillar__.get("fsid") and fsid else None


def _records() -> dict[str, int]:
    """The number of each OSD that has a record."""
    return {fsid: record["id"] for fsid, record in __salt__["osd_record.read"]().items()}


def _volumes() -> list[dict]:
    return [volume for group in __salt__["disks_lvm.groups"]().values() for volume in group["volumes"]]


def _tagged(volumes: Sequence[Mapping]) -> dict[str, int]:
    """The number of each OSD that volumes name."""
    tags = [volume["tags"] for volume in volumes if volume["tags"].get("ceph.osd_id", "").isdecimal()]
    return {each["ceph.osd_fsid"]: int(each["ceph.osd_id"]) for each in tags if "ceph.osd_fsid" in each}


def recorded(osd_id: int) -> dict[str, str | None]:
    """Return ``{fsid: …}``: which OSD this host has under a number, by its record or its volumes; else ``None``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_retire.recorded 3
    """
    if fsid := next((fsid for fsid, number in _records().items() if number == osd_id), None):
        return {"fsid": fsid}
    same_id = [tags for tags in (volume["tags"] for volume in _volumes()) if tags.get("ceph.osd_id") == str(osd_id)]
    fsids = {tags["ceph.osd_fsid"] for tags in same_id if tags.get("ceph.cluster_fsid") == __pillar__["fsid"]}
    return {"fsid": fsids.pop() if len(fsids) == 1 else _of(DATA_DIR / f"ceph-{osd_id}")}


def free(osd_id: int, place: Mapping | None = None) -> dict[str, list[str]]:
    """Take away the DB and WAL slots of an OSD that the cluster let go of, its record and its folder; return what went.

    Refused as long as the monitors know it. Partitions and volumes that this cluster did not make for that OSD stay,
    and so does what lies on a disk that cannot be read. Done before, nothing is left to do.

    osd_id
        The number of an OSD that was destroyed or purged.
    place
        Where it lay, as ``osd_waiting.kept`` has it: place and number are kept for it. Without it they are given up.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_retire.free 3
    """
    fsid = recorded(osd_id)["fsid"]
    if fsid and __salt__["osd_register.known"](fsid):
        raise CommandExecutionError(f"the cluster still has osd.{osd_id} ({fsid}): its slots were not freed")
    if place is None:
        __salt__["osd_waiting.release"](osd_id)
    elif fsid:
        __salt__["osd_waiting.keep"](fsid, {**place, "id": osd_id})
    if fsid is None:
        return {"freed": []}
    stop(osd_id, fsid)
    freed = []
    for disk in sorted(__salt__["disks_kernel.in_use"]()):
        if __salt__["osd_guard.gone"](disk):
            continue
        table = __salt__["disks.partitions"](disk) or _no_table(disk, osd_id, fsid)
        parts = [part for part in table["partitions"] if part["name"] == fsid and __salt__["osd_names.ours"](part)]
        numbers = [part["number"] for part in parts if __salt__["osd_names.role"](part) != "data"]
        if numbers:
            __salt__["osd_raw_parts.remove"](disk, numbers)
            freed += [f"partition {number} of {disk}" for number in numbers]
    __salt__["osd_record.vacate"](DATA_DIR / f"ceph-{osd_id}")
    freed += __salt__["osd_lvm_parts.remove"](fsid)
    # Last: whatever interrupts this, the next run finds by the record what is left.
    (RECORDS / str(osd_id)).unlink(missing_ok=True)
    return {"freed": freed}


def _no_table(disk: str, osd_id: int, fsid: str) -> dict[str, list]:
    """A table without partitions; raises where the kernel knows a slot of the OSD there, so that a read failed."""
    slots = [SLOTS / slot for role in ("db", "wal") for slot in __salt__["osd_names.slots"](fsid, role)]
    if disk in [__salt__["disks_kernel.holder"](str(slot)) for slot in slots if slot.exists()]:
        raise CommandExecutionError(
            f"{disk} carries a slot of osd.{osd_id}, and its table cannot be read at the moment: what is left of it "
            "stays; look at 'dmesg' there, and type the same again"
        )
    return {"partitions": []}


def _run(command: Sequence[str]) -> None:
    halocline.run(command, limit=LIMIT)
