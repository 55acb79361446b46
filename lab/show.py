"""What there is: labs, hosts, addresses, disks."""

from rich.console import Console
from rich.table import Table

from lab import daemon, disks
from lab.clean import alive
from lab.guest import guests
from lab.networks import LABEL
from lab.store import find, labs


def status(name: str | None) -> int:
    """Print every lab (or one) with its hosts; returns 0 where all of them are whole, else 1."""
    shown = [find(name)] if name else labs()
    client, console = daemon.running(), Console()
    if not shown:
        print("no lab runs here.")
    whole = True
    for lab in shown:
        whole &= alive(client, lab)
        state = "up" if alive(client, lab) else "not whole: `python -m lab up` makes it anew"
        table = Table("host", "state", *lab.cluster.networks, "disks", title=f"{lab.name}: {state}\n{lab.checkout}")
        found = client.containers.list(all=True, filters={"label": f"{LABEL}={lab.name}"}) if client else []
        states = {container.labels["halocline.host"]: container.status for container in found}
        own = {guest.name: guest for guest in guests.guests() if guest.lab == lab.name}
        states |= {name: "running" if guest.alive else "off" for name, guest in own.items()}
        for host in lab.cluster.hosts:
            addresses = [host.addresses.get(network, "-") for network in lab.cluster.networks]
            plugged = own[host.name].disks if host.name in own else disks.plugged(lab, host.name)
            table.add_row(host.name, states.get(host.name, "gone"), *addresses, str(len(plugged)))
        console.print(table)
    return 0 if whole else 1
