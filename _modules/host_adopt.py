"""What on this host belongs to a cluster that others made: its daemons, its OSDs and the form of each. It only looks.

The places are those of Ceph's own tools: ``/etc/ceph/osd/ID-FSID.json`` is what ``ceph-volume simple scan`` writes,
``/var/lib/ceph/osd/CLUSTER-ID`` an OSD's folder, the tags ``ceph.osd_fsid`` ... those of ``ceph-volume lvm``
(docs.ceph.com, ceph-volume). cephadm keeps daemons in ``/var/lib/ceph/FSID``, Rook in ``/var/lib/rook``.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

ETC, LIB, ROOK = Path("/etc/ceph"), Path("/var/lib/ceph"), Path("/var/lib/rook")
SYSTEMD = Path("/etc/systemd/system")
BLOCKS, BY_PARTUUID = Path("/sys/class/block"), Path("/dev/disk/by-partuuid")
NUMBERS = Path("/sys/dev/block")  # by major and minor number
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DAEMON = re.compile(r"ceph-(?P<kind>mon|mgr|mds|osd|radosgw|rbd-mirror)@(?P<name>[^\s]+)\.service")
OTHERS = re.compile(r"(nfs-ganesha|rbd-target-api|tcmu-runner|ceph-[0-9a-f-]{36}@[^\s]+)\.service")
LIMIT = 30  # seconds one command may take
ENTITIES = {"mds": "mds", "radosgw": "client"}  # of daemons that services bring, by the kind of their units
LINKS = {"data": "block", "db": "block.db", "wal": "block.wal", "journal": "journal"}


def inspect() -> dict:
    """Return what of a cluster is on this host; no secret is in it, and nothing is written.

    ``{conf: sha256 of ceph.conf, fsid: that it names, admin, daemons: {kind: [name]}, units: {entity: unit}, services:
    [unit], foreign: [text], osds: [...]}``. A unit, of a metadata server or gateway, is ``{runs, boots, key,
    frontend}``: the hash of the key in its own folder, ``rgw_frontends`` of ceph.conf. An OSD is ``{id, fsid, cluster,
    form, format, encrypted, devices: {role: node}}``, its form ``lvm``, ``raw``, ``partitions`` or ``simple``.
    ``foreign`` says what no adoption takes: containers, clusters of another name.

    CLI Example:

    .. code-block:: bash

        salt 'node1' host_adopt.inspect
    """
    conf = ETC / "ceph.conf"
    boots, runs = _units()
    units = sorted(boots | runs)
    daemons: dict[str, list[str]] = {}
    for found in filter(None, map(DAEMON.fullmatch, units)):
        daemons.setdefault(found["kind"], []).append(found["name"])
    stores = [path.name.removeprefix("ceph-") for path in LIB.glob("mon/ceph-*") if (path / "store.db").is_dir()]
    daemons["mon"] = sorted({*daemons.get("mon", []), *stores})
    return {
        "hostname": __grains__["host"],
        "conf": hashlib.sha256(conf.read_bytes()).hexdigest() if conf.is_file() else None,
        "fsid": __salt__["host_ceph_conf.sections"]().get("global", {}).get("fsid", "").strip("\"'").lower() or None,
        "admin": (ETC / "ceph.client.admin.keyring").is_file(),
        "daemons": {kind: sorted(names) for kind, names in sorted(daemons.items()) if names},
        "units": _served(daemons, boots, runs),
        "services": [unit for unit in units if OTHERS.fullmatch(unit)],
        "foreign": _foreign(),
        "osds": sorted(osds().values(), key=lambda osd: (osd["id"], osd["fsid"])),
    }


def osds() -> dict[str, dict]:
    """Return every OSD that has something of its own on this host, whoever made it: ``{fsid: OSD}`` as ``inspect``'s.

    CLI Example:

    .. code-block:: bash

        salt 'node1' host_adopt.osds
    """
    found: dict[str, dict] = {}
    for osd in (*_on_volumes(), *_scanned(), *_folders()):
        known = found.setdefault(osd["fsid"], osd)
        if known is not osd:
            found[osd["fsid"]] = {**osd, **known, "devices": {**osd["devices"], **known["devices"]}}
    return found


def _served(daemons: Mapping[str, list[str]], boots: set[str], runs: set[str]) -> dict[str, dict]:
    """Metadata servers and gateways, by entity: whether each runs and starts at boot, and which key it has."""
    served, sections = {}, __salt__["host_ceph_conf.sections"]()
    for kind, prefix in ENTITIES.items():
        for name in daemons.get(kind, ()):
            unit, entity = f"ceph-{kind}@{name}.service", f"{prefix}.{name}"
            key = __salt__["host_keys.hashes"](LIB / kind / f"ceph-{name}/keyring").get(entity)
            told = [sections.get(section, {}).get("rgw_frontends") for section in (entity, "client", "global")]
            frontend = next(filter(None, told), None)
            served[entity] = {"runs": unit in runs, "boots": unit in boots, "key": key, "frontend": frontend}
    return served


def _units() -> tuple[set[str], set[str]]:
    """The units that start at boot, and those that run."""
    wanted = {path.name for path in SYSTEMD.glob("*.wants/*.service")}
    words = ["systemctl", "list-units", "--type=service", "--state=active,activating", "--plain", "--no-legend"]
    lines = halocline.run([*words, "--no-pager"], limit=LIMIT).splitlines()
    return wanted, {line.split()[0] for line in lines if line.strip()}


def _foreign() -> list[str]:
    """What is of containers, or of a second cluster on this host."""
    lines = [
        f"{path}: daemons in containers of cephadm's"
        for path in sorted(LIB.glob("*"))
        if UUID.fullmatch(path.name) and any(path.glob("*.*"))
    ]
    # As ceph-ansible makes them with containerized_deployment: a unit of its own over the distribution's.
    lines += [
        f"{path}: daemons in containers"
        for path in sorted(SYSTEMD.glob("ceph-*@.service"))
        if re.search(r"^Exec\w+=\S*(docker|podman) ", path.read_text(errors="replace"), re.MULTILINE)
    ]
    lines += [f"{ROOK}: daemons of Rook's, which Kubernetes runs"] if ROOK.is_dir() else []
    named = {path.name.partition("-")[0] for kind in ("mon", "osd", "mgr", "mds") for path in LIB.glob(f"{kind}/*-*")}
    lines += [f"a cluster of the name '{name}'" for name in sorted(named - {"ceph", ""}) if not name.startswith(".")]
    return lines


def _on_volumes() -> Iterator[dict]:
    """Those of ``ceph-volume lvm``, by the tags of their volumes."""
    try:
        groups = __salt__["disks_lvm.groups"]()
    except CommandExecutionError:
        if any(SYSTEMD.glob("*.wants/ceph-volume@lvm-*")):
            raise  # without it these would be no OSDs, or of the form that their folders have
        return
    parts: dict[str, dict[str, Mapping]] = {}
    for volume in (volume for group in groups.values() for volume in group["volumes"]):
        tags = volume["tags"]
        if "ceph.osd_fsid" in tags and tags.get("ceph.osd_id", "").isdecimal():
            role = {"block": "data"}.get(tags.get("ceph.type", ""), tags.get("ceph.type", "data"))
            parts.setdefault(tags["ceph.osd_fsid"], {})[role] = volume
    for fsid, volumes in parts.items():
        tags = next(iter(volumes.values()))["tags"]
        devices = {role: volume["path"] for role, volume in sorted(volumes.items())}
        crypt = tags.get("ceph.encrypted") == "1"
        store = "filestore" if "journal" in devices else "bluestore"
        yield _osd(int(tags["ceph.osd_id"]), fsid, tags.get("ceph.cluster_fsid"), "lvm", store, crypt, devices)


def _scanned() -> Iterator[dict]:
    """Those that ``ceph-volume simple scan`` wrote down; the key that stands there too is not read."""
    for path in sorted(ETC.glob("osd/*.json")):
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            devices = {role: _scanned_device(told[link]) for role, link in LINKS.items() if link in told}
            devices = devices if "data" in devices else {**devices, "data": _scanned_device(told["data"])}
            crypt = bool(told.get("encrypted"))
            # OSDs from before Luminous have no type: as ``ceph-volume simple activate`` takes them.
            store = told.get("type") or ("filestore" if "journal" in told else "bluestore")
            yield _osd(int(told["whoami"]), told["fsid"], told["ceph_fsid"], "simple", store, crypt, devices)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # half written, or no such file: its folder tells


def _scanned_device(part: Mapping[str, str]) -> str:
    """Where a part lies now: it was scanned under a name of the kernel's, which a restart may give to another one."""
    slot = BY_PARTUUID / part["uuid"] if part.get("uuid") else None
    return str(slot.resolve()) if slot and slot.exists() else part["path"]


