"""What there is: labs, hosts, addresses, disks."""

from rich.console import Console
from rich.table import Table

from lab import containers, daemon, disks
from lab.clean import alive
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
        states = {container.name: container.status for container in found}
        for host in lab.cluster.hosts:
            addresses = [host.addresses.get(network, "-") for network in lab.cluster.networks]
            plugged = str(len(disks.plugged(lab, host.name)))
            table.add_row(host.name, states.get(containers.name_of(lab, host.name), "gone"), *addresses, plugged)
        console.print(table)
    return 0 if whole else 1
