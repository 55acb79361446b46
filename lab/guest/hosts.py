"""Guests that are hosts of a cluster file: their disks have an identity, and their two ports lead to a switch.

A container's disks have theirs from the lab's stand-in for udev; a guest has a real udev, which is told by a rule for
each disk. None of them rotates: User Mode Linux says so anew whenever a disk is opened. The guest's address lies on p1
at first, as on a machine that was just installed.
"""

from lab import identity
from lab.cluster import Model, Node
from lab.errors import LabError
from lab.guest import guests, join
from lab.progress import step
from lab.store import Lab

RULES = "/etc/udev/rules.d/61-lab-disks.rules"  # after udev's own for disks
READ = "udevadm control --reload; udevadm trigger --settle --subsystem-match=block"


def check_names(lab: Lab) -> None:
    """Raise LabError where another guest has the name of one of the lab's: on a machine each has its own."""
    others = {guest.name: guest.lab or "no lab" for guest in guests.guests() if guest.lab != lab.name}
    for host in lab.cluster.guests:
        if host.name in others:
            raise LabError(
                f"{lab.name}: there is a guest {host.name} of {others[host.name]} already: "
                f"`python -m lab kernel down {host.name}` ends it."
            )


def boot(lab: Lab, host: Node) -> None:
    """Make such a guest and boot it; its minion's key waits for salt-key."""
    (address,) = host.addresses.values()
    guest = guests.make(host.name, lab, host.guest, [model.size for model in host.slots], address)
    with step(f"make {host.name} a host of {lab.name}"):
        rules = (rule(lab, host, slot, model) for slot, model in enumerate(host.slots))
        join.put(guest, {RULES: "".join(rules)})
        guest.run(f"systemctl enable --now lab-switch && {READ}")
        join.settle(guest, lab.cluster, host, "p1")


def rule(lab: Lab, host: Node, slot: int, model: Model) -> str:
    """udev's rule that gives the disk in a slot the identity that a container's would have there (identity.py)."""
    facts = identity.describe(lab.name, host.name, slot, 0, model)
    words = [f'SUBSYSTEM=="block", KERNEL=="{guests.disk_name(slot + 1)}", ACTION!="remove"']
    words += [f'ENV{{{key}}}="{value}"' for key, value in facts["properties"].items()]
    words += [f'SYMLINK+="{link}"' for link in facts["links"]]
    return ", ".join(words) + "\n"


def plug(lab: Lab, host: Node, model: Model) -> str:
    """Plug one more disk into the running guest, in the next slot; returns its kernel name."""
    guest = guests.find(host.name)
    line = rule(lab, host, len(guest.disks), model)
    guest.run(f"cat >>{RULES} <<'END'\n{line}END\nudevadm control --reload")
    return guests.add_disk(guest, model.size)
