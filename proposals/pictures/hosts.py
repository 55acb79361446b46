"""Hosts and their disks as discovery saw them, before anybody plans: which are alike, which are in use and why."""

from collections.abc import Iterable, Mapping

from proposals.cluster import wiping
from proposals.inventory import inventory
from proposals.inventory.disk import KIND, Disk
from proposals.pictures import drawing
from proposals.pictures.disks import LEGEND, LETTERS
from proposals.pictures.drawing import Box, Picture, Row
from proposals.text.notes import counted
from proposals.text.sizes import GIB, gib, terabytes


def picture(raw: Mapping) -> Picture:
    """The picture of an inventory, as docs/reference/inventory.md has it. Raises InventoryError.

    Hosts whose memory differs by less than what is told of it are alike: a kernel keeps more here than there."""
    read = inventory.read(raw)
    hosts = {
        host.id: (
            (_about(host), tuple((disk[KIND], disk.reason) for disk in host.disks)),
            lambda host=host: (_about(host), tuple(_rows(host))),
        )
        for host in read.hosts
    }
    disks = [disk for host in read.hosts for disk in host.disks]
    summary = (
        f"{counted(len(read.hosts), 'host')}, {counted(len(disks), 'disk')}, {terabytes(sum(d.size for d in disks))}"
    )
    lines = tuple(f"warning: {line}" for line in read.unread)
    return Picture("hosts as discovery saw them", summary, lines, drawing.legend(LEGEND), drawing.grouped(hosts))


def _about(host: inventory.Host) -> str:
    memory = f"{round(host.memory / GIB)} GiB of memory" if host.memory else "memory not told"
    return f"{counted(len(host.disks), 'disk')}, {memory}"


def _rows(host: inventory.Host) -> Iterable[Row]:
    """A row for disks of one class and size, with the same reason."""
    alike: dict[tuple[str, int, str | None], list[Disk]] = {}
    for disk in host.disks:
        alike.setdefault((disk.cls, disk.size, disk.reason), []).append(disk)
    for (cls, size, reason), these in sorted(alike.items(), key=lambda each: (each[0][2] or "", -len(each[1]))):
        text = f"{len(these)} {cls} of {gib(size)} GiB: {reason or 'free'}"
        yield Row((), tuple(_box(host.id, disk) for disk in these), text)


def _box(host: str, disk: Disk) -> Box:
    words = [disk.device, disk.id, f"{gib(disk.size)} GiB", disk.vendor, disk.model, disk.serial]
    kind = "unused" if disk.reason or disk.cls not in LETTERS else disk.cls
    said = " ".join(str(word) for word in words if word)
    wipe = f"; what wiping it would lose: {wiping.command(host, disk.id, disk.serial)}"
    more = wipe if wiping.leftover(disk.reason) else ""
    return Box(kind, LETTERS.get(disk.cls, "?"), f"{said}: {disk.reason or 'free'}{more}")
