"""Links as the kernel has them, beside the plan: files tell what should be, only the kernel what is."""

import json
from collections.abc import Mapping

import halocline

LIMIT = 20  # seconds one command may take
UNASKED = ("kernel", "ra", "redirect")  # protocols of routes that come with an address, or from a router
# From the planner's words to those of `ip -d -j link`, where they differ.
OPTIONS = {"mode": "mode", "miimon": "miimon", "lacp_rate": "ad_lacp_rate", "xmit_hash_policy": "xmit_hash_policy"}
OPTIONS |= {"min_links": "min_links"}
NEGOTIATED = 63  # IEEE 802.1AX port state: active, short timeout, aggregating, in sync, collecting, distributing
ASK = "is the switch's port-channel made?"
SLOW = 61  # the same with the long timeout (lacp_rate slow)
ITS_CHOICE = 3  # the partner may be passive, as Junos is by default, and keep the long timeout


def links() -> dict[str, dict]:
    """Return every link of this host as the kernel has it (``ip -d -j address``), by name.

    With the ``gateways`` of its default routes, and the other ``routes`` that somebody gave to it, of all tables.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_kernel.links
    """
    by_name = {link["ifname"]: link for link in _ip("-d", "-j", "address")}
    routes = [route for family in ("-4", "-6") for route in _ip(family, "-j", "route", "show", "table", "all")]
    for route, hop in [(each, hop) for each in routes for hop in each.get("nexthops", [each])]:
        there = by_name.get(hop.get("dev"), {})
        if route["dst"] == "default" and "table" not in route:
            there.setdefault("gateways", []).append(hop.get("gateway"))
        elif route.get("protocol") not in UNASKED:
            told = {key: route[key] for key in ("dst", "protocol", "table") if key in route}
            there.setdefault("routes", []).append({**told, "gateway": hop.get("gateway")})
    return by_name


def _ip(*words: str) -> list[dict]:
    return json.loads(halocline.run(["ip", *words], limit=LIMIT) or "[]")


def differences(network: Mapping, links: Mapping, before: Mapping | None = None) -> dict[str, list[str]]:
    """Return what the kernel has otherwise than planned: ``{link: [what, ...]}``, empty where all is as planned.

    network
        ``ceph:network`` of the pillar.
    links
        What ``links`` answered.
    before
        The links that were applied last: what they had and the plan has no more must be gone.

    A VLAN that the plan has under another name, or on the bond that takes its port, must be gone too.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_kernel.differences '{links: {}}' '{}'
    """
    lines = {}
    for name, link in network["links"].items():
        there = links.get(name)
        lines[name] = _link(link, there) if there else ["is not there"]
        if there and before and name in before:
            gone = set(before[name]["addresses"]) - set(link["addresses"])
            lines[name] += [f"still has {address}" for address in sorted(gone & _addresses(there))]
    was = [name for name, link in (before or {}).items() if link["kind"] != "ethernet" and name in links]
    going = [name for name in (*was, *_taken_over(network, links)) if name not in network["links"]]
    lines |= dict.fromkeys(going, ["is still there"])
    return {name: words for name, words in lines.items() if words}


def _taken_over(network: Mapping, links: Mapping) -> list[str]:
    """VLANs of the plan under other names, or still on a port of their bond: the kernel has a number once on a link,
    and an address on both would lead nowhere.
    """
    planned = {(link["lower"], link["id"]) for link in network["links"].values() if link["kind"] == "vlan"}
    bonds = {port: name for name, link in network["links"].items() for port in link.get("ports", ())}
    found = []
    for name, link in links.items():
        info, lower = link.get("linkinfo", {}), link.get("link")
        data = info.get("info_data", {})
        if info.get("info_kind") == "vlan" and data.get("protocol", "802.1Q") == "802.1Q":
            found += [name] if (bonds.get(lower, lower), data.get("id")) in planned else []
    return found


def _link(planned: Mapping, there: Mapping) -> list[str]:
    """What a link that is there has otherwise than planned."""
    info = there.get("linkinfo", {})
    data = info.get("info_data", {})
    if (info.get("info_kind") or "ethernet") not in (planned["kind"], "veth") and planned["kind"] != "ethernet":
        return [f"is a {info.get('info_kind') or 'port'}, not a {planned['kind']}"]
    lines = [] if there["mtu"] == planned["mtu"] else [f"has MTU {there['mtu']}, not {planned['mtu']}"]
    lines += [f"lacks {address}" for address in planned["addresses"] if address not in _addresses(there)]
    if "UP" not in there["flags"]:
        lines.append("is down")
    if planned.get("gateway") and planned["gateway"] not in there.get("gateways", ()):
        lines.append(f"lacks the default route by {planned['gateway']}")
    if planned["kind"] == "vlan" and (data.get("id"), there.get("link")) != (planned["id"], planned["lower"]):
        lines.append(f"is VLAN {data.get('id')} on {there.get('link')}, not {planned['id']} on {planned['lower']}")
    if planned["kind"] == "bond":
        lines += [
            f"has {key} {data.get(word)}, not {planned[key]}"
            for key, word in OPTIONS.items()
            if key in planned and str(data.get(word)) != str(planned[key])
        ]
    return lines


def ports(network: Mapping, links: Mapping) -> dict[str, list[str]]:
    """Return what is wrong with the membership of planned bonds: ``{port: [what]}``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_kernel.ports '{links: {}}' '{}'
    """
    lines = {}
    for name, link in network["links"].items():
        planned = link.get("ports", ())
        for port in planned:
            if links.get(port, {}).get("master") != name:
                lines[port] = [f"is not in {name}"]
        if planned:
            extra = {port for port, other in links.items() if other.get("master") == name} - set(planned)
            lines |= {port: [f"is still in {name}"] for port in extra}
    return lines


def unready(network: Mapping, links: Mapping) -> list[str]:
    """Return what of the planned bonds does not carry traffic yet, one line each.

    A bond is up when LACP has come to its end on every port that has a link, and on one at least; the port's state is
    read, not the partner's address.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_kernel.unready '{links: {}}' '{}'
    """
    lines = []
    for name, link in network["links"].items():
        live = [
            port
            for port in link.get("ports", ())
            if "NO-CARRIER" not in links.get(port, {}).get("flags", ["NO-CARRIER"])
        ]
        if link["kind"] == "bond" and not live:
            lines.append(f"{name}: no port has a link")
        for port in live if link.get("mode") == "802.3ad" else ():
            own, partner = _states(links[port])
            good = SLOW if link.get("lacp_rate") == "slow" else NEGOTIATED
            if own & good != good or (partner | ITS_CHOICE) & good != good:
                lines.append(f"{port}: LACP port state {own}, its partner's {partner}, expected {good}: {ASK}")
    return lines


def _states(port: Mapping) -> tuple[int, int]:
    data = port.get("linkinfo", {}).get("info_slave_data", {})
    return data.get("ad_actor_oper_port_state", 0), data.get("ad_partner_oper_port_state", 0)


def _addresses(there: Mapping) -> set[str]:
    return {f"{entry['local']}/{entry['prefixlen']}" for entry in there.get("addr_info", ()) if "local" in entry}
