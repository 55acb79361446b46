"""Planned links as wicked's ifcfg files, and how wicked is made to take them up.

wicked knows one file an interface: a host's own is replaced, and kept for the rollback.
Sources: ifcfg(5), ifcfg-bonding(5), ifcfg-vlan(5), ifroute(5).
"""

from collections.abc import Mapping, Sequence

import halocline

FOLDER = "/etc/sysconfig/network"
LIMIT = 120  # seconds one command may take
BOND = ("mode", "miimon", "lacp_rate", "xmit_hash_policy", "min_links")


def active() -> bool:
    """Return whether wicked runs on this host.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_wicked.active
    """
    return _active("wickedd")


def files(network: Mapping) -> dict[str, str]:
    """Return ``{path: text}`` of the links that are planned for a host (``ceph:network``).

    network
        The planner's ``links``, by name.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_wicked.files "{links: {eth0: {kind: ethernet, mtu: 9000, addresses: [10.0.0.1/24]}}}"
    """
    texts = {}
    for name, link in network["links"].items():
        texts[f"ifcfg-{name}"] = _values(
            {"STARTMODE": "auto", "BOOTPROTO": "static" if link["addresses"] else "none", **_link(link)}
        )
        if link.get("gateway"):
            texts[f"ifroute-{name}"] = f"default {link['gateway']} - {name}\n"
        for port in link.get("ports", ()):
            texts[f"ifcfg-{port}"] = _values({"STARTMODE": "hotplug", "BOOTPROTO": "none"})
    return {f"{FOLDER}/{name}": text for name, text in texts.items()}


def _link(link: Mapping) -> dict:
    values = {f"IPADDR{f'_{number}' if number else ''}": address for number, address in enumerate(link["addresses"])}
    values["MTU"] = link["mtu"]
    if link["kind"] == "vlan":
        values |= {"ETHERDEVICE": link["lower"], "VLAN_ID": link["id"]}
    if link["kind"] == "bond":
        options = " ".join(f"{key}={link[key]}" for key in BOND if key in link)
        values |= {"BONDING_MASTER": "yes", "BONDING_MODULE_OPTS": options}
        values |= {f"BONDING_SLAVE_{number}": port for number, port in enumerate(link["ports"])}
    return values


def _values(values: Mapping) -> str:
    return "".join(f"{key}='{value}'\n" for key, value in values.items())


def read() -> list[str]:
    """Return the shell commands that make wicked know its files before a link is deleted: none.

    It makes no link anew by itself.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_wicked.read
    """
    return []


def load(new: Sequence[str], changed: Sequence[str], deleted: Sequence[str]) -> None:
    """Make wicked take up files that were written or removed: it finds by itself what has changed.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_wicked.load '[bond0]' '[]' '[]'
    """
    halocline.run(["wicked", "ifreload", *(changed or new or ("all",))], limit=LIMIT)


def undo(ports: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the shell commands that make wicked take up its files as they were.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_wicked.undo '[ens1f0, ens1f1]' '[bond0, ens1f0, ens1f1]'
    """
    return ["wicked ifreload all", *(f"wicked ifup {port}" for port in ports)]


def _active(unit: str) -> bool:
    return halocline.status(["systemctl", "is-active", "--quiet", unit], limit=LIMIT) == 0
