"""The reference deployments as inventories: one description that tests, lab, docs and benchmark share.

``python -m proposals reference apollo > apollo.yaml`` writes one; ``reference:apollo`` stands for it wherever
an inventory is read. Figures are the vendors' published ones; what nobody published is said to be ours."""

from collections.abc import Iterable, Mapping, Sequence

from proposals.reference import ports as networking
from proposals.text.errors import InventoryError
from proposals.text.names import nearest, shown

GIB = 1 << 30
TB1, TB3, TB4, TB6, TB8 = 1000204886016, 3000592982016, 4000787030016, 6001175126016, 8001563222016
GB120, GB200, GB240, GB480, GB800 = 120034123776, 200049647616, 240057409536, 480103981056, 800166076416
TB1_6 = 1600321314816

HDD = {"rotational": True, "transport": "sata", "vendor": "ATA"}
SSD = {"rotational": False, "transport": "sata", "vendor": "ATA"}
NVME = {"rotational": False, "transport": "nvme"}
BOOT = {"in_use": ["mounted on /boot/efi", "has partitions"]}
# a RAID controller shows every disk as a volume of its own
RAID0 = {"vendor": "HPE", "model": "LOGICAL VOLUME", "transport": "sas"}


def _host(memory: int, *disks: Mapping) -> dict:
    return {"memory": memory * GIB, "disks": list(disks)}


def _numbered(stem: str, count: int, host: Mapping, width: int = 1) -> dict[str, Mapping]:
    return {f"{stem}{number:0{width}}": host for number in range(1, count + 1)}


def _apollo() -> dict[str, Mapping]:
    small = _host(32, {**SSD, **BOOT, "count": 2, "size": GB240, "model": "VK000240GWEZB"})
    osd = _host(
        256,
        {**HDD, **RAID0, "count": 54, "size": TB6},
        {**SSD, **RAID0, "count": 6, "size": GB800},
        {**SSD, **RAID0, **BOOT, "count": 2, "size": TB1},
    )
    return {"saltmaster": small, **_numbered("monnode", 3, small), **_numbered("osdnode", 4, osd)}


def _mellanox(stem: str, count: int, width: int = 1) -> dict[str, Mapping]:
    node = _host(
        64,
        {**HDD, "transport": "sas", "vendor": "SEAGATE", "model": "ST3000NM0023", "count": 24, "size": TB3},
        {**SSD, "model": "INTEL SSDSC2BB480G4", "count": 6, "size": GB480},
        {**SSD, **BOOT, "model": "INTEL SSDSC2BB120G4", "count": 2, "size": GB120},
    )
    return _numbered(stem, count, node, width)


def _mellanox_test() -> dict[str, Mapping]:
    """Five OSDs a node are published, their disks are not: those of the 500 TB rack, without SSDs."""
    data = {**HDD, "transport": "sas", "vendor": "SEAGATE", "model": "ST3000NM0023", "count": 5, "size": TB3}
    node = _host(64, data, {**SSD, **BOOT, "count": 1, "size": GB120, "model": "INTEL SSDSC2BB120G4"})
    return _numbered("indus", 5, node, 3)


def _tigershark() -> dict[str, Mapping]:
    """Its hardware is not published: ten nodes with four NVMe drives of 1.6 TB are ours."""
    boot = {**SSD, **BOOT, "count": 1, "size": GB240, "model": "SSDSC2KG240G8"}
    return _numbered(
        "tigershark", 10, _host(192, {**NVME, "model": "SSDPE2KE016T8", "count": 4, "size": TB1_6}, boot), 2
    )


