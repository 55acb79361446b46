"""What stands against a change of this host's links, and the steps that it takes. Everything here only reads."""

import ipaddress
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import psutil

NET = Path("/sys/class/net")
DAEMONS = ("ceph-mon", "ceph-osd", "ceph-mgr", "ceph-mds")  # they bind an address once, when they start
LIVE = ("miimon", "xmit_hash_policy", "min_links")  # options that the bonding driver changes while ports are up


def obstacles(network: Mapping, links: Mapping, before: Mapping | None = None) -> list[str]:
    """Return what stands against applying planned links, one line each.

    network
        ``ceph:network`` of the pillar.
    links
        What ``links_kernel.links`` answered.
    before
        The links that were applied last.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_plan.obstacles '{links: {}, ports: {}}' '{}'
    """
    differences = __salt__["links_kernel.differences"](network, links, before)
    gone = [name for name in differences if name not in network["links"]]
    lost = _lost(network, links, gone) + _held(network, links, gone)
    return _ports(network, links) + _upon(network, links, gone) + lost


def steps(network: Mapping, links: Mapping, before: Mapping) -> dict:
    """Return ``{deleted, created, options, commands}``: the links to delete first; those that are made, which a
    rollback deletes; the options of bonds that stay, as ``{file: value}``, and the shell commands that put them back.

    network, links
        As for ``obstacles``.
    before
        The links that were applied last.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_plan.steps '{links: {}}' '{}' '{}'
    """
    differences = __salt__["links_kernel.differences"](network, links, before)
    remade = _remade(network, links, differences)
    gone = [name for name in differences if name not in network["links"]]  # a port is nobody's to delete
    new = [name for name in network["links"] if name not in links] + remade
    created = [name for name in new if network["links"][name]["kind"] != "ethernet"]
    deleted = [*_above(links, remade + gone), *remade, *gone]
    return {
        "deleted": deleted,
        "created": [*_above(links, created), *created],
        "options": {
            f"{NET}/{name}/bonding/{key}": str(value) for name, key, value in _options(network, links, deleted)
        },
        "commands": [
            f"echo {data[key]} >{NET}/{name}/bonding/{key}"
            for name, key, _ in _options(network, links, remade)
            if key in (data := links[name].get("linkinfo", {}).get("info_data", {}))
        ],
    }


def _ports(network: Mapping, links: Mapping) -> list[str]:
    """Ports that are not there, not where the plan saw them, or too small."""
    problems = []
    mtu = {port: link["mtu"] for name, link in network["links"].items() for port in link.get("ports", (name,))}
    asked = __salt__["host_nics.inspect"]() if any(network["ports"].values()) else ()  # as discovery saw the path
    places = {nic["name"]: nic.get("path") for nic in asked}
    for port, path in network["ports"].items():
        there = links.get(port)
        if not there:
            problems.append(f"there is no port {port}: run ceph.stage.discovery and networks.populate again")
            continue
        place = places.get(port)
        if path and place and path != place:
            problems.append(
                f"{port} sits at {place}, the plan saw it at {path}: has its card been exchanged? Plan again"
            )
        if (planned := mtu.get(port, 0)) > there.get("max_mtu", planned):
            problems.append(f"{port} can do an MTU of {there['max_mtu']}, {planned} is planned: nothing is applied")
    return problems


def _upon(network: Mapping, links: Mapping, gone: Collection[str]) -> list[str]:
    """What lies on a link that is planned, or that goes, and is not in the plan: it would be lost, at the next boot at
    the latest, when no file of the host's own speaks of that link any more.
    """
    bonds = {port: name for name, link in network["links"].items() for port in link.get("ports", ())}
    taken = {*network["ports"], *network["links"], *gone}
    problems = []
    for name, link in links.items():
        master, kind = link.get("master"), link.get("linkinfo", {}).get("info_kind")
        if name in taken and master and master != bonds.get(name):
            problems.append(f"{name} is a member of {master}: take it out of there or out of the plan")
        elif name not in taken and link.get("link") in taken and kind != "veth":  # whose other end is told as this
            problems.append(
                f"the {kind} {name} lies on {link['link']} and the plan does not have it: run ceph.stage.discovery and "
                "networks.populate again, or take it away"
            )
    return problems


