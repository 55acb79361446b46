"""``ceph.stage.radosgw``: named gateways, the zone's pools, users; a front and Keystone where the site asks for them.

``rgw_configurations`` of the site's settings, where the defaults are not wanted; each name is a role::

    rgw_configurations: {rgw: {port: 8080}, secure: {tls: rgw}}     # rgw.crt and rgw.key, which the site gives
    rgw_pools: {data: {erasure: 4+2}, index: {device_class: ssd}}
"""

from collections.abc import Mapping

from proposals.services.radosgw import frontend, keystone, users
from proposals.services.radosgw.gateway import Gateway
from proposals.services.service import Cluster, Plan, Service
from proposals.text import names

DEFAULT = "rgw"  # the role's own name is always one of a gateway
KEYS = ("port", "tls")
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


def configurations(settings: Mapping[str, object]) -> Mapping[str, object]:
    """What the site says of each named gateway; ``rgw`` is always one. DeepSea's form is a list of names."""
    said = settings.get("rgw_configurations") or {}
    given = said if isinstance(said, Mapping) else dict.fromkeys(map(str, said)) if isinstance(said, list) else {}
    return {DEFAULT: None, **{str(name): wanted for name, wanted in given.items()}}


def plan(cluster: Cluster, made: Plan) -> None:
    """Plan gateways, their keys, certificates and sections of ceph.conf; pools; users."""
    gateways = _gateways(cluster, made)
    if not gateways:
        made.problems += [
            f"{key}: no minion has a gateway's role: add a role-rgw line to policy.cfg"
            for key in ("rgw_users", "rgw_frontend", "rgw_keystone")
            if cluster.settings.get(key)
        ]
        return
    made.pools |= _pools(cluster.settings.get("rgw_pools"), made)
    identity = keystone.plan(cluster, made)
    for gateway in gateways:
        _run(gateway, identity, made)
    made.cluster = {"users": users.plan(cluster, made)}
    if cluster.settings.get("rgw_frontend"):
        frontend.plan(cluster, gateways, made)


def _gateways(cluster: Cluster, made: Plan) -> list[Gateway]:
    """Every daemon, and what stands against it."""
    found: list[Gateway] = []
    said = cluster.settings.get("rgw_configurations")
    if said is not None and not isinstance(said, list | Mapping):
        made.wrong("rgw_configurations", said, "names of gateways, or a mapping such as {rgw: {port: 8080}}")
    for name, wanted in configurations(cluster.settings).items():
        key = f"rgw_configurations: {names.shown(name)}"
        if not names.PROFILE.fullmatch(name):
            made.wrong("rgw_configurations", name, "a name of letters, digits, '.', '_', '-'")
            continue
        given = made.settings(key, wanted, KEYS)
        members = cluster.members(name)
        tls = made.tls(f"{key}: tls", given["tls"], cluster) if "tls" in given and members else {}
        port = made.port(f"{key}: port", given.get("port"), TLS_PORT if "tls" in given else PORT)
        for minion in members:
            other = next((each for each in found if (each.minion, each.port) == (minion, port)), None)
            if other:
                made.problems.append(
                    f"{minion}: the gateways {other.configuration} and {name} want port {port}: give one of them "
                    "another port in rgw_configurations"
                )
            found.append(Gateway(minion, cluster.hostname(minion), name, port, tls))
    return found


def _run(gateway: Gateway, identity: keystone.Keystone, made: Plan) -> None:
    """Let a host run one gateway, with all files that it reads in one folder of its own."""
    entity, folder = f"client.{gateway.name}", FOLDER.format(gateway.name)
    files: dict[str, list[str] | str] = {"keyring": [entity], **identity.files, **gateway.tls}
    listens = f"port={gateway.port}"
    if gateway.tls:
        listens = f"ssl_port={gateway.port} ssl_certificate={folder}/tls.pem ssl_private_key={folder}/tls.pem.key"
    made.entities[entity] = CAPS
    made.tell(gateway.minion, **{f"{gateway.name}/{name}": what for name, what in files.items()})
    made.ports.setdefault(gateway.minion, {})[gateway.port] = "radosgw"
    told = made.parts.get("rgw", {}).get(gateway.minion, {"gateways": [], "trusted": list(identity.trusted)})
    told["gateways"] = [
        *told["gateways"],
        {"name": gateway.name, "folder": folder, "files": sorted(files), "port": gateway.port},
    ]
    made.run("rgw", gateway.minion, **told)
    if identity.trusted:
        made.tell(gateway.minion, **{name: name for name in identity.trusted})
    made.conf[entity] = {
        "fragment": gateway.configuration,
        "options": {"rgw_frontends": f"beast {listens}", **identity.options(folder)},
    }


def _pools(said: object, made: Plan) -> dict[str, dict]:
    """The zone's pools: made before a gateway could make them by defaults that do not fit."""
    given = made.settings("rgw_pools", said, tuple(POOLS))
    pools = {}
    for kind, name in POOLS.items():
        wanted = made.settings(f"rgw_pools: {kind}", given.get(kind))
        if "erasure" in wanted and kind != "data":
            made.problems.append(f"rgw_pools: {kind}: its keys need replicas: erasure coding is for data alone")
        pools[name] = {"application": "rgw", **(KEYED if kind in ("meta", "log", "index") else {}), **wanted}
    return pools


SERVICE = Service(
    name="radosgw",
    settings=("rgw_configurations", "rgw_pools", "rgw_users", "rgw_frontend", "rgw_keystone"),
    plan=plan,
    on_master="ceph.service.rgw-users",
    parts=("rgw", "rgw-frontend", "client-radosgw"),
    units={"rgw": ("ceph-radosgw@*.service",), "rgw-frontend": ("ceph-rgw-*.service",)},
)
