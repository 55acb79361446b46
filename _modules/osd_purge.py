"""This host's OSDs of a cluster that is taken apart (``salt-run ceph.purge``): seen, stopped, let go of.

An OSD is of the cluster that its folder, its record or its volumes name; where they name none, or several, it is left
alone. No disk is written here: wiping is ``disks_wipe``'s.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 300  # seconds one command may take: of dozens of OSDs that stop at once
DATA, RECORDS = Path("/var/lib/ceph/osd"), Path("/etc/ceph/osd-devices")
WAITING = Path("/etc/ceph/osd-waiting")
SIMPLE = Path("/etc/ceph/osd")  # what 'ceph-volume simple' activates at boot, a file an OSD: ID-FSID.json
UNIT = re.compile(r"ceph-osd@(\d+)\.service")
SHIPPED = (  # salt/ceph/cluster/osd wrote them
    Path("/usr/local/sbin/osd-devices"),
    Path("/etc/systemd/system/osd-devices@.service"),
    Path("/etc/systemd/system/ceph-osd@.service.d/osd-devices.conf"),
)


def look(fsid: str) -> dict:
    """Return what ``disks.inspect`` answers, with ``osds``, each OSD of this host as ``{id, fsid, cluster}``, and
    ``made``, the disks that carry nothing but the empty table or volume group of that cluster. Only reads.

    ``cluster`` is the one that everything names which there is of the OSD; ``None`` where nothing names one.

    fsid
        The cluster's that is taken apart.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_purge.look 11111111-1111-4111-8111-111111111111
    """
    host = __salt__["disks.inspect"]()
    groups = __salt__["disks_lvm.groups"]()
    made = []
    for disk in host["ceph_disks"]:
        content = host["inspected"].get(disk["device"], {"error": "was not read"})
        if content.get("error") or content["osds"] or content["signatures"] or content.get("volumes"):
            continue
        try:
            table = __salt__["disks.partitions"](disk["device"])
        except CommandExecutionError:  # it does not answer any more
            continue
        group = groups.get(disk["device"], {"uuid": None})
        names = (__salt__["osd_names.table_guid"](disk["id"]), __salt__["osd_names.pv_uuid"](disk["id"]))
        if (table["guid"] if table else None, group["uuid"]) in ((names[0], None), (None, names[1])):
            made.append(disk["device"])
    return {**host, "osds": _osds(fsid), "made": made}


def stop(fsid: str) -> list[str]:
    """Stop the OSDs of a cluster for good; return their names. Done before, nothing runs.

    fsid
        The cluster's.

    CLI Example: for ``salt-run ceph.purge``.
    """
    own = _own(fsid)
    numbers = [osd["id"] for osd in own]
    daemons = [f"ceph-osd@{number}" for number in numbers]
    named = [f"{osd['id']}-{osd['fsid']}" for osd in own if osd["fsid"]]
    boots = [f"ceph-volume@{form}-{name}" for name in named for form in ("lvm", "simple")]
    if own:
        halocline.run(["systemctl", "disable", "--quiet", *daemons, *boots], limit=LIMIT)
        halocline.run(["systemctl", "stop", *daemons], limit=LIMIT)
        halocline.run(["systemctl", "stop", *(f"osd-devices@{number}" for number in numbers)], ok=None, limit=LIMIT)
    if left := __salt__["daemons_retire.running"](daemons, boots=False):
        raise CommandExecutionError(f"{', '.join(left)} runs still: look at 'systemctl status {left[0]}' there")
    return [f"osd.{number}" for number in numbers]


def release(fsid: str) -> list[str]:
    """Let go of the disks of OSDs that are stopped: folders unmounted and removed, encrypted volumes closed, records
    removed last. Return what went.

    fsid
        The cluster's.

    CLI Example: for ``salt-run ceph.purge``.
    """
    own = _own(fsid)
    units = [f"ceph-osd@{osd['id']}" for osd in own]
    if running := __salt__["daemons_retire.running"](units, boots=False):
        raise CommandExecutionError(f"{', '.join(running)} runs, or is stopping: nothing of it was removed")
    gone = []
    for osd in own:
        folder = DATA / f"ceph-{osd['id']}"
        if folder.is_symlink() or folder.exists():
            __salt__["osd_record.vacate"](folder)
            gone.append(str(folder))
    for group in __salt__["disks_lvm.groups"]().values():
        for volume in group["volumes"]:
            if volume["tags"].get("ceph.cluster_fsid") == fsid:
                __salt__["osd_lvm_parts.close"](volume)
    for osd in own:
        (SIMPLE / f"{osd['id']}-{osd['fsid']}.json").unlink(missing_ok=True)
        (RECORDS / str(osd["id"])).unlink(missing_ok=True)
    shutil.rmtree(WAITING, ignore_errors=True)
    if not __salt__["osd_record.read"]():
        for path in SHIPPED:
            path.unlink(missing_ok=True)
        halocline.run(["systemctl", "daemon-reload"], limit=LIMIT)
    return gone


def _own(fsid: str) -> list[dict]:
    """The cluster's OSDs of this host; raises where the host is told of another cluster."""
    if __pillar__.get("fsid") not in (None, fsid):
        raise CommandExecutionError(f"its pillar names cluster {__pillar__['fsid']}, not {fsid}: nothing was touched")
    return [osd for osd in _osds(fsid) if osd["cluster"] == fsid]


