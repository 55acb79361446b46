"""The speeds that an estimate knows: of what ``benchmark.baseline`` measured, and what was typed for the rest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from proposals.benchmarks.baseline import Speed
from proposals.text.errors import ArgumentError
from proposals.text.names import shown

CLASSES = ("hdd", "ssd", "nvme")
FASTEST = 10**6  # MiB/s or Gb/s: more is a slip


class Redundancy(NamedTuple):
    """Replicas, or coded parts: ``stored`` and ``sent`` bytes for each byte that a client writes, ``fetched`` for each
    that it reads.
    """

    text: str
    stored: float
    sent: float
    fetched: float


@dataclass(frozen=True)
class Rates:
    """What parts do: MiB/s that disks read, by host and id, and an OSD of a class writes; Mb/s of links by network and
    host. ``usual`` has MiB/s by class and Mb/s by network where nothing was measured.
    """

    disks: Mapping[tuple[str, str], float] = field(default_factory=dict)
    osds: Mapping[str, float] = field(default_factory=dict)
    links: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    usual: Mapping[str, float] = field(default_factory=dict)

    def read(self, host: str, disk: str, cls: str) -> float | None:
        """MiB/s by which a disk is read."""
        return self.disks.get((host, disk), self.usual.get(cls))

    def written(self, host: str, disk: str, cls: str) -> float | None:
        """MiB/s by which an OSD on a disk writes; where none of its class was measured, by which the disk is read.

        Ceph's own class of NVMe is ssd (KernelDevice::collect_metadata, src/blk/kernel of Ceph 16)."""
        alike = "ssd" if cls == "nvme" and cls not in self.usual else cls
        return self.osds.get(cls) or self.osds.get(alike) or self.read(host, disk, cls)

    def carries(self, network: str, host: str) -> float | None:
        """Mb/s of a host's link in a network."""
        return self.links.get(network, {}).get(host, self.usual.get(network))


def redundancy(typed: object) -> Redundancy:
    """Return what ``3`` (replicas) or ``4+2`` (parts of data and code) means; ArgumentError for anything else."""
    numbers = str(typed).split("+")
    if all(number.isdecimal() and 1 <= int(number) <= 32 for number in numbers) and len(numbers) <= 2:
        if len(numbers) == 1:
            copies = int(numbers[0])
            return Redundancy(f"{copies} replicas", copies, copies - 1, 0)
        data, code = map(int, numbers)
        return Redundancy(f"EC {data}+{code}", (data + code) / data, (data + code - 1) / data, (data - 1) / data)
    raise ArgumentError(f"redundancy={shown(typed)}: expected replicas such as 3, or parts such as 4+2")


def known(speeds: Iterable[Speed], usual: Mapping[str, float]) -> Rates:
    """Return the rates of what ``benchmark.baseline`` measured; of the OSDs of a class the slowest counts.

    usual
        For what was not measured: MiB/s by class of disk, Mb/s by ``public`` and ``cluster``.
    """
    disks: dict[tuple[str, str], float] = {}
    osds: dict[str, float] = {}
    links: dict[str, dict[str, float]] = {}
    for one in speeds:
        if one.kind.startswith("OSDs of class "):
            cls = one.kind.removeprefix("OSDs of class ")
            osds[cls] = min(one.value, osds.get(cls, one.value))
        elif one.kind.startswith("the "):
            links.setdefault(one.kind.split()[1], {})[one.part.removesuffix("'s link")] = one.value
        else:
            host, _, disk = one.part.partition(" ")
            disks[host, disk] = one.value
    return Rates(disks, osds, links, usual)


def usual(typed: Mapping[str, object]) -> dict[str, float]:
    """Return what is typed of speeds for ``Rates.usual``: MiB/s of ``hdd``, ``ssd``, ``nvme``; Gb/s of ``public``,
    ``cluster`` and ``clients`` as Mb/s. None is left out; ArgumentError for what is no number above 0.
    """
    found = {}
    for name, value in typed.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= FASTEST:
            unit = "MiB/s of a disk" if name in CLASSES else "Gb/s"
            raise ArgumentError(f"{name}={shown(value)}: expected {unit}, a number above 0")
        found[name] = float(value) if name in CLASSES else 1000.0 * value
    return found
