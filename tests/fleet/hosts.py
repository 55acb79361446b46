"""What simulated hosts answer: the reference Apollo nodes' disks and a card's ports, in the form of recorded answers.

Nothing here knows Salt's wire; who answers, when and how falsely is the fleet's (``fleet.py``).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proposals.reference import machines

MASTER, MONITORS = "salt", ("mon1", "mon2", "mon3")
NETWORK = "10.32.0.0/16"
# All of the fleet: its master, its monitors, and every host as the default proposal has it.
POLICY = """\
cluster-ceph/cluster/*.sls
role-master/cluster/salt.sls
role-admin/cluster/salt.sls
role-mon/cluster/mon*.sls
role-mgr/cluster/mon*.sls
profile-default/cluster/*.sls
profile-default/stack/default/ceph/minions/*.yml
config/stack/default/global.yml
config/stack/default/ceph/cluster.yml
"""
CATALOGUE = machines.inventory("apollo")["hosts"]
VERSION = "16.2.15+ds-0+deb12u1"
GIB = 1 << 30
# As Salt words it, of a job of several functions, where a minion lacks one.
MISSING = (
    "Traceback (most recent call last):\n  File \"minion.py\", line 1, in x\nTypeError: 'str' object is not callable"
)
WHOLE = {"result": True, "changes": {}, "comment": "as it should be", "duration": 1.0, "__run_num__": 0}


def names(count: int) -> list[str]:
    """The ids of a fleet: the master's own minion, three monitors, storage hosts."""
    return [MASTER, *MONITORS, *(f"osd{number:04}" for number in range(1, count - len(MONITORS)))]


class Host:
    """One host. ``place`` is its number, by which its address and its disks' serials are told from the others'."""

    def __init__(self, name: str, place: int, grains: Mapping[str, Any]) -> None:
        self.name, self.place = name, place
        self.address = f"10.32.{place // 250}.{place % 250 + 1}"
        like = CATALOGUE["osdnode1" if name.startswith("osd") else "monnode1"]
        self.memory = like["memory"]
        self.disks = [self._own(disk) for disk in like["ceph_disks"]]
        ports = like["ceph_nics"]
        self.nics = [{**port, "addresses": [f"{self.address}/16"] if port["addresses"] else []} for port in ports]
        own = {"id": name, "host": name, "nodename": name, "fqdn": name, "mem_total": self.memory >> 20}
        self.grains = {**grains, **own, "boot_id": f"boot-{place}", "ceph_disks": self.disks, "ceph_nics": self.nics}
        self.pillar: Mapping[str, Any] = {}
        self.functions: dict[str, Callable[..., Any]] = {
            "test.ping": lambda: True,
            "saltutil.running": list,
            "mon.exists": lambda: False,
            "saltutil.refresh_pillar": lambda *_: True,
            "disks.inspect": lambda: {"ceph_disks_format": 1, "ceph_disks": self.disks, "inspected": {}},
            "host_nics.inspect": lambda: self.nics,
            "host_ceph.inspect": lambda: {"conf": {}, "monitors": {}, "admin": False},
            "host_keys.inspect": lambda *_: {},
            "grains.item": lambda *keys: {key: self.grains.get(key) for key in keys},
            "host.facts": self._facts,
            "host.since": lambda: 0.0,
            "host_hardware.facts": self._hardware,
            "host_parts.digest": lambda *_: "",  # it lacks what is synced, each time
            "host_states.differing": lambda *_: [],
            "state.sls": self._states,
            "state.apply": self._states,
        }

    def answer(self, function: str, arguments: Sequence[Any]) -> Any:
        """What it returns for a function; KeyError where it has none of that name."""
        return self.functions[function](*arguments)

    def _own(self, disk: Mapping[str, Any]) -> dict[str, Any]:
        told = {key: f"{disk[key]}{self.place:04x}" for key in ("id", "wwn", "serial")}
        return {**disk, **told}

    def _facts(self, reference: float, network: str = "", *_: Any) -> dict[str, Any]:
        """``host.facts`` of a host with nothing wrong: own clock, own name, an MTU for all ports."""
        place = {"expected": self.address, "addresses": [self.address], "back": self.name}
        mine = {self.name: {**place, "back_addresses": [self.address]}}
        port = {"mtu": 1500, "up": True, "addresses": [self.address]}
        return {
            "format": 1,
            "hostname": self.name,
            "nodename": self.name,
            "salt": self.grains["saltversion"],
            "ceph": dict.fromkeys(("ceph-common", "ceph-mon", "ceph-mgr", "ceph-osd"), VERSION),
            "generation": self.pillar.get("ceph", {}).get("generation"),
            "synchronised": True,
            "machine_id": f"{self.place:032x}",
            "serial": f"SN{self.place}",
            "memory": self.memory,
            "interfaces": {self.nics[0]["name"]: port},
            "names": mine if network else {},
            "space": {"path": "/var/lib", "free": 200 * GIB, "total": 400 * GIB},
            "blocked": [],
            "listening": [],
            "monitor": False,
            "monitor_at": [],
            "monitor_quorum": False,
            "osds": False,
            "clock": [time.time() - reference] * 2,
        }

    def _hardware(self) -> dict[str, Any]:
        told = {"format": 1, "boot": "uefi", "threads": 64, "governors": ["performance"], "bonds": {}}
        return {**told, **{key: [] for key in ("memory_errors", "firmware", "raid", "neighbours", "failed")}}

    def _states(self, sls: str | Sequence[str], *_: Any, **__: Any) -> dict[str, Any]:
        """Of each SLS one state that changed nothing."""
        listed = sls.split(",") if isinstance(sls, str) else sls
        return {
            f"test_|-{name}_|-{name}_|-nop": {**WHOLE, "__id__": name, "name": name, "__sls__": name, "__run_num__": at}
            for at, name in enumerate(listed)
        }
