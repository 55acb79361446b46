"""Planned links as systemd-networkd's files, and how networkd is made to take them up.

Ours sort before a host's own files and shadow them for their interfaces; taken away, those hold again.
Sources: systemd.netdev(5), systemd.network(5).
"""

from collections.abc import Mapping, Sequence

import halocline

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


def active() -> bool:
    """Return whether systemd-networkd runs on this host.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkd.active
    """
    return _active("systemd-networkd")


def files(network: Mapping) -> dict[str, str]:
    """Return ``{path: text}`` of the links that are planned for a host (``ceph:network``).

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
        vlans = sorted(vlan for vlan, other in links.items() if other.get("lower") == name)
        texts[f"{name}.network"] = _network(name, link, vlans)
        for port in link.get("ports", ()):
            match = _section("Match", {"Name": port})
            texts[f"{port}.network"] = (
                match + _section("Link", {"MTUBytes": link["mtu"]}) + _section("Network", {"Bond": name})
            )
    return {f"{FOLDER}/{PREFIX}{name}": text for name, text in texts.items()}


def _netdev(name: str, link: Mapping) -> str:
    """A link that networkd makes: a bond or a VLAN."""
    text = _section("NetDev", {"Name": name, "Kind": link["kind"], "MTUBytes": link["mtu"]})
    if link["kind"] == "vlan":
        return text + _section("VLAN", {"Id": link["id"]})
    options = {word: link[key] for key, word in BOND.items() if key in link}
    return text + _section("Bond", {**options, "MIIMonitorSec": f"{link['miimon']}ms"})


def _network(name: str, link: Mapping, vlans: Sequence[str]) -> str:
    """What lies on a link: its addresses, the VLANs above it."""
    lines = [("VLAN", vlan) for vlan in vlans] + [("Address", address) for address in link["addresses"]]
    lines += [("Gateway", link["gateway"])] if link.get("gateway") else []
    # networkd waits for no router and no DHCP server: the plan's addresses are all there are
    lines += [("LinkLocalAddressing", "ipv6"), ("IPv6AcceptRA", "no")]
    lines += [("ConfigureWithoutCarrier", "yes")] if link["kind"] == "bond" else []
    match = _section("Match", {"Name": name}) + _section("Link", {"MTUBytes": link["mtu"]})
    return match + "[Network]\n" + "".join(f"{key}={value}\n" for key, value in lines)


def _section(title: str, values: Mapping) -> str:
    return f"[{title}]\n" + "".join(f"{key}={value}\n" for key, value in values.items()) + "\n"


def read() -> list[str]:
    """Return the shell commands that make networkd know its files before a link is deleted: none.

    It makes no link anew by itself.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkd.read
    """
    return []


def load(new: Sequence[str], changed: Sequence[str], deleted: Sequence[str]) -> None:
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


def undo(ports: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the shell commands that make networkd take up its files as they were.

    ports
        Interfaces that stay, and are configured as before.
    names
        All interfaces of the plan; networkd finds by itself what was changed.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkd.undo '[ens1f0, ens1f1]' '[bond0, ens1f0, ens1f1]'
    """
    return ["systemctl restart systemd-networkd"]


def _run(*words: str) -> None:
    halocline.run(words, limit=LIMIT)


def _active(unit: str) -> bool:
    return halocline.status(["systemctl", "is-active", "--quiet", unit], limit=LIMIT) == 0
