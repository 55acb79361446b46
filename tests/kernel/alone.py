"""A guest of a real kernel that is a whole cluster by the product's own states: no master, Salt serves itself.

The guest tells itself what configure would tell a minion that is monitor, admin and storage host.
"""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from lab.containers import Done
from lab.guest import guests
from lab.guest.guests import Guest
from lab.store import CHECKOUT
from proposals.pillar import conf, secrets
from proposals.settings import reader

FSID = "5bd9f8f0-5f5e-4a0e-9a5e-0000000000a1"
ADDRESS, NETWORK = "10.77.7.1", "10.77.7.0/24"  # on a dummy port: daemons of one guest need no cable
FILES = {
    "/etc/systemd/network/10-own.netdev": "[NetDev]\nName=own\nKind=dummy\n",
    "/etc/systemd/network/10-own.network": f"[Match]\nName=own\n[Network]\nAddress={ADDRESS}/24\n",
    "/etc/hosts": f"127.0.0.1 localhost\n{ADDRESS} osds\n",
    "/etc/hostname": "osds\n",
}
MINION = {
    "id": "osds",
    "file_client": "local",
    "file_roots": {"base": ["/host/site", "/host/salt"]},
    "pillar_roots": {"base": ["/host/told", "/host/pillar"]},
    "log_file": "/var/log/salt-call",
}
TOP = {"base": {"*": ["ceph.minions", "ceph.defaults", "ceph.health", "ceph.os.debian", "told"]}}
# Sparse disks of a terabyte: no check after mkfs, as in the lab.
OWN = "bluestore_fsck_on_mkfs = false\nosd_memory_target = 939524096\n"
POOLS = "osd_pool_default_size = 1\nmon_warn_on_pool_no_redundancy = false\n"


class Cluster:
    """A guest with one monitor, told which OSDs to make on its disks."""

    def __init__(self, guest: Guest) -> None:
        self.guest, self.share = guest, guest.folder / "share"

    def begin(self) -> None:
        """Copy the product in, give the guest its name and port, make its monitor."""
        for folder in ("salt", "pillar"):
            shutil.rmtree(self.share / folder, ignore_errors=True)
            shutil.copytree(CHECKOUT / folder, self.share / folder)
        self._write("minion", MINION)
        self._write("told/top.sls", TOP)
        for section, text in (("osd", OWN), ("global", POOLS)):
            path = self.share / f"site/ceph/configuration/files/ceph.conf.d/{section}.conf"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for path, text in FILES.items():
            self.run(f"cat >{path} <<'END'\n{text}END")
        self.run(f"hostname osds; networkctl reload; until ip addr | grep -q {ADDRESS}; do sleep 0.2; done")
        self.told: dict[str, Any] = {"osds": {}, "disks": {}}
        self.caps = secrets.entities([], {})
        self.keys = secrets.keys({}, self.caps)
        self.tell()
        self.call("saltutil.sync_all")
        self.apply("ceph.configuration", "ceph.cluster.mon", "ceph.cluster.admin", "ceph.cluster.keys")

    def tell(self, **storage: Any) -> None:
        """Tell the guest its pillar: OSDs and disks as a profile has them are added to those told already."""
        for key, value in storage.items():
            self.told[key] = {**self.told[key], **value} if isinstance(value, Mapping) else value
        inventory = {"osds": {"hostname": "osds", "addresses": [f"{ADDRESS}/24"]}}
        derived, _ = conf.derived(["osds"], inventory, reader.read({"public_network": NETWORK}))
        pillar = {
            "fsid": FSID,
            "public_network": NETWORK,
            "cluster_network": NETWORK,
            "roles": ["mon", "admin", "master", "storage"],
            "ceph": {**derived, "sections": [], "storage": self.told},
            "ceph_secrets": secrets.minion(self.keys, self.caps, ["mon", "admin", "master", "storage"], "osds"),
        }
        self._write("told/told.sls", pillar)

    def plug(self, size: int) -> str:
        """Plug a disk of so many bytes in; its name."""
        return guests.add_disk(self.guest, size)

    def disk(self, name: str) -> dict[str, dict]:
        """What a proposal records of a disk."""
        size = int(self.run(f"cat /sys/block/{name}/size").out) * 512
        return {f"/dev/{name}": {"size": size, "serial": None}}

    def apply(self, *sls: str, test: bool = False) -> dict[str, dict]:
        """Apply states; each one's answer. All must be well."""
        states = self.call("state.apply", ",".join(sls), *(["test=True"] if test else []))
        wrong = {name: state["comment"] for name, state in states.items() if state["result"] is False}
        assert not wrong, json.dumps(wrong, indent=1)
        return states

    def call(self, function: str, *words: str) -> Any:
        """One of the guest's functions, through Salt's loader there."""
        command = ["salt-call", "--config-dir=/host", "--out=json", "--log-level=error", function, *words]
        return json.loads(self.run(command, check=False).out)["local"]

    def ceph(self, words: str) -> Any:
        return json.loads(self.run(f"ceph --connect-timeout 60 --format json {words}").out)

    def run(self, command: str | list[str], check: bool = True, limit: float = 900) -> Done:
        return self.guest.run(command, check=check, limit=limit)

    def restart(self) -> None:
        """Power the guest off and on again; daemons start by themselves."""
        guests.power_off(self.guest)
        guests.boot(self.guest, None)
        self.guest = guests.find(self.guest.name)

    def _write(self, path: str, content: Mapping) -> None:
        target = self.share / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(yaml.safe_dump(content))


def until(what: Callable[[], bool], limit: float, why: str) -> None:
    """Wait until something is so, at most `limit` seconds."""
    end = time.monotonic() + limit
    while not what():
        assert time.monotonic() < end, f"after {limit:.0f} s: {why}"
        time.sleep(1)