def _infiniflash(chassis: int, nodes: int, cards: int) -> dict[str, Mapping]:
    """So many chassis, OSD nodes and 8 TB cards a chassis; every node sees its own cards alone. Identities are ours."""
    card = {**SSD, "transport": "sas", "vendor": "SanDisk", "model": "IF100", "count": cards // nodes, "size": TB8}
    boot = {**SSD, **BOOT, "count": 1, "size": GB240, "model": "SSDSC2BB240G6"}
    return {
        f"ifnode{number + 1:02}": _host(128, {**card, "enclosure": f"0x500117310000{number // nodes + 1:02}00"}, boot)
        for number in range(chassis * nodes)
    }


def _moc() -> dict[str, Mapping]:
    """Ten nodes numbered to 11: which number is unused is not published (04 here), nor the SSDs' size (ours)."""
    controllers = {1: "ServeRAID M5110", 2: "ServeRAID M5110", 3: "ServeRAID F5115", 5: "ServeRAID F5115"}
    hosts: dict[str, Mapping] = {}
    for number in (1, 2, 3, 5, 6, 7, 8, 9, 10, 11):
        raid = {"model": controllers[number], "vendor": "LENOVO", "transport": "sas"} if number in controllers else {}
        disks = [{**HDD, "model": "ST4000NM0033", "count": 12, "size": TB4, **raid}]
        if number in (1, 10):
            disks.append({**SSD, "model": "INTEL SSDSC2BA20", "count": 1, "size": GB200})
        boot = {**SSD, **BOOT, "model": "INTEL SSDSC2BB12", "count": 1, "size": GB120}
        hosts[f"ceph-lenovo{number:02}"] = _host(128, *disks, boot)
    return hosts


CATALOGUE = {
    "apollo": _apollo,
    "mellanox-test": _mellanox_test,
    "mellanox-500tb": lambda: _mellanox("rack", 10, 2),
    "mellanox-8.5pb": lambda: _mellanox("node", 120, 3),
    "tigershark": _tigershark,
    "infiniflash-1xa4": lambda: _infiniflash(1, 4, 32),
    "infiniflash-2xa4": lambda: _infiniflash(2, 4, 32),
    "infiniflash-1xa4-full": lambda: _infiniflash(1, 4, 64),
    "infiniflash-1xa8": lambda: _infiniflash(1, 8, 32),
    "infiniflash-2xa8": lambda: _infiniflash(2, 8, 32),
    "infiniflash-1xa8-full": lambda: _infiniflash(1, 8, 64),
    "moc": _moc,
}


def inventory(name: str) -> dict:
    """The inventory of a reference deployment. Raises InventoryError for a name that is none.

    CLI: ``python -m proposals reference apollo``"""
    if name not in CATALOGUE:
        raise InventoryError(f"'{shown(name)}' is not a reference inventory{nearest(name, CATALOGUE)}")
    found = expand(CATALOGUE[name]())
    for place, (host, told) in enumerate(found["hosts"].items(), 1):
        told["ceph_nics"] = networking.ports(name, place, host)
    return found


def expand(hosts: Mapping[str, Mapping]) -> dict:
    """An inventory from short descriptions: host -> memory and groups of ``count`` equal disks.

    Devices, stable names, wwns and serials are made from the host's place and the disk's."""
    return {"hosts": {name: _expanded(place, host) for place, (name, host) in enumerate(hosts.items(), 1)}}


def _expanded(place: int, host: Mapping) -> dict:
    disks: list[dict] = []
    for group in host["disks"]:
        same = {key: value for key, value in group.items() if key != "count"}
        start = len(disks)
        disks += [_disk(place, start + number, same) for number in range(group.get("count", 1))]
    told = {"ceph_disks_format": 1, "ceph_disks": disks}
    return {**told, "memory": host["memory"]} if "memory" in host else told


def _disk(host: int, number: int, group: Mapping) -> dict:
    if group.get("transport") == "nvme":
        name, wwn = f"nvme{number}n1", f"eui.{host:08x}{number:08x}"
        id_ = f"nvme-{wwn}"
    else:
        name, wwn = f"sd{letters(number)}", f"0x5000c500{host:04x}{number:04x}"
        id_ = f"wwn-{wwn}"
    disk = {
        "device": f"/dev/{name}",
        "id": f"/dev/disk/by-id/{id_}",
        "serial": f"S{host:04X}{number:04X}",
        "wwn": wwn,
        "path": f"pci-0000:3b:00.0-{group.get('transport', 'sata')}-{number + 1}",
        "in_use": [],
        "osds": [],
    }
    return {**disk, **group}


def letters(number: int) -> str:
    """Linux's letters of the disk with this number, from 0: a, b ... z, aa, ab."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def deployed(raw: Mapping, answer: Mapping, cluster: str, hosts: Iterable[str] | None = None) -> dict:
    """``raw`` as discovery would see it once the OSDs of ``answer`` (a peek's JSON) have been made."""
    number = 0
    made = {
        name: {**host, "ceph_disks": [dict(disk) for disk in host["ceph_disks"]]} for name, host in raw["hosts"].items()
    }
    for name in answer["hosts"] if hosts is None else hosts:
        by_id = {disk["id"]: disk for disk in made[name]["ceph_disks"]}
        for osd in answer["hosts"][name]["osds"]:
            for role in ("data", "db", "wal"):
                if osd[role] and not osd["existing"]:
                    _lies(by_id[osd[role]], osd, role, number, cluster)
            number += 1
    return {**raw, "cluster": cluster, "hosts": made}


def migrated(raw: Mapping, answer: Mapping, fsids: Iterable[str] | None = None) -> dict:
    """``raw`` as discovery would see it once OSDs of ``answer`` (all, or those named) have moved as it says."""
    chosen = None if fsids is None else set(fsids)
    made = {name: {**host, "ceph_disks": list(host["ceph_disks"])} for name, host in raw["hosts"].items()}
    for name, host in answer["hosts"].items():
        for osd in host["osds"]:
            if osd.get("moves") and (chosen is None or osd["uuid"] in chosen):
                made[name]["ceph_disks"] = [_moved(disk, osd) for disk in made[name]["ceph_disks"]]
    return {**raw, "hosts": made}


def _moved(disk: Mapping, osd: Mapping) -> dict:
    """A disk once the parts of an OSD that move lie where they move to."""
    there: Sequence = disk.get("osds") or ()
    moves = osd["moves"]
    stays = [one for one in there if one["fsid"] != osd["uuid"] or one["role"] not in moves]
    for role, move in moves.items():
        if move["to"] == disk["id"]:
            offset = max((one["offset"] + one["size"] for one in there), default=1 << 20)
            stays.append({"fsid": osd["uuid"], "role": role, "size": move["size"], "offset": offset})
    return {**disk, "osds": stays}


def _lies(disk: dict, osd: Mapping, role: str, number: int, cluster: str) -> None:
    there: Sequence = disk.get("osds") or ()
    size = osd.get(f"{role}_size") or disk["size"]
    offset = sum(one["size"] for one in there) + (1 << 20)
    part = {"id": number, "fsid": osd["uuid"], "role": role, "size": size, "offset": offset, "cluster": cluster}
    disk["osds"] = [*there, {**part, "state": "in-use"}]
