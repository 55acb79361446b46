"""Planned links as NetworkManager's key files, and how NetworkManager is made to take them up.

Ours have a higher priority than a host's own connections, which stay and hold again when ours go.
Sources: nm-settings-keyfile(5), nmcli(1).
"""

import ipaddress
import uuid
from collections.abc import Mapping, Sequence

import halocline

FOLDER = "/etc/NetworkManager/system-connections"
PREFIX = "halocline-"
NAMESPACE = uuid.UUID("6f0c3a52-8f0e-5b0e-9d3f-5f3f0a4f2c11")  # for uuids of connections: the same name, the same uuid
LIMIT = 90  # seconds one command may take
BOND = ("mode", "miimon", "lacp_rate", "xmit_hash_policy", "min_links")


def active() -> bool:
    """Return whether NetworkManager runs on this host.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkmanager.active
    """
    return _active("NetworkManager")


def files(network: Mapping) -> dict[str, str]:
    """Return ``{path: text}`` of the links that are planned for a host (``ceph:network``).

    network
        The planner's ``links``, by name.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkmanager.files "{links: {eth0: {kind: ethernet, mtu: 9000, addresses: []}}}"
    """
    texts = {}
    for name, link in network["links"].items():
        texts[name] = _connection(name, link["kind"]) + _kind(link) + _addresses(link)
        for port in link.get("ports", ()):
            more = {"master": name, "slave-type": "bond"}
            texts[port] = _connection(port, "ethernet", more) + _section("ethernet", {"mtu": link["mtu"]})
    return {f"{FOLDER}/{PREFIX}{name}.nmconnection": text for name, text in texts.items()}


def _connection(name: str, kind: str, more: Mapping | None = None) -> str:
    values = {"id": f"{PREFIX}{name}", "uuid": uuid.uuid5(NAMESPACE, name), "type": kind, "interface-name": name}
    return _section("connection", {**values, "autoconnect-priority": 100, **(more or {})})


def _kind(link: Mapping) -> str:
    """The section of the link's own kind."""
    mtu = _section("ethernet", {"mtu": link["mtu"]})
    if link["kind"] == "bond":
        return mtu + _section("bond", {key: link[key] for key in BOND if key in link})
    if link["kind"] == "vlan":
        return mtu + _section("vlan", {"flags": 1, "id": link["id"], "parent": link["lower"]})  # 1: reorder headers
    return mtu


def _addresses(link: Mapping) -> str:
    """The two sections of addresses; without one of its kind nothing is asked of the network either."""
    text = ""
    for version, idle in ((4, "disabled"), (6, "link-local")):
        addresses = [address for address in link["addresses"] if ipaddress.ip_interface(address).version == version]
        values = {f"address{number}": address for number, address in enumerate(addresses, 1)}
        if link.get("gateway") and ipaddress.ip_address(link["gateway"]).version == version:
            values["gateway"] = link["gateway"]
        text += _section(f"ipv{version}", {**values, "method": "manual" if addresses else idle})
    return text


def _section(title: str, values: Mapping) -> str:
    return f"[{title}]\n" + "".join(f"{key}={value}\n" for key, value in values.items()) + "\n"


def read() -> list[str]:
    """Return the shell commands that make NetworkManager know its files before a link is deleted.

    It makes a bond that was deleted anew at once, for its ports: by what it knows.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkmanager.read
    """
    return ["nmcli connection reload"]


def load(new: Sequence[str], changed: Sequence[str], deleted: Sequence[str]) -> None:
    """Make NetworkManager take up files that were written or removed.

    new
        Of those in ``changed``, links and ports without a connection of ours until now, or whose link was deleted.
    changed
        Links and ports to take up, in the order in which they come up; what is not new in place, traffic goes on.
    deleted
        Links that were deleted; they are among the new ones where they are to come again.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkmanager.load '[bond0, ens1f0, ens1f1]' '[]' '[]'
    """
    for name in changed:
        if name in new:
            _run("nmcli", "--wait", "30", "connection", "up", f"{PREFIX}{name}")
        else:
            _run("nmcli", "device", "reapply", name)


def undo(ports: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the shell commands that make NetworkManager take up its files as they were.

    A reload leaves active connections as they are, so each that is active now is activated again. By its own uuid: to
    ``nmcli device connect`` a port without a connection would get a new one, and a file of it.

    ports
        Interfaces that stay.
    names
        All interfaces of the plan, in the order in which they come up.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_networkmanager.undo '[ens1f0, ens1f1]' '[bond0, ens1f0, ens1f1]'
    """
    lines = _run("nmcli", "--terse", "--fields", "DEVICE,UUID", "connection", "show", "--active").splitlines()
    active = dict(line.rsplit(":", 1) for line in lines)
    again = (f"nmcli --wait 30 connection up uuid {active[name]}" for name in names if name in active)
    return list(again)


def _run(*words: str) -> str:
    return halocline.run(words, limit=LIMIT)


def _active(unit: str) -> bool:
    return halocline.status(["systemctl", "is-active", "--quiet", unit], limit=LIMIT) == 0
