"""What other tools print, taken as an inventory: a plan can be tried before anything is installed.

The form is told by its keys: ``lsblk -J -b -O``, ``ceph-volume inventory --format json``, ``ceph orch device ls
--format json``, ``salt --out json grains.items`` (and ``cmd.run`` of the first two). What such a source cannot tell is
a note of the plan. Nothing is opened here."""

import json
from collections.abc import Mapping
from typing import Any

from proposals.inventory import ceph_volume, lsblk
from proposals.text import names
from proposals.text.errors import InventoryError

FORMS = (
    "lsblk -J -b -O; ceph-volume inventory --format json; ceph orch device ls --format json; "
    "salt --out json '*' grains.items"
)
LSBLK = (
    "lsblk tells no OSDs, no network ports or their speed, and no memory: a disk that holds anything counts as in use"
)
CEPH_VOLUME = (
    "ceph-volume tells no holders, WWNs or buses, no sizes of DBs, no network ports and no memory: a disk that several "
    "hosts see is not known as one, and disks go by the kernel's names, which may change"
)
CEPHADM = CEPH_VOLUME.replace("ceph-volume tells", "cephadm tells", 1)
GRAINS = "grains read no disk: labels of OSDs and what else lies on disks without partitions are not known"


def inventory(value: Any, name: str) -> dict | None:
    """The inventory that another tool's answer is, with ``notes`` on what it does not tell; None where it is none.

    value
        The answer, parsed.
    name
        What the host is called where the answer names none (lsblk and ceph-volume tell of their own host alone).
    Raises InventoryError where the form is known and something in it is not as it should be."""
    if isinstance(value, list) and value and all(_is_orch_host(one) for one in value):
        return _found({one["name"]: ceph_volume.host(one["devices"], str(one["name"])) for one in value}, {CEPHADM})
    if alone := host(value, name):
        found, note = alone
        return _found({name: found}, {note})
    if isinstance(value, Mapping) and "hosts" not in value:
        return _minions(value)
    return None


def host(value: Any, name: str) -> tuple[dict, str] | None:
    """One host of the inventory and the note on its source, where ``value`` is what a tool says of one host."""
    if isinstance(value, Mapping) and isinstance(value.get("blockdevices"), list):
        return lsblk.host(value["blockdevices"], name), LSBLK
    listed = [value] if isinstance(value, Mapping) else value
    if isinstance(listed, list) and listed and all(map(ceph_volume.is_device, listed)):
        return ceph_volume.host(listed, name), CEPH_VOLUME
    return None


def _found(hosts: dict, notes: set[str]) -> dict:
    return {"hosts": hosts, "notes": sorted(notes)}


def _is_orch_host(one: object) -> bool:
    return isinstance(one, Mapping) and isinstance(one.get("devices"), list) and isinstance(one.get("name"), str)


def _minions(value: Mapping) -> dict | None:
    """Salt's answer: a mapping of minions, each with grains or with the text of a command. Who is silent is noted."""
    hosts: dict[str, dict] = {}
    notes, silent = set(), []
    bare = [str(name) for name, told in value.items() if _is_grains(told) and "ceph_disks" not in told]
    if bare:
        raise InventoryError(
            f"{names.shown(bare[0])}: its grains have no 'ceph_disks', and Salt's own 'disks' tell no sizes: give "
            "salt --out json '*' cmd.run 'lsblk -J -b -O', or put salt/_grains of this project in the master's "
            "file_roots and run saltutil.sync_grains first"
        )
    for name, told in value.items():
        if _is_grains(told):
            hosts[str(name)] = _grains(told)
            notes.add(GRAINS)
        elif alone := host(_parsed(told), str(name)):
            hosts[str(name)], note = alone
            notes.add(note)
        else:
            silent.append(f"{names.shown(name)} is left out, it said: {names.shown(told)}")
    return _found(hosts, {*notes, *silent}) if hosts else None


def _is_grains(told: object) -> bool:
    return isinstance(told, Mapping) and ("ceph_disks" in told or {"os_family", "kernel"} <= set(told))


def _grains(grains: Mapping) -> dict:
    """A host of the inventory from its grains. Salt tells memory in MiB (``mem_total``)."""
    keys = ("ceph_disks", "ceph_disks_format", "ceph_nics")
    memory = grains.get("mem_total")
    known = {"memory": memory << 20} if type(memory) is int and 0 < memory < 1 << 40 else {}
    return {key: grains[key] for key in keys if key in grains} | known


def _parsed(told: object) -> object:
    """The value of the text that ``cmd.run`` answered; anything else as it is."""
    try:
        return json.loads(told) if isinstance(told, str) else told
    except (ValueError, RecursionError):
        return None
