"""Planned links as systemd-networkd's files, and how networkd is made to take them up.

Ours sort before a host's own files and shadow them for their interfaces; taken away, those hold again.
Sources: systemd.netdev(5), systemd.network(5).
"""

import subprocess

from salt.exceptions import CommandExecutionError

FOLDER = "/etc/systemd/network"
PREFIX = "05-halocline-"
LIMIT = 60  # seconds one command may take
# From the planner's words, which are the kernel's, to systemd.netdev(5), [Bond].
BOND = {
    "mode": "Mode",
    "lacp_rate": "LACPTransmitRate",
    "xmit_hash_policy": "TransmitHashPolicy",
    "min_links": "MinLinks",
}


def keeps():
    """Whether systemd-networkd keeps this host's network.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkd.keeps
    """
    return _active("systemd-networkd")


def files(network):
    """Return ``{path: text}`` of the links that a host is told (``ceph:network``).

    network
        The planner's ``links``, by name.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkd.files "{links: {eth0: {kind: ethernet, mtu: 9000, addresses: [10.0.0.1/24]}}}"
    """
    links = network["links"]
    texts = {}
    for name, link in links.items():
        if link["kind"] != "ethernet":
            texts[f"{name}.netdev"] = _netdev(name, link)
        vlans = sorted(each for each, other in links.items() if other.get("lower") == name)
        texts[f"{name}.network"] = _network(name, link, vlans)
        for port in link.get("ports", ()):
            match = _section("Match", {"Name": port})
            texts[f"{port}.network"] = (
                match + _section("Link", {"MTUBytes": link["mtu"]}) + _section("Network", {"Bond": name})
            )
    return {f"{FOLDER}/{PREFIX}{name}": text for name, text in texts.items()}


def _netdev(name, link):
    """A link that networkd makes: a bond or a VLAN."""
    text = _section("NetDev", {"Name": name, "Kind": link["kind"], "MTUBytes": link["mtu"]})
    if link["kind"] == "vlan":
        return text + _section("VLAN", {"Id": link["id"]})
    options = {word: link[key] for key, word in BOND.items() if key in link}
    return text + _section("Bond", {**options, "MIIMonitorSec": f"{link['miimon']}ms"})


def _network(name, link, vlans):
    """What lies on a link: its addresses, the VLANs above it."""
    lines = [("VLAN", vlan) for vlan in vlans] + [("Address", address) for address in link["addresses"]]
    lines += [("Gateway", link["gateway"])] if link.get("gateway") else []
    # networkd waits for no router and no DHCP server: the plan's addresses are all there are
    lines += [("LinkLocalAddressing", "ipv6"), ("IPv6AcceptRA", "no"), ("ConfigureWithoutCarrier", "yes")]
    lines = [each for each in lines if each[0] != "ConfigureWithoutCarrier" or link["kind"] == "bond"]
    match = _section("Match", {"Name": name}) + _section("Link", {"MTUBytes": link["mtu"]})
    return match + "[Network]\n" + "".join(f"{key}={value}\n" for key, value in lines)


def _section(title, values):
    return f"[{title}]\n" + "".join(f"{key}={value}\n" for key, value in values.items()) + "\n"


def load(new, changed, deleted):
    """Make networkd take up files that were written or removed.

    A reload configures the links whose files differ, and no others. It does not bring ports into a bond that was
    deleted and made again, nor does ``networkctl reconfigure``: a restart does [systemd 252].

    new, changed
        Links without and with files of ours until now; networkd finds them by itself.
    deleted
        Links that were deleted.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkd.load '[bond0]' '[]' '[]'
    """
    _run(*(("systemctl", "restart", "systemd-networkd") if deleted else ("networkctl", "reload")))


def undo(ports):
    """Return the shell commands that make networkd take up its files as they were.

    ports
        Interfaces that stay, and are configured as before.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkd.undo '[ens1f0, ens1f1]'
    """
    return ["systemctl restart systemd-networkd"]


def _run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise CommandExecutionError(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()}")


def _active(unit):
    return not subprocess.run(["systemctl", "is-active", "--quiet", unit], timeout=LIMIT, check=False).returncode
