"""Guests by name: made, booted, asked, given disks, joined to a lab, taken away. Records lie in /var/lib/halocline-lab.

guests/NAME/guest.json, root.cow (what it changed of the shared base), disk1.img …, share/ (its /host), console.log
"""

import ipaddress
import json
import os
import shutil
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lab import daemon
from lab.cluster import GUEST_DISKS as DISKS
from lab.commands import run
from lab.containers import Done
from lab.errors import LabError
from lab.guest import base, process
from lab.networks import bridge
from lab.progress import step
from lab.store import CHECKOUT, ROOT, Lab, labs

GUESTS = ROOT / "guests"
MEMORY = 1024  # MiB; two OSDs with a monitor want 2048
FIRST_PLACE = 200  # guests' addresses in a lab's network begin here


@dataclass
class Guest:
    """One guest as its record has it."""

    name: str
    base: str
    memory: int = MEMORY
    disks: list[str] = field(default_factory=list)
    pid: int = 0
    lab: str | None = None
    address: str | None = None
    checkout: str = str(CHECKOUT)  # whose it is

    @property
    def folder(self) -> Path:
        return GUESTS / self.name

    @property
    def mac(self) -> str:
        return "52:54:00:" + ":".join(f"{byte:02x}" for byte in zlib.crc32(self.name.encode()).to_bytes(4)[:3])

    def save(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / "guest.json.new"
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(self.folder / "guest.json")

    @property
    def alive(self) -> bool:
        return process.alive(self.folder, self.pid)

    def console(self) -> str:
        """The last words on the guest's console."""
        return process.console(self.folder, lines=500)

    def run(self, command: str | list[str], check: bool = True, limit: float = 300) -> Done:
        """Run a command: a list, or text for bash. check: AssertionError unless it ends with 0. limit: seconds."""
        if not self.alive:
            raise LabError(f"guest {self.name} does not run: `python -m lab kernel up {self.name}`.")
        done = process.execute(self.folder, self.pid, command, limit)
        if check and done.code:
            raise AssertionError(f"{self.name}: {command!r} ended with {done.code}\n{done.out}\n{done.err}")
        return done


def guests() -> list[Guest]:
    """Every guest with a record, by name."""
    return [Guest(**json.loads(path.read_text())) for path in sorted(GUESTS.glob("*/guest.json"))]


def find(name: str) -> Guest:
    """The guest of that name.

    Raises LabError that lists the guests there are.
    """
    known = {guest.name: guest for guest in guests()}
    if name not in known:
        raise LabError(f"no guest {name} (there are: {', '.join(known) or 'none'}): `python -m lab kernel up {name}`.")
    return known[name]


def check_wish(name: str, sizes: list[int]) -> None:
    """Raise LabError for a guest that cannot be."""
    if not name.isalnum():
        raise LabError(f"{name!r} is no guest name: expected letters and digits.")
    if len(sizes) > DISKS:
        raise LabError(f"{name}: {len(sizes)} disks; a guest takes {DISKS}.")


def root_file_system() -> Path:
    """What guests start from, made where it is not there: of the node image, which is made too."""
    return base.ensure(daemon.ensure(), {Path(guest.base) for guest in guests()})


def make(name: str, lab: Lab | None, memory: int, sizes: list[int], address: str | None = None) -> Guest:
    """Make and boot a guest with disks of these sizes (bytes), with a port on the lab's first network or none.

    address: in that network; the first that is free, where none is given.
    """
    path = root_file_system()
    remove(name)
    guest = Guest(name, str(path), memory, lab=lab.name if lab else None)
    if lab:
        guest.address = address or _free_address(lab)
    guest.save()
    for size in sizes:
        _new_disk(guest, size)
    boot(guest, lab)
    return guest


def boot(guest: Guest, lab: Lab | None) -> None:
    """Start a guest that is off, with all its disks."""
    if lab:
        _plug_in(guest, lab)
    files = [f"{guest.folder}/root.cow,{guest.base}", *guest.disks]
    with step(f"boot guest {guest.name}"):
        guest.pid = process.start(guest.folder, guest.memory, files, tap(guest.name) if lab else None, guest.mac)
        guest.save()
        process.wait_until_ready(guest.folder, guest.pid)


def _new_disk(guest: Guest, size: int) -> Path:
    path = guest.folder / f"disk{len(guest.disks) + 1}.img"
    with path.open("wb") as file:
        os.truncate(file.fileno(), size)
    guest.disks.append(str(path))
    guest.save()
    return path


def add_disk(guest: Guest, size: int) -> str:
    """Attach a new disk of that many bytes while the guest runs; returns its name there (ubdc)."""
    if len(guest.disks) >= DISKS:
        raise LabError(f"{guest.name} has {DISKS} disks: User Mode Linux takes no more.")
    path = _new_disk(guest, size)
    process.add_disk(guest.folder, len(guest.disks), path)
    return disk_name(len(guest.disks))


def disk_name(number: int) -> str:
    """The kernel's name of a guest's disk; number 0 is the root file system."""
    return f"ubd{chr(ord('a') + number)}"


def power_off(guest: Guest) -> None:
    """Shut a guest down cleanly; one that does not end is killed, and LabError says so."""
    if not guest.alive:
        return
    with step(f"power guest {guest.name} off"):
        process.ring(guest.folder, "systemctl --no-block poweroff")
        if not process.wait_until_gone(guest.folder, guest.pid):
            process.kill(guest.folder)
            raise LabError(f"{guest.name} did not power off by itself; it is killed.")


def remove(name: str) -> None:
    """Take a guest away at once, with its disks and its port; a name that could lead out of their folder is refused."""
    if not name.isalnum():
        raise LabError(f"{name!r} is no guest name: expected letters and digits.")
    process.kill(GUESTS / name)
    _unplug(name)
    shutil.rmtree(GUESTS / name, ignore_errors=True)


def names() -> list[str]:
    """Names of all guests, half-made ones too."""
    return sorted(path.name for path in GUESTS.glob("*"))


def remove_all_of(lab: str) -> None:
    """Take away every guest on a lab's network."""
    for guest in guests():
        if guest.lab == lab:
            remove(guest.name)


def remove_lone() -> None:
    """Take away every guest on the network of no lab that there is, but none that runs for another checkout."""
    known = {lab.name for lab in labs()}
    stay = {each.name for each in guests() if each.lab in known or (each.alive and each.checkout != str(CHECKOUT))}
    for name in set(names()) - stay:
        remove(name)


def _free_address(lab: Lab) -> str:
    network = ipaddress.ip_network(next(iter(lab.cluster.networks.values())))
    taken = {address for host in lab.cluster.hosts for address in host.addresses.values()}
    taken |= {guest.address for guest in guests() if guest.address}
    return next(str(address) for address in list(network.hosts())[FIRST_PLACE - 1 :] if str(address) not in taken)


def tap(name: str) -> str:
    """Name of a guest's port on this machine."""
    return f"hcg{zlib.crc32(name.encode()):08x}"


def _plug_in(guest: Guest, lab: Lab) -> None:
    _unplug(guest.name)
    run("ip", "tuntap", "add", tap(guest.name), "mode", "tap")
    run("ip", "link", "set", tap(guest.name), "master", bridge(lab, next(iter(lab.cluster.networks))), "up")


def _unplug(name: str) -> None:
    if Path("/sys/class/net", tap(name)).exists():
        run("ip", "link", "del", tap(name))