def _lost(network: Mapping, links: Mapping, gone: Collection[str]) -> list[str]:
    """Routes that would be lost: they lie on what a bond takes or what goes. Of default routes those for which the plan
    names no gateway, or one of the other family alone; what a router advertises goes in that case without a word:
    planned links take none of that.
    """
    taken = {*network["ports"], *network["links"], *gone}
    planned = {_address(link["gateway"]).version for link in network["links"].values() if link.get("gateway")}
    problems = []
    for name, link in links.items():
        gateways = link.get("gateways", ()) if name in taken else ()
        lost = [gateway for gateway in gateways if not planned or _other(gateway, planned)]
        lies = f"the default route by {', '.join(map(str, lost))} lies on {name} and the plan names"
        if lost and not planned:
            takes = (each for each in lost if each and not _address(each).is_link_local)  # what populate takes
            one = next(takes, "ADDRESS, which its router has in one of the planned networks")
            problems.append(f"{lies} no gateway: networks.populate gateway={one} ...")
        elif lost:
            problems.append(
                f"{lies} one gateway, of the other family: let that route lie on another port, or remove it"
            )
        for route in link.get("routes", ()) if name in taken else ():
            if not _again(network, route):
                by = f" by {route['gateway']}" if route["gateway"] else ""
                by += f" in table {route['table']}" if "table" in route else ""
                problems.append(
                    f"the route to {route['dst']}{by} lies on {name} and would be lost: let it lie on another port, or "
                    "remove it"
                )
    return problems


def _held(network: Mapping, links: Mapping, gone: Collection[str]) -> list[str]:
    """Addresses on which daemons of Ceph listen, and which the plan takes from the links that it has or that go: such a
    daemon would be cut off, while the master answers over another address.
    """
    taken = {*network["ports"], *network["links"], *gone}
    planned = {ipaddress.ip_interface(text).ip for link in network["links"].values() for text in link["addresses"]}
    lying = {
        ipaddress.ip_address(entry["local"]): name
        for name, link in links.items()
        for entry in link.get("addr_info", ())
        if name in taken and "local" in entry
    }
    going = {each: name for each, name in lying.items() if each not in planned and not each.is_link_local}
    if not going:
        return []
    held: dict[str, set[str]] = {}
    for each in psutil.net_connections("tcp"):
        if each.status == psutil.CONN_LISTEN and each.pid and (address := _address(each.laddr.ip)) in going:
            held.setdefault(str(address), set()).add(_name(each.pid))
    return [
        f"{daemon} listens on {text}, which lies on {going[_address(text)]} and the plan does not have: run "
        "ceph.stage.discovery and networks.populate again"
        for text, names in sorted(held.items())
        for daemon in sorted(names.intersection(DAEMONS))
    ]


def _name(pid: int) -> str:
    try:
        return psutil.Process(pid).name()
    except psutil.Error:  # it has ended
        return ""


def _again(network: Mapping, route: Mapping) -> bool:
    """Whether a route of a DHCP server, such as the one to its name server, leads where the plan leads anyway."""
    if route.get("protocol") != "dhcp" or "table" in route:
        return False
    if route["gateway"]:
        return any(link.get("gateway") == route["gateway"] for link in network["links"].values())
    address = ipaddress.ip_network(route["dst"]).network_address
    addresses = (address for link in network["links"].values() for address in link["addresses"])
    return any(address in ipaddress.ip_interface(text).network for text in addresses)


def _other(gateway: str | None, planned: Collection[int]) -> bool:
    """Whether a gateway is of no planned family, and was given by somebody, not advertised."""
    address = _address(gateway) if gateway else None
    return address is not None and address.version not in planned and not address.is_link_local


def _address(gateway: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(gateway.partition("%")[0])


def _remade(network: Mapping, links: Mapping, differences: Mapping[str, list[str]]) -> list[str]:
    """Links that exist otherwise than any backend would change them in place: deleted and made again."""
    remade = []
    for name, words in differences.items():
        planned = network["links"].get(name)
        if planned and name in links and planned["kind"] != "ethernet":
            hard = [line for line in words if line.startswith(("is VLAN", "is a "))]
            hard += [line for line in words if line.startswith("has ") and line.split()[1] in ("mode", "lacp_rate")]
            remade += [name] if hard else []
    return remade


def _above(links: Mapping, names: Collection[str]) -> list[str]:
    """VLANs on links that are deleted: they go with them."""
    return [name for name, link in links.items() if link.get("link") in names and name not in names]


def _options(network: Mapping, links: Mapping, others: Collection[str]) -> Iterator[tuple[str, str, object]]:
    """Name, option and planned value of each bond that is there and stays as it is; ``others`` do not."""
    for name, link in network["links"].items():
        if link["kind"] == "bond" and name in links and name not in others:
            yield from ((name, key, link[key]) for key in LIVE if key in link)
