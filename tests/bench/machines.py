"""Inventories of any size for benchmarks: hosts of hard disks with one SSD for every five, as recorded JSON."""

from proposals.reference import machines

HDD = {"rotational": True, "transport": "sata", "vendor": "ATA", "model": "ST6000NM0115-1YZ", "size": 6001175126016}
SSD = {"rotational": False, "transport": "sata", "vendor": "ATA", "model": "MK000800GWEZH", "size": 800166076416}
ARGUMENTS = {"ratio": 9, "data": "5000-7000", "db": "740-770", "wal": "740-770", "db-size": "40g", "wal-size": "5g"}


def inventory(hosts: int, disks: int) -> dict:
    """So many hosts with so many disks each."""
    ssds = max(1, disks // 9)
    groups = [{**HDD, "count": disks - ssds}, {**SSD, "count": ssds}]
    return machines.expand({f"host{number:05}": {"disks": groups, "memory": 256 << 30} for number in range(hosts)})
