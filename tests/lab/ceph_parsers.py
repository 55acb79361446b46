"""Run on a host with Ceph: what an export says, as cephadm's and ceph-volume's own parsers understand it.

``python3 ceph_parsers.py cephadm|ceph-volume < EXPORT`` prints JSON: of cephadm a list of the commands that its manager
would run for each specification, of ceph-volume one entry a ``lvm prepare`` line."""

import json
import shlex
import sys
from contextlib import ExitStack
from unittest import mock

import yaml


def specifications(text: str) -> list[dict]:
    """Every document by python-common: a checked DriveGroupSpec, its disks chosen, the command that follows."""
    from ceph.deployment.drive_group import DriveGroupSpec
    from ceph.deployment.drive_selection import DriveSelection
    from ceph.deployment.inventory import Device
    from ceph.deployment.service_spec import ServiceSpec
    from ceph.deployment.translate import to_ceph_volume

    found = []
    for document in yaml.safe_load_all(text):
        parts = [document["spec"].get(f"{part}_devices") for part in ("data", "db", "wal")]
        paths = [path for part in parts if part for path in part["paths"]]
        spec = ServiceSpec.from_json(document)  # which changes the document
        assert isinstance(spec, DriveGroupSpec), spec
        spec.validate()
        selection = DriveSelection(spec, [Device(path, available=True) for path in paths])
        told = to_ceph_volume(selection).run()
        told = [told] if isinstance(told, str) else told
        found.append({"hosts": [each.hostname for each in spec.placement.hosts], "commands": told})
    return found


def prepared(text: str) -> list[dict]:
    """Every ``ceph-volume lvm prepare`` by its own parser, which would look at the devices: not here."""
    from ceph_volume.devices.lvm.common import prepare_parser
    from ceph_volume.util import arg_validators

    found = []
    kinds = (arg_validators.ValidDevice, arg_validators.ValidDataDevice)
    with ExitStack() as stack:
        for kind in kinds:
            stack.enter_context(mock.patch.object(kind, "__call__", lambda _, path: path))
        for line in text.splitlines():
            if line.startswith("ceph-volume lvm prepare "):
                words = shlex.split(line)[3:]
                told = prepare_parser("ceph-volume lvm prepare", "").parse_args(words)
                keys = ("data", "block_db", "block_wal", "osd_fsid", "bluestore", "dmcrypt")
                found.append({key: getattr(told, key) for key in keys})
    return found


if __name__ == "__main__":
    parsers = {"cephadm": specifications, "ceph-volume": prepared}
    print(json.dumps(parsers[sys.argv[1]](sys.stdin.read())))
