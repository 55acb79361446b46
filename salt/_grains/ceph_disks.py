"""Every disk of this host, as sysfs and udev's database show it.

The grain reads no disk and starts no process: a dying disk must not block a minion's start. What needs
reading (labels, signatures) is ``disks.inspect``. The form is the planner's input, ``ceph_disks_format`` 1.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

FORMAT = 1
# Where the kernel and udev tell; tests point these at a machine on file.
BLOCK, DEV, UDEV, PROC = Path("/sys/block"), Path("/dev"), Path("/run/udev/data"), Path("/proc")
CONFIG = Path("/sys/kernel/config")
# What the kernel exports to other hosts: nvmet, and LIO's files, open a device beside everybody else and lock nothing.
EXPORTS = ("nvmet/subsystems/*/namespaces/*/device_path", "target/core/*/*/udev_path")
SECTOR = 512  # /sys/class/block/*/size counts these, whatever the disk's own sector is (block/genhd.c)
# Not disks that could carry data: memory, firmware's flash, optical, network and stacked devices.
SKIP = ("ram", "zram", "sr", "fd", "dm-", "md", "mtd", "nbd", "rbd", "drbd", "zd")
TRANSPORTS = {"ata": "sata", "scsi": "sas", "nvme": "nvme", "usb": "usb", "virtio": "virtio"}
CONTENT = re.compile(r"/by-id/(lvm|md|dm)-")  # names of content: udev rules 69-dm-lvm, 63-md-raid-arrays, 55-dm
NAMESPACE = re.compile(r"(nvme\d+n)\d+")  # of an NVMe controller
NOBODY = re.compile(r"/wwn-0x0+$")  # of every disk that has no WWN and tells zeros


def ceph_disks() -> dict:
    """Return ``{ceph_disks_format: 1, ceph_disks: [...]}``; one odd disk never hides the others."""
    mounts, swaps, exports = _mounts(), _swaps(), _exports()
    disks = []
    for block in sorted(BLOCK.glob("*")):
        if block.name.startswith(SKIP):
            continue
        try:
            disk = _disk(block, mounts, swaps, exports)
        except (OSError, ValueError) as err:
            disk = {"device": f"/dev/{block.name}", "in_use": ["does not answer"], "error": str(err)}
        if disk:
            disks.append(disk)
    return {"ceph_disks_format": FORMAT, "ceph_disks": disks}


def _disk(
    block: Path, mounts: Mapping[str, list[str]], swaps: Collection[str], exports: Collection[str]
) -> dict | None:
    """Describe one whole disk; ``None`` where it is not this host's or has no medium."""
    node = DEV / block.name.replace("!", "/")
    if not node.exists():  # seen in sysfs, but not given to this host (containers share sysfs)
        return None
    size = int(_text(block / "size") or 0) * SECTOR
    if size == 0 and block.name.startswith("loop"):  # a loop device without a file
        return None
    udev, links = _udev(block)
    device = f"/dev/{node.relative_to(DEV)}"
    transport = _transport(block, udev)
    disk = {
        "device": device,
        "id": _stable_name(set(links) - _elsewhere(block)) or device,
        "size": size,
        "rotational": _text(block / "queue/rotational") == "1",
        "transport": transport,
        "in_use": _in_use(block, mounts, swaps, exports) + ["loop device"] * (transport == "loop"),
        "osds": [],
    }
    for key, value in (
        ("vendor", udev.get("ID_VENDOR") or _text(block / "device/vendor")),
        ("model", udev.get("ID_MODEL") or _text(block / "device/model")),
        ("serial", udev.get("ID_SERIAL_SHORT") or _text(block / "device/serial")),
        ("wwn", _wwn(udev)),
        ("path", udev.get("ID_PATH")),
        ("enclosure", _enclosure(block)),
    ):
        if value:
            disk[key] = value
    return disk


def _text(path: Path) -> str:
    """The stripped text of a small file, empty where it is absent or cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _enclosure(block: Path) -> str:
    """The identity of the shelf or backplane that a disk sits in, as its SES processor tells the kernel.

    Documented in the kernel's drivers/misc/enclosure.c: a link from the disk to its slot, below the enclosure's own.
    """
    slots = sorted((block / "device").glob("enclosure_device:*"))
    return next((found for slot in slots if (found := _text(slot.resolve().parent / "id"))), "")


def _udev(block: Path) -> tuple[dict[str, str], list[str]]:
    """udev's properties and links of a block device, from its database (/run/udev/data/bMAJOR:MINOR)."""
    properties, links = {}, []
    for line in _text(UDEV / f"b{_text(block / 'dev')}").splitlines():
        if line.startswith("E:") and "=" in line:
            key, value = line[2:].split("=", 1)
            properties[key] = value.strip()
        elif line.startswith("S:"):
            links.append(f"/dev/{line[2:]}")
    return properties, links


