"""``nfs_exports`` of the site's settings: what NFS servers export. Each key is the path that clients mount::

    nfs_exports:
      /cephfs: {file_system: cephfs}
      /home: {file_system: cephfs, path: /home, access: RO, squash: no_root_squash, clients: [10.0.0.0/24]}
      /quick: {file_system: flash, roles: [silver]}
      /photos: {user: alice, bucket: photos}      # without a bucket: all that are the user's
      /backup: {user: backup, access_key: BACKUP01, secret: backup.s3}

A user is one of ``rgw_users``, or has its key here: the secret is the name of a file in
``<pillar_root>/ceph/keys/given`` then.
"""

import ipaddress
import re
import zlib
from collections.abc import Iterable, Mapping

from proposals.services import cephfs
from proposals.services.service import Cluster, Plan
from proposals.text import names

COMMON = ("access", "squash", "clients", "roles", "id")
KEYS = {"file_system": ("file_system", "path", *COMMON), "user": ("user", "bucket", "access_key", "secret", *COMMON)}
ACCESS = {"RW": "rw", "RO": "r"}  # with the capabilities that it takes
SQUASH = ("root_squash", "no_root_squash", "all_squash", "root_id_squash", "no_squash")  # ganesha-export-config(8)
PATH = re.compile(r"/|(/[A-Za-z0-9][A-Za-z0-9._+@-]*)+")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")  # of buckets, S3 users and their keys
IDS = 65535  # Export_Id is a number of 16 bits, 0 is the pseudo file system's own


def read(cluster: Cluster, roles: list[str], made: Plan) -> list[dict]:
    """Return the exports that a site asks for, each with every key, and its capabilities, FSAL block and secrets;
    what is wrong with one is noted in a plan.

    roles
        The roles whose hosts are NFS servers.
    """
    said = cluster.settings.get("nfs_exports", {})
    if not isinstance(said, Mapping):
        made.wrong("nfs_exports", said, "a mapping such as {/cephfs: {file_system: cephfs}}")
        return []
    exports = {str(path): _export(str(path), wanted, cluster, roles, made) for path, wanted in said.items()}
    exports = {path: export for path, export in exports.items() if export}
    made.problems += _twins([(export["pseudo"], path) for path, export in exports.items()], "path")
    made.problems += _twins({(export["id"], export["pseudo"]) for export in exports.values()}, "id")
    return list(exports.values())


def _export(path: str, wanted: object, cluster: Cluster, roles: list[str], made: Plan) -> dict | None:
    """One export; None where something is wrong with it."""
    where = f"nfs_exports: {names.shown(path)}"
    kind = next((key for key in KEYS if isinstance(wanted, Mapping) and key in wanted), None)
    if not kind:
        made.wrong(where, wanted, "{file_system: NAME} or {user: NAME, bucket: NAME}")
        return None
    before, wanted = len(made.problems), made.settings(where, wanted, KEYS[kind])
    pseudo = "/" + path.strip("/")
    export = {
        "pseudo": pseudo,
        "access": str(wanted.get("access", "RW")).upper(),
        "squash": wanted.get("squash", SQUASH[0]),
        "clients": _many(wanted.get("clients", [])),
        "roles": _many(wanted.get("roles", roles)),
        # Part of every file handle: the same on all servers, and whatever else is exported.
        "id": wanted.get("id", zlib.crc32(pseudo.encode()) % IDS + 1),
    }
    rules = {
        "pseudo": (lambda text: text != "/" and PATH.fullmatch(text), "a path such as /cephfs"),
        "access": (ACCESS.__contains__, " or ".join(ACCESS)),
        "squash": (SQUASH.__contains__, f"one of {', '.join(SQUASH)}"),
        "clients": (_is_network, "addresses and networks such as [192.168.1.0/24]"),
        "roles": (roles.__contains__, f"roles of NFS servers: {', '.join(roles)}"),
        "id": (lambda number: type(number) is int and 0 < number <= IDS, f"a number from 1 to {IDS}"),
    }
    _judge(where, export, rules, made)
    of = _of_file_system if kind == "file_system" else _of_user
    export |= of(where, wanted, export["access"], cluster, made)
    return export if len(made.problems) == before else None


def _of_file_system(where: str, wanted: Mapping, access: str, cluster: Cluster, made: Plan) -> dict:
    """What ``ceph fs authorize`` gives for a path (docs.ceph.com, cephfs/client-auth)."""
    systems = cephfs.file_systems(cluster.settings.get("cephfs"), Plan())  # what is wrong with them is said once, there
    export = {"file_system": wanted["file_system"], "path": wanted.get("path", "/")}
    known = f"a file system of the settings' cephfs: {', '.join(systems)}"
    rules = {
        "file_system": (systems.__contains__, known),
        "path": (lambda text: PATH.fullmatch(str(text)), "a directory of the file system such as /home"),
    }
    _judge(where, export, rules, made)
    if not cluster.members("mds"):
        made.problems.append(f"{where}: no minion has the role mds: there is no file system to export")
    name, may = export["file_system"], ACCESS.get(access)
    below = "" if export["path"] == "/" else f" path={export['path']}"
    return {
        "path": export["path"],
        "fsal": {"Name": "CEPH", "Filesystem": name},
        "secrets": {},
        "caps": {
            "mon": f"allow r fsname={name}",
            "mds": f"allow {may} fsname={name}{below}",
            "osd": f"allow {may} tag cephfs data={name}",
        },
    }


def _of_user(where: str, wanted: Mapping, _: str, cluster: Cluster, made: Plan) -> dict:
    """A gateway's library inside the server: the pools are known by their application, as cephadm's keys have it."""
    user, users = wanted["user"], cluster.settings.get("rgw_users") or {}
    known = users.get(user) if isinstance(users, Mapping) else None
    export = {
        "user": user,
        "bucket": wanted.get("bucket", "/"),
        "access_key": wanted.get("access_key", (known or {}).get("access_key", user)),
    }
    shape = (lambda text: NAME.fullmatch(str(text)), "letters, digits, '.', '_', '-'")
    bucket = (lambda text: text == "/" or shape[0](text), "a bucket's name")
    _judge(where, export, {"user": shape, "access_key": shape, "bucket": bucket}, made)
    secret = wanted.get("secret", f"rgw_users.{user}")
    if secret not in cluster.given and not (isinstance(users, Mapping) and user in users and "secret" not in wanted):
        expected = "the name of a file in <pillar_root>/ceph/keys/given (mode 0600), or a user of rgw_users"
        made.wrong(f"{where}: secret", secret, expected)
    return {
        "path": export["bucket"],
        "fsal": {"Name": "RGW", "User_Id": user, "Access_Key_Id": export["access_key"]},
        "secrets": {"Secret_Access_Key": secret},
        "caps": {"mon": "allow r", "osd": "allow rwx tag rgw *=*"},
    }


def _judge(where: str, export: Mapping, rules: Mapping, made: Plan) -> None:
    """Note every value that its rule does not allow."""
    for key, (ok, expected) in rules.items():
        for value in _many(export[key]):
            if not ok(value):
                made.wrong(f"{where}: {key}", value, expected)


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
