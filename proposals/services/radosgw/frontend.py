"""One address before several gateways: HAProxy on some hosts, keepalived to move the address among them::

    rgw_frontend: {address: 192.168.124.100, port: 443, tls: s3, ca: gateways-ca.pem, minions: 'lb*'}

Without ``minions``, on the hosts of the gateways themselves. With ``tls`` HAProxy ends TLS; without, it passes that of
the gateways on unread. ``gateways`` names the configuration that stands behind, where there are several.
"""

import ipaddress
from collections.abc import Mapping
from fnmatch import fnmatchcase

from proposals.networking.nics import NAME
from proposals.services.radosgw.gateway import Gateway
from proposals.services.service import Cluster, Plan
from proposals.text import addresses

KEYS = ("address", "port", "tls", "ca", "minions", "gateways", "router_id")
FOLDER = "/etc/ceph/rgw-frontend"
HEALTH = ("option httpchk GET /swift/healthcheck", "http-check expect status 200")
# A request that reached no gateway, or one that died on it, goes to another; not POST: it may have been done
AGAIN = (
    "option forwardfor",
    "option redispatch",
    "retry-on conn-failure empty-response",
    "http-request disable-l7-retry if METH_POST",
)


def plan(cluster: Cluster, gateways: list[Gateway], made: Plan) -> None:
    """Plan HAProxy and keepalived."""
    said = made.settings("rgw_frontend", cluster.settings["rgw_frontend"], KEYS)
    behind = _behind(said, gateways, made)
    address = _address(said, cluster, made)
    if not behind or address is None:
        return
    tls = "tls" in said
    port = made.port("rgw_frontend: port", said.get("port"), 443 if tls or behind[0].tls else 80)
    files = made.tls("rgw_frontend: tls", said["tls"], cluster) if tls else {}
    if tls and behind[0].tls:
        form = "the certificate that the gateways' one is signed with, in PEM,"
        if ca := made.given("rgw_frontend: ca", said.get("ca", "rgw-ca.pem"), cluster, form):
            files["ca.pem"] = ca
    minions = _minions(said, cluster, behind, made)
    links = {minion: _link(cluster.hosts.get(minion, {}), address) for minion in minions}
    made.problems += [
        f"{minion}: has no address in a network that holds {address} of rgw_frontend: choose other minions or another "
        "address, and run ceph.stage.discovery where the host's networks changed"
        for minion, link in links.items()
        if link is None
    ]
    if None in links.values():
        return
    router = made.number("rgw_frontend: router_id", said.get("router_id", address.packed[-1] or 1), 1, 255)
    made.problems += [
        f"{one.minion}: rgw_frontend wants port {port}, which the gateway {one.configuration} has there: give one of "
        "them another port"
        for one in gateways
        if (one.minion in minions and one.port == port)
    ]
    for place, minion in enumerate(minions):
        name, own = links[minion]
        made.tell(minion, **{f"rgw-frontend/{file}": what for file, what in files.items()})
        made.ports.setdefault(minion, {})[port] = "haproxy"
        made.run(
            "rgw-frontend",
            minion,
            files=sorted(files),
            mode="http" if tls or not behind[0].tls else "tcp",
            bind=f"{address}:{port} transparent{f' ssl crt {FOLDER}/tls.pem' if tls else ''}",
            backend=[*HEALTH, *(AGAIN if tls or not behind[0].tls else ())],
            servers=[_server(gateway, cluster, tls) for gateway in behind],
            address=str(address),
            interface=name,
            own=own,
            peers=[links[other][1] for other in minions if other != minion],
            router_id=router,
            priority=100 - min(place, 98),
            port=port,
        )


def floating(settings: Mapping[str, object]) -> set[str]:
    """The addresses that keepalived moves from host to host."""
    said = settings.get("rgw_frontend")
    return {str(said["address"])} if isinstance(said, Mapping) and "address" in said else set()


def _behind(said: Mapping, gateways: list[Gateway], made: Plan) -> list[Gateway]:
    """The gateways behind: all of one configuration, or all where they are alike."""
    name = said.get("gateways")
    behind = [one for one in gateways if name in (None, one.configuration)]
    if not behind:
        made.problems.append(
            f"rgw_frontend: no minion has the role {name}: add a line to policy.cfg or name another one as 'gateways'"
        )
    if len({bool(one.tls) for one in behind}) > 1:
        made.problems.append(
            "rgw_frontend: some gateways speak TLS and some do not: name the configuration that stands behind, such "
            f"as 'gateways: {behind[0].configuration}'"
        )
        return []
    return behind


def _address(said: Mapping, cluster: Cluster, made: Plan) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that clients use: nobody's yet."""
    try:
        address = ipaddress.ip_address(str(said.get("address")))
    except ValueError:
        made.wrong("rgw_frontend: address", said.get("address"), "an address that no host has, such as 192.168.124.100")
        return None
    for minion, host in sorted(cluster.hosts.items()):
        if any(addresses.ip(own) == address for own in host.get("addresses", ())):
            made.problems.append(f"rgw_frontend: address {address} is that of {minion}: choose one that no host has")
            return None
    return address


def _minions(said: Mapping, cluster: Cluster, behind: list[Gateway], made: Plan) -> list[str]:
    """The hosts that run HAProxy."""
    if "minions" not in said:
        return sorted({one.minion for one in behind})
    found = sorted(minion for minion in cluster.roles if fnmatchcase(minion, str(said["minions"])))
    if not found:
        made.wrong("rgw_frontend: minions", said["minions"], "a glob that matches minions of policy.cfg")
    return found


def _link(host: Mapping, address) -> tuple[str, str] | None:
    """The interface of a host whose network holds an address, and the host's own address there."""
    for nic in host.get("ceph_nics", ()):
        for own in nic.get("addresses", ()):
            if addresses.beside(address, own) and NAME.fullmatch(str(nic.get("name"))):
                return nic["name"], str(addresses.ip(own))
    return None


def _server(gateway: Gateway, cluster: Cluster, ends: bool) -> dict[str, str]:
    """One line of HAProxy's: a gateway, and how its health is asked."""
    place = cluster.address(gateway.minion) or gateway.host
    speaks = f"ssl verify required ca-file {FOLDER}/ca.pem" if ends else "check-ssl verify none"
    options = f"check inter 1s fall 2 rise 2 {speaks if gateway.tls else ''}".strip()
    return {"name": gateway.name, "address": f"{place}:{gateway.port}", "options": options}
