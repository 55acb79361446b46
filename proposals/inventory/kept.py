"""The inventory that discovery keeps, or one of a single file: read, with the cluster that the site knows."""

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from proposals.files import atomic
from proposals.files.documents import parse_json, parse_objects, parse_yaml
from proposals.files.tree import read_yaml
from proposals.inventory import sources
from proposals.text import names
from proposals.text.errors import InventoryError, StoreError

FORMS = "a file, YAML or JSON, the folder inventory/, or reference:NAME"
LSBLK = ": lsblk 2.38 prints no JSON without -b, run lsblk -J -b -O"  # github.com/util-linux/util-linux, issue 1636
BROKEN: Any = "broken"
UNNAMED = "host"  # a host that is told by a tool which names none, in a file whose name is no minion's


def load_inventory(path: str | Path) -> dict:
    """The inventory of a YAML or JSON file, or of a folder of ``ID.json``: what discovery writes, or another tool.

    Raises InventoryError."""
    text = ""
    try:
        if Path(path).is_dir():
            return _inventory_folder(Path(path))
        text = atomic.read_text(path)
        inventory = parse_objects(text, path) if _is_json(text) else parse_yaml(text, str(path), text_keys=True)
    except StoreError as error:
        hint = LSBLK if '"blockdevices"' in text else ""
        raise InventoryError(f"{error}{hint}" if os.path.lexists(path) else _absent(path)) from error
    told = sources.inventory(inventory, _named(Path(path)))
    if told is None and (not isinstance(inventory, dict) or "hosts" not in inventory):
        raise InventoryError(
            f"{path} is not an inventory: a mapping with 'hosts' was expected, or what one of these prints: "
            f"{sources.FORMS}"
        )
    return told or inventory


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _named(path: Path) -> str:
    return path.stem if names.is_minion_id(path.stem) else UNNAMED


def _absent(path: str | Path) -> str:
    return f"there is no {names.shown(path, 200)}: {FORMS} was expected"


def _inventory_folder(folder: Path) -> dict:
    hosts = {file.stem: parse_json(atomic.read_text(file), file) for file in sorted(folder.glob("*.json"))}
    if not hosts:
        raise InventoryError(f"{folder} holds no ID.json: has discovery run (salt-run state.orch ceph.stage.1)?")
    inventory: dict = {"hosts": hosts}
    if told := {name: found for name, value in hosts.items() if (found := sources.host(value, name))}:
        hosts |= {name: found for name, (found, _) in told.items()}
        inventory["notes"] = sorted({note for _, note in told.values()})
    cluster = folder.parent / "proposals/config/stack/default/ceph/cluster.yml"
    known = read_yaml(cluster) if cluster.exists() else None
    if isinstance(known, dict):
        inventory["networks"] = {key: value for key, value in known.items() if str(key).endswith("_network")}
        inventory |= {"cluster": known["fsid"]} if known.get("fsid") else {}
    return inventory


def stored(folder: Path, minions: Iterable[str], seen: Collection[str]) -> dict[str, dict]:
    """What discovery stored of some minions, as far as there is anything.

    Of one that was ``seen`` again, a file that is broken says nothing: it is written anew. Raises InventoryError for
    another one's."""
    hosts = {}
    for minion in minions:
        path, host = folder / f"{minion}.json", BROKEN
        with suppress(StoreError):
            host = parse_json(atomic.read_text(path), path) if path.exists() else None
        if was_seen(host, storage=True) and {"ceph_disks", "addresses"} <= host.keys():
            hosts[minion] = host
        elif host is not None and minion not in seen:
            raise InventoryError(
                f"{path} is not what discovery stores, and {minion} cannot be looked at again: start its minion "
                "(salt-run manage.status), or move that file away; then run this again"
            )
    return hosts


def was_seen(host: Any, storage: bool) -> bool:
    """Whether discovery stored this of a host; lsblk's answer, say, plans disks, and tells no host's name."""
    if not isinstance(host, Mapping) or not isinstance(host.get("hostname"), str):
        return False
    disks, addresses = host.get("ceph_disks", []), host.get("addresses", [])
    if not isinstance(disks, list) or not isinstance(addresses, list):
        return False
    parts = {"in_use", "osds"}
    return not storage or all(isinstance(disk, Mapping) and parts <= disk.keys() for disk in disks)


def looked(folder: str | Path) -> dict[str, float]:
    """When discovery last looked at each minion of the inventory: ``{minion: seconds since 1970}``."""
    return {file.stem: file.stat().st_mtime for file in Path(folder).glob("*.json")}
