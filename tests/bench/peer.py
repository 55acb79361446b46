"""Ceph's drive_selection and ours over the same disks in one process, reading and printing JSON taken off.

Run by an interpreter that has Ceph's ``python-common`` (Debian's python3-ceph-common): ``HOSTS DISKS``.
Ceph's side is what cephadm does with a host's inventory: devices from their JSON, the drive selection of one
service specification, its translation to ceph-volume's command."""

import json
import sys
import time

from ceph.deployment.drive_group import DriveGroupSpec
from ceph.deployment.drive_selection import DriveSelection
from ceph.deployment.inventory import Devices
from ceph.deployment.translate import to_ceph_volume
from machines import inventory
from measured import planned

SPEC = {
    "service_type": "osd",
    "service_id": "bench",
    "placement": {"host_pattern": "*"},
    "data_devices": {"rotational": 1, "size": "5TB:7TB"},
    "db_devices": {"rotational": 0, "size": "700GB:900GB"},
    "block_db_size": "40G",
}


def ceph_disk(disk: dict) -> dict:
    """A disk as ``ceph-volume inventory`` reports it."""
    size = disk["size"]
    shown = f"{size / 2**40:.2f} TB" if size >= 2**40 else f"{size / 2**30:.2f} GB"
    api = {"rotational": str(int(disk["rotational"])), "size": float(size), "human_readable_size": shown}
    api |= {"model": disk["model"], "vendor": disk["vendor"], "removable": "0", "ro": "0"}
    told = {"path": disk["device"], "sys_api": api, "available": True, "rejected_reasons": [], "lvs": []}
    return {**told, "device_id": f"{disk['model']}_{disk['serial']}", "created": "2024-01-01T00:00:00.000000Z"}


def ceph(text: str) -> tuple[float, int]:
    """CPU seconds of Ceph's way, and how many hosts got a command."""
    hosts = json.loads(text)
    start = time.process_time()
    made = 0
    for disks in hosts.values():
        spec = DriveGroupSpec.from_json(SPEC)
        selection = DriveSelection(spec, Devices.from_json(disks).devices)
        made += bool(to_ceph_volume(selection).run())
    return time.process_time() - start, made


def main() -> None:
    hosts, disks = map(int, sys.argv[1:])
    raw = inventory(hosts, disks)
    theirs = json.dumps({name: list(map(ceph_disk, host["ceph_disks"])) for name, host in raw["hosts"].items()})
    text = json.dumps(raw)
    ours, answer = min((planned(text) for _ in range(5)), key=lambda run: run[0])
    ceph_cpu, made = min(ceph(theirs) for _ in range(3))
    assert made == answer["summary"]["hosts"] == hosts, "both sides must plan every host"
    print(json.dumps({"ours": ours, "ceph": ceph_cpu, "ratio": ceph_cpu / ours}))


if __name__ == "__main__":
    main()
