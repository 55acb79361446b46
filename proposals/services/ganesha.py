"""``ceph.stage.ganesha``: NFS 4 exports of file systems and of buckets, by NFS-Ganesha.

``nfs_exports`` of the site's settings; each key is the path that clients mount::

    nfs_exports:
      /cephfs: {file_system: cephfs}
      /home: {file_system: cephfs, path: /home, access: RO, squash: no_root_squash, clients: [10.0.0.0/24]}
      /quick: {file_system: flash, roles: [silver]}

Servers of one role (``ganesha``, and each name of ``ganesha_configurations``) are one NFS cluster: the same exports,
one database of its clients' grace, whose namespace in the pool ``.nfs`` is the role's name.
"""

import ipaddress
import re
import zlib
from collections.abc import Iterable, Mapping

from proposals import names
from proposals.services import cephfs
from proposals.services.service import Cluster, Plan, Service

POOL = ".nfs"  # cephadm's, so that `ceph nfs` of a later release finds it
PORT, PROCESS = 2049, "ganesha.nfsd"
ROLE = "ganesha"
KEYS = ("file_system", "path", "access", "squash", "clients", "roles", "id")
ACCESS = {"RW": "rw", "RO": "r"}  # with the capabilities that it takes
SQUASH = ("root_squash", "no_root_squash", "all_squash", "root_id_squash", "no_squash")  # ganesha-export-config(8)
PATH = re.compile(r"/|(/[A-Za-z0-9][A-Za-z0-9._+@-]*)+")
IDS = 65535  # Export_Id is a number of 16 bits, 0 is the pseudo file system's own


def plan(cluster: Cluster, made: Plan) -> None:
    """Plan NFS servers: what each exports, its key, the pool of their grace databases."""
    roles = _roles(cluster.settings)
    servers = {minion: [role for role in roles if role in has] for minion, has in sorted(cluster.roles.items())}
    servers = {minion: has for minion, has in servers.items() if has}
    exports = _exports(cluster, roles, made) if servers or "nfs_exports" in cluster.settings else []
    if exports and not servers:
        made.problems.append("nfs_exports: no minion has the role ganesha: add a role-ganesha line to policy.cfg")
        return
    for minion, has in servers.items():
        if len(has) > 1:
            made.problems.append(f"{minion}: has the roles {' and '.join(has)}: a host runs one NFS server")
        mine = [export for export in exports if has[0] in export["roles"]]
        if not mine:
            made.problems.append(
                f"{minion}: nothing is exported by {has[0]}: write nfs_exports such as {{/cephfs: {{file_system: "
                "cephfs}}}}, or take the role away"
            )
        _serve(cluster, made, minion, has[0], mine)


def _serve(cluster: Cluster, made: Plan, minion: str, role: str, exports: list[dict]) -> None:
    """One server: its part, key and port."""
    host = cluster.hostname(minion)
    user = f"{role}.{host}"
    made.pools[POOL] = {"application": "nfs"}
    made.ports[minion] = {PORT: PROCESS}
    made.entities[f"client.{user}"] = _caps(role, exports)
    made.tell(minion, ganesha=[f"client.{user}"])
    made.run(
        "ganesha",
        minion,
        name=host,
        namespace=role,
        pool=POOL,
        user=user,
        grace=f"ganesha-rados-grace --userid {user} --pool {POOL} --ns {role}",
        exports=[_block(export, user) for export in exports],
        ids={export["pseudo"]: export["id"] for export in exports},
    )


def _block(export: Mapping, user: str) -> dict:
    """An export as ganesha.conf has it. Where clients are named, others have no access."""
    clients = [{"clients": ", ".join(export["clients"]), "access": export["access"]}] if export["clients"] else []
    return {
        "id": export["id"],
        "path": export["path"],
        "pseudo": export["pseudo"],
        "access": "NONE" if clients else export["access"],
        "squash": export["squash"],
        "clients": clients,
        "fsal": {"Name": "CEPH", "Filesystem": export["file_system"], "User_Id": user},
    }


def _caps(role: str, exports: Iterable[Mapping]) -> dict[str, str]:
    """The grace database, and what ``ceph fs authorize`` gives for each export's path (docs.ceph.com, cephfs/nfs and
    cephfs/client-auth).
    """
    osd = {f"allow rw pool={POOL} namespace={role}": None}  # a dict keeps each once, in order
    mon, mds = {}, {}
    for export in exports:
        name, may = export["file_system"], ACCESS[export["access"]]
        where = "" if export["path"] == "/" else f" path={export['path']}"
        mon[f"allow r fsname={name}"] = None
        mds[f"allow {may} fsname={name}{where}"] = None
        osd[f"allow {may} tag cephfs data={name}"] = None
    return {service: ", ".join(caps) for service, caps in (("mon", mon), ("mds", mds), ("osd", osd)) if caps}


