"""Users of the gateways: ``rgw_users`` of the site's settings, each with one key whose secret the master makes once::

    rgw_users:
      alice: {}
      backup: {display_name: Backups, access_key: BACKUP01, max_buckets: 10, caps: {usage: read}}

Other keys of a user, and users that are not named here, are the admin's own and stay. The secret of a key lies on the
master as the password ``rgw_users.NAME``; a site gives its own as the file of that name.
"""

import re
from collections.abc import Mapping

from proposals.services.service import Cluster, Plan
from proposals.text import names

KEYS = ("display_name", "access_key", "max_buckets", "caps")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# docs.ceph.com, radosgw/admin (add or remove admin capabilities)
CAPS = (
    "users",
    "buckets",
    "metadata",
    "usage",
    "zone",
    "info",
    "bilog",
    "mdlog",
    "datalog",
    "user-policy",
    "amz-cache",
)
PERMS = {"*": "*", "read": "read", "write": "write", "read, write": "*"}


def secret(user: str) -> str:
    """The name of the password that is the secret of a user's key."""
    return f"rgw_users.{user}"


def plan(cluster: Cluster, made: Plan) -> list[dict]:
    """Plan the users: what the master's host makes of them, without secrets; who knows these."""
    users = []
    for name, said in made.settings("rgw_users", cluster.settings.get("rgw_users")).items():
        if not NAME.fullmatch(name):
            made.wrong("rgw_users", name, "a name of letters, digits, '.', '_', '-'")
            continue
        users.append(_user(name, made.settings(f"rgw_users: {name}", said, KEYS), made))
    keys = [user["access_key"] for user in users]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        made.problems.append(f"rgw_users: access_key {key} is given to several users: a key belongs to one")
    clients = cluster.members("client-radosgw")
    for minion in clients:
        made.run("client-radosgw", minion, users=users)
    for name in [user["name"] for user in users]:
        made.passwords.add(secret(name))
        for minion in {*cluster.members("master"), *clients}:
            made.tell(minion, **{secret(name): secret(name)})
    return users


def _user(name: str, said: Mapping, made: Plan) -> dict:
    """One user, with every key."""
    access_key, buckets = str(said.get("access_key", name)), said.get("max_buckets")
    if not NAME.fullmatch(access_key):
        made.wrong(f"rgw_users: {name}: access_key", access_key, "letters, digits, '.', '_', '-'")
    if buckets is not None and (type(buckets) is not int or buckets < 1):
        made.wrong(f"rgw_users: {name}: max_buckets", buckets, "a whole number from 1 on")
    caps = made.settings(f"rgw_users: {name}: caps", said.get("caps"), CAPS)
    for kind, perm in caps.items():
        if perm not in PERMS:
            made.wrong(f"rgw_users: {name}: caps: {kind}", perm, f"one of {', '.join(map(repr, PERMS))}")
    return {
        "name": name,
        "display_name": names.shown(said.get("display_name", name)),
        "access_key": access_key,
        "secret": secret(name),
        "max_buckets": buckets,
        "caps": {kind: PERMS.get(perm) for kind, perm in sorted(caps.items())},
    }
