"""Random hosts and random arguments, many of them with all three classes of disks."""

from random import Random

from planning import FSID

from proposals.disks import arguments
from proposals.reference import machines

SIZES = {
    "hdd": [1000204886016, 4000787030016, 6001175126016, 12000138625024, 16000900661248],
    "ssd": [120034123776, 240057409536, 400088457216, 800166076416, 1600321314816, 1920383410176],
    "nvme": [16013942784, 120034123776, 375083606016, 1600321314816, 3840755982336],
}
IN_USE = ["mounted on /", "does not answer", "LVM member of vg", "reserved: spare", "has partitions"]


def group(random: Random, cls: str | None = None, most: int = 9) -> dict:
    """Some equal disks of one class."""
    cls = cls or random.choice(["hdd", "hdd", "ssd", "nvme"])
    disks = {
        "size": random.choice(SIZES[cls]) + random.choice([0, 0, 0, 2502656]),
        "rotational": cls == "hdd",
        "transport": "nvme" if cls == "nvme" else random.choice(["sata", "sas"]),
        "model": random.choice("AB"),
        "count": random.randint(1, most),
    }
    if random.random() < 0.07:
        disks["in_use"] = [random.choice(IN_USE)]
    return disks


def host(random: Random) -> dict:
    """A host; two of three have disks of all classes."""
    classes = ["hdd", "ssd", "nvme"] if random.random() < 0.66 else random.choices(["hdd", "ssd", "nvme"], k=2)
    groups = [group(random, cls, 12 if cls == "hdd" else 5) for cls in classes]
    if random.random() < 0.3:
        groups.append(group(random))
    return {"disks": groups, "memory": random.choice([16, 64, 256]) << 30}


def inventory(random: Random, most: int = 2) -> dict:
    """One or more hosts; some share their disks' kinds."""
    hosts = [host(random)]
    for _ in range(random.randint(1, most) - 1):
        hosts.append(hosts[0] if random.random() < 0.3 else host(random))
    return machines.expand({f"osd{number}": each for number, each in enumerate(hosts, 1)})


def words(random: Random) -> dict[str, object]:
    """Arguments as an admin types them; a fifth of the cases have none."""
    if random.random() < 0.2:
        return {}
    may = {
        "ratio": lambda: random.randint(1, 14),
        "db-ratio": lambda: random.randint(1, 6),
        "db-size": lambda: random.choice(["1g", "10g", "40g", "62g", "100g", "250g", "40GB"]),
        "wal-size": lambda: random.choice(["1g", "2g", "5g", "20g"]),
        "data": lambda: random.choice(["500-", "3000-20000", "class=hdd", "class=ssd", "model=a", "rotational=true"]),
        "db": lambda: random.choice(["100-800", "200-2000", "class=ssd", "class=nvme", "model=b", "rotational=false"]),
        "wal": lambda: random.choice(["class=nvme", "class=ssd", "10-400", "100-800"]),
        "exclude": lambda: random.choice(["model=b", "300-400", "class=nvme"]),
        "leftovers": lambda: True,
        "limit-data": lambda: random.randint(1, 12),
        "osds-per-device": lambda: random.randint(2, 4),
        random.choice(arguments.LAYOUTS): lambda: True,
        "format": lambda: "filestore",
        "encryption": lambda: "dmcrypt",
    }
    return {name: may[name]() for name in random.sample(list(may), random.choice([1, 1, 1, 2, 2, 3, 4]))}


def deployed(raw: dict, answer: dict) -> dict:
    """``raw`` as discovery sees it once the OSDs of ``answer`` are made."""
    return machines.deployed(raw, answer, FSID)