def _roles(settings: Mapping) -> list[str]:
    """The roles whose hosts are NFS servers."""
    return list(dict.fromkeys([ROLE, *(settings.get("ganesha_configurations") or ())]))


def _exports(cluster: Cluster, roles: list[str], made: Plan) -> list[dict]:
    """The exports that a site asks for, each with every key; what is wrong with one is a problem."""
    said = cluster.settings.get("nfs_exports", {})
    if not isinstance(said, Mapping):
        made.wrong("nfs_exports", said, "a mapping such as {/cephfs: {file_system: cephfs}}")
        return []
    if said and not cluster.members("mds"):
        made.problems.append("nfs_exports: no minion has the role mds: there is no file system to export")
        return []
    systems = cephfs.file_systems(cluster.settings.get("cephfs"), Plan())  # what is wrong with them is said once, there
    exports = {
        str(path): export
        for path, wanted in said.items()
        if (export := _export(names.shown(path), path, wanted, systems, roles, made))
    }
    made.problems += _twins([(export["pseudo"], path) for path, export in exports.items()], "path")
    made.problems += _twins({(export["id"], export["pseudo"]) for export in exports.values()}, "id")
    return list(exports.values())


def _export(shown: str, pseudo: object, wanted: object, systems: Mapping, roles: list[str], made: Plan) -> dict | None:
    """One export; None where something is wrong with it."""
    if not isinstance(wanted, Mapping):
        made.wrong(f"nfs_exports: {shown}", wanted, "a mapping such as {file_system: cephfs}")
        return None
    before = len(made.problems)
    export = _filled(str(pseudo), made.settings(f"nfs_exports: {shown}", wanted, KEYS), roles)
    for key, ok, expected in (
        ("pseudo", lambda text: text != "/" and PATH.fullmatch(text), "a path such as /cephfs"),
        ("path", lambda text: PATH.fullmatch(str(text)), "a directory of the file system such as /home"),
        ("file_system", systems.__contains__, f"a file system of the settings' cephfs: {', '.join(systems)}"),
        ("access", ACCESS.__contains__, " or ".join(ACCESS)),
        ("squash", SQUASH.__contains__, f"one of {', '.join(SQUASH)}"),
        ("clients", _is_network, "addresses and networks such as [192.168.1.0/24]"),
        ("roles", roles.__contains__, f"roles of NFS servers: {', '.join(roles)}"),
        ("id", lambda number: type(number) is int and 0 < number <= IDS, f"a number from 1 to {IDS}"),
    ):
        for value in _many(export[key]):
            if not ok(value):
                made.wrong(f"nfs_exports: {shown}: {key}", value, expected)
    return export if len(made.problems) == before else None


def _filled(pseudo: str, wanted: Mapping, roles: list[str]) -> dict:
    """An export with every key, whatever is in them."""
    pseudo = "/" + pseudo.strip("/")
    return {
        "pseudo": pseudo,
        "path": wanted.get("path", "/"),
        "file_system": wanted.get("file_system"),
        "access": str(wanted.get("access", "RW")).upper(),
        "squash": wanted.get("squash", SQUASH[0]),
        "clients": _many(wanted.get("clients", [])),
        "roles": _many(wanted.get("roles", roles)),
        # Part of every file handle: the same on all servers, and whatever else is exported.
        "id": wanted.get("id", zlib.crc32(pseudo.encode()) % IDS + 1),
    }


def _many(value: object) -> list:
    return value if isinstance(value, list) else [value]


def _is_network(text: object) -> bool:
    try:
        ipaddress.ip_network(str(text))
    except ValueError:
        return False
    return True


def _twins(exports: Iterable[tuple[object, str]], what: str) -> list[str]:
    """A problem for each path or id that two exports have; of both the settings' own words."""
    by_value: dict[object, list[str]] = {}
    for value, name in sorted(exports):
        by_value.setdefault(value, []).append(name)
    return [
        f"nfs_exports: {' and '.join(each)} have the {what} {value}: give one of them another {what}"
        for value, each in by_value.items()
        if len(each) > 1
    ]


SERVICE = Service(
    name="ganesha",
    settings=("nfs_exports", "ganesha_configurations"),
    plan=plan,
    parts=("ganesha",),
    units={"ganesha": ("nfs-ganesha.service",)},
)
