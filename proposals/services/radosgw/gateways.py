"""``ceph.stage.radosgw``: named gateways, the zone's pools, users; a front and Keystone where the site asks for them.

``rgw_configurations`` of the site's settings, where the defaults are not wanted; each name is a role::

    rgw_configurations: {rgw: {port: 8080}, secure: {tls: rgw}}     # rgw.crt and rgw.key, which the site gives
    rgw_pools: {data: {erasure: 4+2}, index: {device_class: ssd}}
"""

from collections.abc import Collection, Mapping

from proposals.services import given
from proposals.services.radosgw import frontend, keystone, users
from proposals.services.radosgw.gateway import Gateway
from proposals.services.service import CRASH, PlannedCluster, Service
from proposals.services.service_plan import ServicePlan, join
from proposals.settings.reader import SiteSettings
from proposals.text.names import shown

ADOPTED = "adopted_gateways"  # said where others made the zone
DEFAULT = "rgw"  # the role's own name is always one of a gateway
PORT, TLS_PORT = 80, 443
FOLDER = "/var/lib/ceph/radosgw/ceph-{}"
# As docs.ceph.com, man/8/radosgw, but of pools those alone whose application is rgw, as cephadm does it
CAPS = {"mon": "allow rw", "mgr": "allow r", "osd": "allow rwx tag rgw *=*"}
# The pools of the zone `default` (docs.ceph.com, radosgw/layout and radosgw/pools), by the words of `rgw_pools`
POOLS = {
    "root": ".rgw.root",
    "control": "default.rgw.control",
    "meta": "default.rgw.meta",
    "log": "default.rgw.log",
    "index": "default.rgw.buckets.index",
    "non-ec": "default.rgw.buckets.non-ec",
    "data": "default.rgw.buckets.data",
}
# What a gateway gives pools of many keys and few bytes when it makes them: rgw_rados_pool_pg_num_min, .._autoscale_bias
KEYED = {"pg_num_min": 8, "pg_autoscale_bias": 4}


def configurations(settings: SiteSettings) -> dict[str, Mapping]:
    """What the site says of each named gateway; ``rgw`` is always one."""
    return {DEFAULT: {"port": None, "tls": None}, **settings["rgw_configurations"]}


def plan(cluster: PlannedCluster) -> ServicePlan:
    """Plan gateways, their keys, certificates and sections of ceph.conf; pools; users."""
    gateways, problems = _gateways(cluster)
    if not gateways:
        asked = [key for key in ("rgw_users", "rgw_frontend", "rgw_keystone") if cluster.settings[key]]
        lacking = (f"{key}: no minion has a gateway's role: add a role-rgw line to policy.cfg" for key in asked)
        return ServicePlan(problems=(*problems, *lacking))
    pools, wrong_pools = _pools(cluster.settings)
    identity, wrong_identity = keystone.plan(cluster)
    return join(
        [
            ServicePlan(pools=pools, problems=(*problems, *wrong_pools, *wrong_identity)),
            *(_gateway(gateway, identity, cluster.settings[ADOPTED]) for gateway in gateways),
            *(_host(minion, gateways, identity) for minion in sorted({gateway.minion for gateway in gateways})),
            users.plan(cluster),
            frontend.plan(cluster, gateways),
        ]
    )


def _gateways(cluster: PlannedCluster) -> tuple[list[Gateway], list[str]]:
    """Every daemon, and what stands against it."""
    gateways: list[Gateway] = []
    problems: list[str] = []
    for name, written in configurations(cluster.settings).items():
        members = cluster.members(name)
        tls: Mapping[str, str] = {}
        if written["tls"] and members:
            tls, wrongs = given.tls(f"rgw_configurations: {shown(name)}: tls", written["tls"], cluster)
            problems += wrongs
        port = written["port"] or (TLS_PORT if written["tls"] else PORT)
        for minion in members:
            other = next((gateway for gateway in gateways if (gateway.minion, gateway.port) == (minion, port)), None)
            if other:
                problems.append(
                    f"{minion}: the gateways {other.configuration} and {name} want port {port}: give one of them "
                    "another port in rgw_configurations"
                )
            gateways.append(Gateway(minion, cluster.hostname(minion), name, port, tls))
    return gateways, problems


def _host(minion: str, gateways: list[Gateway], identity: keystone.Keystone) -> ServicePlan:
    """A host's gateways: one part, which names them all."""
    trusted = list(identity.trusted)
    part = [
        {
            "name": gateway.name,
            "folder": FOLDER.format(gateway.name),
            "files": sorted(_files(gateway, identity)),
            "port": gateway.port,
        }
        for gateway in gateways
        if gateway.minion == minion
    ]
    return ServicePlan(
        parts={"rgw": {minion: {"gateways": part, "trusted": trusted}}},
        secrets={minion: {**CRASH, **{f"trusted/{name}": name for name in trusted}}},
    )


def _files(gateway: Gateway, identity: keystone.Keystone) -> dict[str, list[str] | str]:
    """All that a gateway reads at its start, in one folder of its own."""
    return {"keyring": [f"client.{gateway.name}"], **identity.files, **gateway.tls}


def _gateway(gateway: Gateway, identity: keystone.Keystone, theirs: Collection[str]) -> ServicePlan:
    """One gateway's key, files, port and section of ceph.conf; that of others' stands in the site's own fragment."""
    entity, folder = f"client.{gateway.name}", FOLDER.format(gateway.name)
    listens = f"port={gateway.port}"
    if gateway.tls:
        listens = f"ssl_port={gateway.port} ssl_certificate={folder}/tls.pem ssl_private_key={folder}/tls.pem.key"
    options = {"rgw_frontends": f"beast {listens}", **identity.options(folder)}
    found = gateway.configuration == DEFAULT and gateway.host in theirs
    files = {f"{gateway.name}/{name}": what for name, what in _files(gateway, identity).items()}
    return ServicePlan(
        entities={entity: CAPS},
        secrets={gateway.minion: files},
        ports={gateway.minion: {gateway.port: "radosgw"}},
        conf={} if found else {entity: {"fragment": gateway.configuration, "options": options}},
    )


def _pools(settings: SiteSettings) -> tuple[dict[str, dict], list[str]]:
    """The zone's pools: made before a gateway could make them by defaults that do not fit; none of others' zone."""
    written = settings["rgw_pools"]
    if ADOPTED in settings.written:
        asked = "rgw_pools" in settings.written
        return {}, ["rgw_pools: the zone was adopted and keeps its pools: take rgw_pools out"] if asked else []
    pools = {
        name: {"application": "rgw", **(KEYED if kind in ("meta", "log", "index") else {}), **written[kind]}
        for kind, name in POOLS.items()
    }
    return pools, [
        f"rgw_pools: {kind}: its keys need replicas: erasure coding is for data alone"
        for kind in POOLS
        if "erasure" in written[kind] and kind != "data"
    ]


SERVICE = Service(
    name="radosgw",
    plan=plan,
    on_master="ceph.service.rgw-users",
    parts=("rgw", "rgw-frontend", "client-radosgw"),
    units={"rgw": ("ceph-radosgw@*.service",), "rgw-frontend": ("ceph-rgw-*.service",)},
)
