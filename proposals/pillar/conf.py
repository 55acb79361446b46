"""What ceph.conf is printed from: the monitors' addresses, and what services say. Nothing here opens a file."""

from collections.abc import Mapping

from proposals.settings.reader import SiteSettings
from proposals.text import addresses

MSGR2 = "ms_bind_msgr2"  # Ceph's option: false where a site's clients know the first protocol alone


def derived(mons: list[str], inventory: Mapping, settings: SiteSettings) -> tuple[dict, list]:
    """Return what every minion is told for its ceph.conf, and the problems found.

    mons
        The minions that are monitors.
    inventory
        The hosts as discovery stored them.
    settings
        The site's, of which ``public_network`` and ``ms_bind_msgr2`` count.
    """
    msgr2 = settings[MSGR2]
    monitors, problems = _monitors(mons, inventory, settings["public_network"], msgr2)
    derived_settings = {
        "monitors": monitors,
        "mon_initial_members": ", ".join(each["name"] for each in monitors),
        "mon_host": ",".join(each["addrs"] if msgr2 else each["address"] for each in monitors),
        "global": {} if msgr2 else {MSGR2: "false"},
    }
    return derived_settings, problems


def _monitors(mons: list[str], inventory: Mapping, network: str | None, msgr2: bool) -> tuple[list[dict], list[str]]:
    """Name and addresses of each monitor, and what stands against it."""
    monitors, problems = [], []
    for minion in mons:
        if minion not in inventory:
            problems.append(f"{minion}: no inventory of this monitor: start its minion, run ceph.stage.discovery again")
            continue
        has = inventory[minion].get("addresses", [])
        address = min(addresses.inside(has, addresses.network(network)), default=None)
        if network and not address:
            problems.append(f"{minion}: no address in public_network {network}; it has {has or 'none'}")
            continue
        addrs = f"[v2:{address}:3300,v1:{address}:6789]" if msgr2 else f"[v1:{address}:6789]"
        monitors.append({"name": inventory[minion]["hostname"], "address": address, "addrs": addrs})
    return monitors, problems
