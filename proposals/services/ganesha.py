"""``ceph.stage.ganesha``: NFS 4 exports of file systems and of buckets, by NFS-Ganesha.

Servers of one role (``ganesha``, and each name of ``ganesha_configurations``) are one NFS cluster: the same exports
(``nfs_exports``), one database of its clients' grace, whose namespace in the pool ``.nfs`` is the role's name.
"""

from collections.abc import Iterable, Mapping

from proposals.services import nfs_exports
from proposals.services.service import PlannedCluster, Service
from proposals.services.service_plan import ServicePlan, join
from proposals.settings.reader import SiteSettings

POOL = ".nfs"  # cephadm's, so that `ceph nfs` of a later release finds it
PORT, PROCESS = 2049, "ganesha.nfsd"
ROLE = "ganesha"
# What a file system's client caches itself must not be cached twice; of a bucket, directories come in pieces alone
# (the packages' own examples, ceph.conf and rgw.conf).
NO_CACHE = {"MDCACHE": {"Dir_Chunk": 0}}


def configurations(settings: SiteSettings) -> list[str]:
    """The roles whose hosts are NFS servers: ``ganesha`` is always one, the site names the others."""
    return list(dict.fromkeys([ROLE, *settings["ganesha_configurations"]]))


def plan(cluster: PlannedCluster) -> ServicePlan:
    """Plan NFS servers: what each exports, its key, the pool of their grace databases."""
    roles = configurations(cluster.settings)
    servers = {minion: [role for role in roles if role in has] for minion, has in sorted(cluster.roles.items())}
    servers = {minion: has for minion, has in servers.items() if has}
    exports, problems = nfs_exports.read(cluster, roles)
    if exports and not servers:
        problems.append("nfs_exports: no minion has the role ganesha: add a role-ganesha line to policy.cfg")
    own = [_server(cluster, minion, has, exports) for minion, has in servers.items()]
    return join([ServicePlan(problems=tuple(problems)), *own])


def _server(cluster: PlannedCluster, minion: str, roles: list[str], exports: list[dict]) -> ServicePlan:
    """One server, with what its role exports: its part, key, secrets and port."""
    role, host = roles[0], cluster.hostname(minion)
    user = f"{role}.{host}"
    exports = [export for export in exports if role in export["roles"]]
    secrets = sorted({secret for export in exports for secret in export["secrets"].values()})
    part = {
        "name": host,
        "namespace": role,
        "pool": POOL,
        "user": user,
        "blocks": {"RGW": _library(user)} if secrets else NO_CACHE,
        "exports": [_block(export, user) for export in exports],
        "ids": {export["pseudo"]: export["id"] for export in exports},
    }
    return ServicePlan(
        parts={"ganesha": {minion: part}},
        entities={f"client.{user}": _caps(role, exports)},
        secrets={minion: {"ganesha": [f"client.{user}"], **{_use(secret): secret for secret in secrets}}},
        pools={POOL: {"application": "nfs"}},
        ports={minion: {PORT: PROCESS}},
        problems=tuple(_against(minion, roles, exports)),
    )


def _against(minion: str, roles: list[str], exports: list[dict]) -> Iterable[str]:
    """What stands against a server."""
    if len(roles) > 1:
        yield f"{minion}: has the roles {' and '.join(roles)}: a host runs one NFS server"
    if not exports:
        yield (
            f"{minion}: nothing is exported by {roles[0]}: write nfs_exports such as {{/cephfs: {{file_system: "
            "cephfs}}, or take the role away"
        )


def _library(user: str) -> dict[str, str]:
    """How the gateway's library finds the cluster: by itself it looks for its key where gateways have theirs."""
    return {
        "ceph_conf": "/etc/ceph/ceph.conf",
        "name": f"client.{user}",
        "init_args": f"--keyring=/etc/ceph/ceph.client.{user}.keyring",
    }


def _block(export: Mapping, user: str) -> dict:
    """An export as ganesha.conf has it. Where clients are named, others have no access."""
    clients = [{"clients": ", ".join(export["clients"]), "access": export["access"]}] if export["clients"] else []
    return {
        **{key: export[key] for key in ("id", "path", "pseudo", "squash")},
        "secrets": {key: _use(secret) for key, secret in export["secrets"].items()},
        "access": "NONE" if clients else export["access"],
        "clients": clients,
        "fsal": {"User_Id": user, **export["fsal"]},
    }


def _use(secret: str) -> str:
    """By which a minion is told a secret: a site's file may have the name of a keyring."""
    return f"ganesha/{secret}"


def _caps(role: str, exports: Iterable[Mapping]) -> dict[str, str]:
    """The grace database, and what each export takes; each capability once."""
    caps: dict[str, list[str]] = {"osd": [f"allow rw pool={POOL} namespace={role}"]}
    for export in exports:
        for service, cap in export["caps"].items():
            caps.setdefault(service, []).append(cap)
    return {service: ", ".join(dict.fromkeys(each)) for service, each in caps.items()}


SERVICE = Service(
    name="ganesha",
    plan=plan,
    parts=("ganesha",),
    units={"ganesha": ("nfs-ganesha.service",)},
)
