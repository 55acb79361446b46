"""What ceph.conf is printed from: the monitors' addresses, and what services say. Nothing here opens a file."""

from collections.abc import Mapping

from proposals.settings.reader import SiteSettings
from proposals.text import addresses

MSGR2 = "ms_bind_msgr2"  # Ceph's option: false where a site's clients know the first protocol alone
# Ceph's daemons bind IPv4 unless told; with both, each needs an address of both (Ceph's src/common/pick_address.cc).
BIND_6 = {"ms_bind_ipv4": "false", "ms_bind_ipv6": "true"}


def derived(
    mons: list[str], inventory: Mapping, settings: SiteSettings, served: Mapping[str, object] | None = None
) -> tuple[dict, list]:
    """Return what every minion is told for its ceph.conf, and the problems found.

    mons
        The minions that are monitors.
    inventory
        The hosts as discovery stored them.
    settings
        The site's, of which ``public_network`` and ``ms_bind_msgr2`` count.
    served
        The address of each monitor by name, as it is told now: it is kept while its host has it.
    """
    msgr2 = settings[MSGR2]
    network = addresses.network(settings["public_network"])
    monitors, problems = _monitors(mons, inventory, network, msgr2, served or {})
    derived_settings = {
        "monitors": monitors,
        "mon_initial_members": ", ".join(each["name"] for each in monitors),
        "mon_host": ",".join(each["addrs"] if msgr2 else addresses.bracketed(each["address"]) for each in monitors),
        "global": ({} if msgr2 else {MSGR2: "false"}) | (BIND_6 if network and network.version == 6 else {}),
    }
    return derived_settings, problems


def _monitors(
    mons: list[str], inventory: Mapping, network: addresses.Network | None, msgr2: bool, served: Mapping[str, object]
) -> tuple[list[dict], list[str]]:
    """Name and addresses of each monitor, and what stands against it."""
    monitors, problems = [], []
    for minion in mons:
        if minion not in inventory:
            problems.append(f"{minion}: no inventory of this monitor: start its minion, run ceph.stage.discovery again")
            continue
        has = inventory[minion].get("addresses", [])
        name, inside = inventory[minion]["hostname"], addresses.inside(has, network)
        address = min(inside, key=lambda each: (each != served.get(name), each), default=None)
        if not address:
            if network:  # without one, the check network_shape says so
                problems.append(f"{minion}: no address in public_network {network}; it has {has or 'none'}")
            continue
        at = addresses.bracketed(address)
        addrs = f"[v2:{at}:3300,v1:{at}:6789]" if msgr2 else f"[v1:{at}:6789]"
        monitors.append({"name": name, "address": address, "addrs": addrs})
    return monitors, problems