def _elsewhere(block: Path) -> set[str]:
    """The links that namespaces before this one have, too: the drive's name without a namespace's number, which udev
    gives to each of them (github.com/systemd/systemd, issue 31448)."""
    found = NAMESPACE.fullmatch(block.name)
    before = [other for other in BLOCK.glob(f"{found[1]}*") if other.name < block.name] if found else []
    return {link for other in before for link in _udev(other)[1]}


def _wwn(udev: Mapping[str, str]) -> str:
    """The WWN that is the disk's alone, empty where it has none.

    Of a long one ``ID_WWN`` is the first half, which the logical disks of a RAID controller share (udev's scsi_id).
    Disks that have none may tell zeros (github.com/harvester/harvester, issue 6604)."""
    told = udev.get("ID_WWN_WITH_EXTENSION") or udev.get("ID_WWN", "")
    return told if told.strip("0x") else ""


def _stable_name(links: Collection[str]) -> str | None:
    """The by-id name to keep: the WWN's where there is one, else the first by kind and name.

    Only names of the hardware: those of what lies on a disk (lvm-pv-uuid-…) come and go with that.
    """
    found = (link for link in links if link.startswith("/dev/disk/by-id/"))
    names = sorted(link for link in found if not CONTENT.search(link) and not NOBODY.search(link))
    order = ("wwn-", "nvme-eui.", "nvme-", "ata-", "scsi-", "virtio-", "usb-")
    for prefix in order:
        for name in names:
            if Path(name).name.startswith(prefix):
                return name
    return names[0] if names else None


def _transport(block: Path, udev: Mapping[str, str]) -> str:
    """sata, sas, nvme, virtio, usb, loop or unknown: udev's ID_BUS, else the subsystem."""
    if udev.get("ID_BUS") in TRANSPORTS:
        return TRANSPORTS[udev["ID_BUS"]]
    for prefix, transport in (("nvme", "nvme"), ("vd", "virtio"), ("loop", "loop")):
        if block.name.startswith(prefix):
            return transport
    return "unknown"


def _in_use(
    block: Path, mounts: Mapping[str, list[str]], swaps: Collection[str], exports: Collection[str]
) -> list[str]:
    """The reasons, of the list in docs/reference/inventory.md, why this disk is not free."""
    reasons = []
    partitions = sorted(path.parent for path in block.glob("*/partition"))
    for part in [block, *partitions]:
        device = _text(part / "dev")
        reasons += [f"mounted on {point}" for point in mounts.get(device, [])]
        if device in swaps:
            reasons.append("swap")
        if part.name in exports:
            reasons.append("exported")
        reasons += [_holder(holder) for holder in sorted(part.glob("holders/*"))]
    if partitions:
        reasons.append("has partitions")
    if block.name.startswith("bcache"):  # its backing disks may be planned by themselves, and have the serial numbers
        reasons.append("stacked device")
    if _text(block / "removable") == "1":
        reasons.append("removable")
    if _text(block / "ro") == "1":
        reasons.append("read-only")
    if _text(block / "queue/zoned") == "host-managed":  # takes no partition (block/partitions/core.c), nor LVM's label
        reasons.append("host-managed zones")
    return list(dict.fromkeys(reasons))


def _device_number(name: str) -> str:
    """``major:minor`` of a disk or partition by its kernel name."""
    paths = [BLOCK / name, *BLOCK.glob(f"*/{name}")]
    return next((_text(path / "dev") for path in paths if path.exists()), "")


def _holder(holder: Path) -> str:
    """Name what stands on a disk: an LVM volume, a RAID, a multipath device or something else."""
    uuid, name = _text(holder / "dm/uuid"), _text(holder / "dm/name")
    if uuid.startswith("LVM-"):
        return f"LVM member of {name.replace('--', chr(0)).split('-')[0].replace(chr(0), '-')}"
    if uuid.startswith("mpath-"):
        return f"multipath path of {name}"
    if holder.name.startswith("md"):
        return f"RAID member of {holder.name}"
    return f"held by {name or holder.name}"


def _mounts() -> dict[str, list[str]]:
    """``{major:minor: [mount point, ...]}`` of this host (proc(5), mountinfo)."""
    mounts: dict[str, list[str]] = {}
    for line in _text(PROC / "self/mountinfo").splitlines():
        fields = line.split(" ")
        if len(fields) > 4:
            point = fields[4].replace("\\040", " ")
            if point not in mounts.setdefault(fields[2], []):
                mounts[fields[2]].append(point)
    return mounts


def _exports() -> set[str]:
    """The kernel's names of the disks and partitions that it exports to other hosts."""
    told = [_text(path) for pattern in EXPORTS for path in CONFIG.glob(pattern)]
    return {Path(device).resolve().name for device in told if device}


def _swaps() -> set[str]:
    """``{major:minor}`` of the swap devices."""
    swaps = set()
    for line in _text(PROC / "swaps").splitlines()[1:]:
        name = Path(line.split()[0]).name
        swaps.add(_device_number(name))
    return swaps - {""}