def _osds(fsid: str) -> list[dict]:
    """Every OSD that has a folder, a record, volumes or a unit here, and whose it is by all that they name."""
    said: dict[int, list[tuple[str | None, str | None]]] = {}
    for number, one, cluster in (*_folders(), *_records(fsid), *_volumes(), *_units()):
        said.setdefault(number, []).append((one, cluster))
    return [
        {
            "id": number,
            "fsid": next((one for one, _ in told if one), None),
            "cluster": next(iter(sorted({cluster for _, cluster in told if cluster} - {fsid})), None)
            or (fsid if any(cluster == fsid for _, cluster in told) else None),
        }
        for number, told in sorted(said.items())
    ]


Said = Sequence[tuple[int, str | None, str | None]]  # an OSD's number, its fsid, its cluster's


def _folders() -> Said:
    """What folders say (OSD::write_meta, src/osd/OSD.cc of Ceph 16); that of an OSD that is not activated is empty."""
    folders = [path for path in sorted(DATA.glob("ceph-*")) if path.name.removeprefix("ceph-").isdecimal()]
    return [(int(path.name[5:]), _line(path / "fsid"), _line(path / "ceph_fsid")) for path in folders]


def _records(fsid: str) -> Said:
    """What records say: the names of slots follow from the cluster's fsid."""
    found = []
    for one, record in __salt__["osd_record.read"]().items():
        slots = {slot for role in record["slots"] for slot in __salt__["osd_names.slots"](one, role)}
        found.append((record["id"], one, fsid if slots & set(record["slots"].values()) else None))
    return found


def _volumes() -> Said:
    """What tags say (src/ceph-volume/ceph_volume/api/lvm.py of Ceph 16)."""
    tags = [volume["tags"] for group in __salt__["disks_lvm.groups"]().values() for volume in group["volumes"]]
    named = [each for each in tags if each.get("ceph.osd_id", "").isdecimal()]
    return [(int(each["ceph.osd_id"]), each.get("ceph.osd_fsid"), each.get("ceph.cluster_fsid")) for each in named]


def _units() -> Said:
    """Units that systemd knows, whoever's."""
    command = ["systemctl", "list-units", "--all", "--plain", "--no-legend", "--full", "ceph-osd@*"]
    return [(int(number), None, None) for number in UNIT.findall(halocline.run(command, limit=LIMIT))]


def _line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip() or None
    except OSError:
        return None
