"""Users of the gateways, on a host with the admin's key, by ``radosgw-admin``.

It takes keys as arguments, which every user of the host sees, or makes them itself; but a user's whole record it reads
from standard input (``metadata put``), and keeps its indices by it. So that is the one way in here: it makes a user and
its key in one step, which cannot be interrupted half-way.
"""

import json
import subprocess

from salt.exceptions import CommandExecutionError

LIMIT = 120  # seconds; the first command of a cluster makes the zone
ABSENT = 2  # ENOENT: its exit status where there is no such record
UNKNOWN = (2, 13, 22)  # and where nobody has such a key
# What `radosgw-admin user create` gives where nobody says otherwise
DEFAULTS = {"max_buckets": 1000, "op_mask": "read, write, delete", "type": "rgw"}


def changes(user, secret):
    """Return what of a user is otherwise, by words without secrets: ``[key, caps, ...]``.

    user
        ``{name, display_name, access_key, max_buckets, caps}`` as the master planned it.
    secret
        Where in this minion's ``ceph_secrets`` its key's secret lies.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_rgw_users.changes '{name: alice, ...}' rgw_users.alice
    """
    return _differs(_record(user["name"]), _wanted(user, secret))


def apply(user, secret):
    """Bring a user to what is wanted; its other keys, and what is not named, stay. Arguments as for ``changes``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_rgw_users.apply '{name: alice, ...}' rgw_users.alice
    """
    record, wanted = _record(user["name"]), _wanted(user, secret)
    todo = _differs(record, wanted)
    if todo:
        (key,) = wanted["keys"]
        owner = _json(["user", "info", "--access-key", key["access_key"]], UNKNOWN)
        if owner and owner["user_id"] != user["name"]:
            raise CommandExecutionError(
                f"the access key {key['access_key']} is that of {owner['user_id']} already: give {user['name']} another"
            )
        others = [one for one in record.get("keys", ()) if one["access_key"] != key["access_key"]]
        data = {**DEFAULTS, **record, **wanted, "keys": [*others, key]}
        _run(["metadata", "put", f"user:{user['name']}"], json.dumps({"data": data}))
        if left := _differs(_record(user["name"]), wanted):
            raise CommandExecutionError(f"radosgw-admin did not take {', '.join(left)} of {user['name']}")
    return todo


def _wanted(user, secret):
    """The part of a user's record that pillar says."""
    name, known = user["name"], __pillar__["ceph_secrets"]
    said = {"user_id": name, "display_name": user["display_name"]}
    said["keys"] = [{"user": name, "access_key": user["access_key"], "secret_key": known[secret]}]
    if user["max_buckets"]:
        said["max_buckets"] = user["max_buckets"]
    if user["caps"]:
        said["caps"] = [{"type": kind, "perm": perm} for kind, perm in sorted(user["caps"].items())]
    return said


def _differs(record, wanted):
    (key,) = wanted["keys"]
    found = [word for word in wanted if word != "keys" and record.get(word) != wanted[word]]
    return found + (["key"] if key not in record.get("keys", ()) else [])


def _record(name):
    """A user's record; empty where there is none."""
    return _json(["metadata", "get", f"user:{name}"], (ABSENT,)).get("data", {})


def _json(words, absent):
    """What a command answers; empty where the cluster has no such thing."""
    out = _run(words, ok=(0, *absent))
    return json.loads(out) if out.strip() else {}


def _run(words, stdin=None, ok=(0,)):
    """A command's standard output, which holds keys: none of it goes into an error."""
    command = ["radosgw-admin", *words]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise CommandExecutionError(f"{' '.join(command)}: no end after {LIMIT} s") from None
    if done.returncode not in ok:
        raise CommandExecutionError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout
