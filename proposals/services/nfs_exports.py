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

import zlib
from collections.abc import Iterable, Mapping

from proposals.services import cephfs
from proposals.services.given import FOLDER
from proposals.services.service import PlannedCluster
from proposals.settings.files import IDS
from proposals.settings.kinds import wrong
from proposals.text.names import shown

MAY = {"RW": "rw", "RO": "r"}  # the capability that each access takes


def read(cluster: PlannedCluster, roles: list[str]) -> tuple[list[dict], list[str]]:
    """Return the exports that a site asks for, each with every key, and its capabilities, FSAL block and secrets; and
    what is wrong with others.

    roles
        The roles whose hosts are NFS servers.
    """
    exports, problems = {}, []
    for path, written in cluster.settings["nfs_exports"].items():
        export, wrongs = _export(path, written, cluster, roles)
        problems += wrongs
        if not wrongs:
            exports[path] = export
    problems += _twins([(export["pseudo"], path) for path, export in exports.items()], "path")
    problems += _twins({(export["id"], export["pseudo"]) for export in exports.values()}, "id")
    return list(exports.values()), problems


def _export(path: str, written: Mapping, cluster: PlannedCluster, roles: list[str]) -> tuple[dict, list[str]]:
    """One export, and what is wrong with it."""
    where, pseudo = f"nfs_exports: {shown(path)}", "/" + path.strip("/")
    problems = [
        wrong(f"{where}: roles", role, f"roles of NFS servers: {', '.join(roles)}")
        for role in written["roles"] or ()
        if role not in roles
    ]
    of, wrongs = (_of_user if "user" in written else _of_file_system)(where, written, cluster)
    return {
        "pseudo": pseudo,
        "access": written["access"],
        "squash": written["squash"],
        "clients": written["clients"],
        "roles": written["roles"] or roles,
        # Part of every file handle: the same on all servers, and whatever else is exported.
        "id": written["id"] or zlib.crc32(pseudo.encode()) % IDS + 1,
        **of,
    }, problems + wrongs


def _of_file_system(where: str, written: Mapping, cluster: PlannedCluster) -> tuple[dict, list[str]]:
    """What ``ceph fs authorize`` gives for a path (docs.ceph.com, cephfs/client-auth)."""
    name, path, may = written["file_system"], written["path"], MAY[written["access"]]
    systems, problems = cephfs.names(cluster.settings), []
    if name not in systems:
        expected = f"a file system of the settings' cephfs: {', '.join(systems)}"
        problems.append(wrong(f"{where}: file_system", name, expected))
    if not cluster.members("mds"):
        problems.append(f"{where}: no minion has the role mds: there is no file system to export")
    below = "" if path == "/" else f" path={path}"
    return {
        "path": path,
        "fsal": {"Name": "CEPH", "Filesystem": name},
        "secrets": {},
        "caps": {
            "mon": f"allow r fsname={name}",
            "mds": f"allow {may} fsname={name}{below}",
            "osd": f"allow {may} tag cephfs data={name}",
        },
    }, problems


def _of_user(where: str, written: Mapping, cluster: PlannedCluster) -> tuple[dict, list[str]]:
    """A gateway's library inside the server: the pools are known by their application, as cephadm's keys have it."""
    user, users, problems = written["user"], cluster.settings["rgw_users"], []
    secret = written["secret"] or f"rgw_users.{user}"
    if secret not in cluster.given and (written["secret"] or user not in users):
        expected = f"the name of a file in {FOLDER} (mode 0600), or a user of rgw_users"
        problems.append(wrong(f"{where}: secret", secret, expected))
    access_key = written["access_key"] or users.get(user, {}).get("access_key") or user
    return {
        "path": written["bucket"],
        "fsal": {"Name": "RGW", "User_Id": user, "Access_Key_Id": access_key},
        "secrets": {"Secret_Access_Key": secret},
        "caps": {"mon": "allow r", "osd": "allow rwx tag rgw *=*"},
    }, problems


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
