"""What the kernel says of links, against what is planned: files tell what should be, only the kernel what is."""

import json
import subprocess

from salt.exceptions import CommandExecutionError

LIMIT = 20  # seconds one command may take
# From the planner's words to those of `ip -d -j link`, where they differ.
OPTIONS = {"mode": "mode", "miimon": "miimon", "lacp_rate": "ad_lacp_rate", "xmit_hash_policy": "xmit_hash_policy"}
OPTIONS |= {"min_links": "min_links"}
NEGOTIATED = 63  # IEEE 802.1AX port state: active, short timeout, aggregating, in sync, collecting, distributing
ASK = "is the switch's port-channel made?"
SLOW = 61  # the same with the long timeout (lacp_rate slow)


def found():
    """Return every link of this host as the kernel has it (``ip -d -j address``), by name, with its default routes.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_kernel.found
    """
    links = {link["ifname"]: link for link in _ip("-d", "-j", "address")}
    for route in _ip("-j", "route", "show", "default") + _ip("-6", "-j", "route", "show", "default"):
        if route.get("dev") in links:
            links[route["dev"]].setdefault("gateways", []).append(route.get("gateway"))
    return links


def _ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise CommandExecutionError(f"ip {' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout or "[]")


def differences(network, links, before=None):
    """Return what the kernel has otherwise than planned: ``{link: [what, ...]}``, empty where all is as planned.

    network
        ``ceph:network`` of the pillar.
    links
        What ``found`` answered.
    before
        The links that were applied last: what they had and the plan has no more must be gone.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_kernel.differences '{links: {}}' '{}'
    """
    told = {}
    for name, link in network["links"].items():
        there = links.get(name)
        told[name] = _link(link, there) if there else ["is not there"]
        if there and before and name in before:
            gone = set(before[name]["addresses"]) - set(link["addresses"])
            told[name] += [f"still has {address}" for address in sorted(gone & _addresses(there))]
    for name, link in (before or {}).items():
        if name not in network["links"] and name in links and link["kind"] != "ethernet":
            told[name] = ["is still there"]
    return {name: each for name, each in told.items() if each}


def _link(wanted, there):
    """One link that is there."""
    info = there.get("linkinfo", {})
    data = info.get("info_data", {})
    if (info.get("info_kind") or "ethernet") not in (wanted["kind"], "veth") and wanted["kind"] != "ethernet":
        return [f"is a {info.get('info_kind') or 'port'}, not a {wanted['kind']}"]
    told = [] if there["mtu"] == wanted["mtu"] else [f"has MTU {there['mtu']}, not {wanted['mtu']}"]
    told += [f"lacks {address}" for address in wanted["addresses"] if address not in _addresses(there)]
    if "UP" not in there["flags"]:
        told.append("is down")
    if wanted.get("gateway") and wanted["gateway"] not in there.get("gateways", ()):
        told.append(f"lacks the default route by {wanted['gateway']}")
    if wanted["kind"] == "vlan" and (data.get("id"), there.get("link")) != (wanted["id"], wanted["lower"]):
        told.append(f"is VLAN {data.get('id')} on {there.get('link')}, not {wanted['id']} on {wanted['lower']}")
    if wanted["kind"] == "bond":
        told += [
            f"has {key} {data.get(word)}, not {wanted[key]}"
            for key, word in OPTIONS.items()
            if key in wanted and str(data.get(word)) != str(wanted[key])
        ]
    return told


def ports(network, links):
    """Return what is wrong with the membership of planned bonds: ``{port: [what]}``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_kernel.ports '{links: {}}' '{}'
    """
    told = {}
    for name, link in network["links"].items():
        planned = link.get("ports", ())
        for port in planned:
            if links.get(port, {}).get("master") != name:
                told[port] = [f"is not in {name}"]
        if planned:
            extra = {each for each, other in links.items() if other.get("master") == name} - set(planned)
            told |= {port: [f"is still in {name}"] for port in extra}
    return told


def unready(network, links):
    """Return what of the planned bonds does not carry traffic yet, one line each.

    A bond is up when LACP has come to its end on every port that has a link, and on one at least; the port's state is
    read, not the partner's address.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_kernel.unready '{links: {}}' '{}'
    """
    told = []
    for name, link in network["links"].items():
        live = [
            port
            for port in link.get("ports", ())
            if "NO-CARRIER" not in links.get(port, {}).get("flags", ["NO-CARRIER"])
        ]
        if link["kind"] == "bond" and not live:
            told.append(f"{name}: no port has a link")
        for port in live if link.get("mode") == "802.3ad" else ():
            states = _states(links[port])
            good = SLOW if link.get("lacp_rate") == "slow" else NEGOTIATED
            if not all(state & good == good for state in states):
                told.append(f"{port}: LACP port state {states[0]}, its partner's {states[1]}, expected {good}: {ASK}")
    return told


def _states(port):
    data = port.get("linkinfo", {}).get("info_slave_data", {})
    # the partner may keep the long timeout: bit 1 of its state is its own choice
    return data.get("ad_actor_oper_port_state", 0), data.get("ad_partner_oper_port_state", 0) | 2


def _addresses(there):
    return {f"{one['local']}/{one['prefixlen']}" for one in there.get("addr_info", ()) if "local" in one}