def _folders() -> Iterator[dict]:
    """Those whose folder tells: made by hand, by ``ceph-volume raw`` or by ceph-disk."""
    for folder in sorted(LIB.glob("osd/*-*")):
        number = folder.name.rpartition("-")[2]
        fsid, cluster = _line(folder / "fsid"), _line(folder / "ceph_fsid")
        if number.isdecimal() and UUID.fullmatch(fsid):
            links = {role: folder / link for role, link in LINKS.items()}
            devices = {role: _opened(str(link.resolve())) for role, link in links.items() if link.is_symlink()}
            if "data" not in devices and (mounted := _mounted(folder)):
                devices["data"] = _opened(mounted)
            block = BLOCKS / Path(devices.get("data", "")).name if devices.get("data") else None
            form = "partitions" if block and (block / "partition").exists() else "raw"
            store = _line(folder / "type") or ("bluestore" if "data" in devices else "filestore")
            yield _osd(int(number), fsid, cluster or None, form, store, False, devices)


def _mounted(folder: Path) -> str | None:
    """The device that is mounted on a folder: of an OSD of FileStore's its data; None of a folder of the system's."""
    try:
        number = folder.stat().st_dev
    except OSError:
        return None  # its disk dies
    node = NUMBERS / f"{os.major(number)}:{os.minor(number)}"
    return f"/dev/{node.resolve().name}" if folder.is_mount() and node.exists() else None


def _opened(device: str) -> str:
    """What an encrypted device that is open lies on; any other is itself."""
    block = BLOCKS / Path(device).name
    below = [path.name for path in (block / "slaves").glob("*")]
    return f"/dev/{below[0]}" if len(below) == 1 and _line(block / "dm/uuid").startswith("CRYPT-") else device


def _osd(
    osd_id: int, fsid: str, cluster: str | None, form: str, store: str, crypt: bool, devices: Mapping[str, str]
) -> dict:
    told = {"id": osd_id, "fsid": fsid, "cluster": cluster, "form": form, "format": store, "encrypted": crypt}
    lies = {role: path for role, path in devices.items() if str(path).startswith("/dev/")}  # a journal may be a file
    return {**told, "devices": lies}


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
