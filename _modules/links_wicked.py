"""Planned links as wicked's ifcfg files, and how wicked is made to take them up.

wicked knows one file an interface: a host's own is replaced, and kept for the way back.
Sources: ifcfg(5), ifcfg-bonding(5), ifcfg-vlan(5), ifroute(5).
"""

import subprocess

from salt.exceptions import CommandExecutionError

FOLDER = "/etc/sysconfig/network"
LIMIT = 120  # seconds one command may take
BOND = ("mode", "miimon", "lacp_rate", "xmit_hash_policy", "min_links")


def keeps():
    """Whether wicked keeps this host's network.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_wicked.keeps
    """
    return _active("wickedd")


def files(network):
    """Return ``{path: text}`` of the links that a host is told (``ceph:network``).

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


def _link(link):
    values = {f"IPADDR{f'_{at}' if at else ''}": address for at, address in enumerate(link["addresses"])}
    values["MTU"] = link["mtu"]
    if link["kind"] == "vlan":
        values |= {"ETHERDEVICE": link["lower"], "VLAN_ID": link["id"]}
    if link["kind"] == "bond":
        options = " ".join(f"{key}={link[key]}" for key in BOND if key in link)
        values |= {"BONDING_MASTER": "yes", "BONDING_MODULE_OPTS": options}
        values |= {f"BONDING_SLAVE_{at}": port for at, port in enumerate(link["ports"])}
    return values


def _values(values):
    return "".join(f"{key}='{value}'\n" for key, value in values.items())


def load(new, changed, deleted):
    """Make wicked take up files that were written or removed: it finds by itself what has changed.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_wicked.load '[bond0]' '[]' '[]'
    """
    words = ("wicked", "ifreload", *(changed or new or ("all",)))
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise CommandExecutionError(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()}")


def undo(ports):
    """Return the shell commands that make wicked take up its files as they were.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_wicked.undo '[ens1f0, ens1f1]'
    """
    return ["wicked ifreload all", *(f"wicked ifup {port}" for port in ports)]


def _active(unit):
    return not subprocess.run(["systemctl", "is-active", "--quiet", unit], timeout=LIMIT, check=False).returncode
