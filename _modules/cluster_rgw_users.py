"""Users of the gateways, on a host with the admin's key, by ``radosgw-admin``.

It takes keys as arguments, which every user of the host sees, or makes them itself; but a user's whole record it reads
from standard input (``metadata put``), and keeps its indices by it. So that is the one way in here: it makes a user and
its key in one step, which cannot be interrupted half-way.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 120  # seconds; the first command of a cluster makes the zone
ABSENT = 2  # ENOENT: its exit status where there is no such record
UNKNOWN = (2, 13, 22)  # and where nobody has such a key
# What `radosgw-admin user create` gives where nobody says otherwise
DEFAULTS = {"max_buckets": 1000, "op_mask": "read, write, delete", "type": "rgw"}


def answers(name: str) -> bool:
    """Read a user's record, which may not be there; raise where the gateways' pools do not answer.

    name
        The user's name.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_rgw_users.answers alice
    """
    _record(name)
    return True


def changes(user: Mapping, secret: str) -> list[str]:
    """Return what of a user differs from the plan, without secrets: ``[key, caps, ...]``.

    user
        ``{name, display_name, access_key, max_buckets, caps}`` as the master planned it.
    secret
        Where in this minion's ``ceph_secrets`` its key's secret lies.

    Raises where its key has another secret that the master never had, and the site gave none: none is replaced unasked.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_rgw_users.changes '{name: alice, ...}' rgw_users.alice
    """
    record, planned = _record(user["name"]), _planned(user, secret)
    _refuse(user, secret, record, planned)
    return _differs(record, planned)


def apply(user: Mapping, secret: str) -> list[str]:
    """Bring a user to what is planned; its other keys, and what is not named, stay. Arguments as for ``changes``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_rgw_users.apply '{name: alice, ...}' rgw_users.alice
    """
    record, planned = _record(user["name"]), _planned(user, secret)
    _refuse(user, secret, record, planned)
    todo = _differs(record, planned)
    if todo:
        (key,) = planned["keys"]
        owner = _json(["user", "info", "--access-key", key["access_key"]], UNKNOWN)
        if owner and owner["user_id"] != user["name"]:
            raise CommandExecutionError(
                f"the access key {key['access_key']} is that of {owner['user_id']} already: give {user['name']} another"
            )
        others = [other for other in record.get("keys", ()) if other["access_key"] != key["access_key"]]
        data = {**DEFAULTS, **record, **planned, "keys": [*others, {**_own(record, key), **key}]}
        # As it is: of "\ud83d\ude00" radosgw-admin makes two characters (json_spirit_reader_template.h)
        _run(["metadata", "put", f"user:{user['name']}"], json.dumps({"data": data}, ensure_ascii=False))
        if left := _differs(_record(user["name"]), planned):
            raise CommandExecutionError(f"radosgw-admin did not take {', '.join(left)} of {user['name']}")
    return todo


def _refuse(user: Mapping, secret: str, record: Mapping, planned: Mapping) -> None:
    (key,) = planned["keys"]
    had, earlier = _own(record, key).get("secret_key"), __pillar__.get("ceph_earlier_keys", {}).get(secret, ())
    ours = had in (None, key["secret_key"]) or hashlib.sha256(had.encode()).hexdigest() in earlier
    if not (ours or user.get("given")):
        raise CommandExecutionError(
            f"{user['name']}: its access key {key['access_key']} has another secret than the master's: nothing was "
            f"replaced; put that secret into <pillar_root>/ceph/keys/given/{secret}, or name another access_key, run "
            "ceph.stage.configure, then this again; where nobody uses it: 'radosgw-admin key rm --uid "
            f"{user['name']} --key-type s3 --access-key {key['access_key']}'"
        )


def _planned(user: Mapping, secret: str) -> dict:
    """The part of a user's record that pillar has."""
    name = user["name"]
    key = {"user": name, "access_key": user["access_key"], "secret_key": __pillar__["ceph_secrets"][secret]}
    planned = {"user_id": name, "display_name": user["display_name"], "keys": [key]}
    if user["max_buckets"]:
        planned["max_buckets"] = user["max_buckets"]
    if user["caps"] or user.get("bare"):  # a generation of an earlier version does not tell empty ones from none said
        planned["caps"] = [{"type": kind, "perm": perm} for kind, perm in sorted(user["caps"].items())]
    return planned


def _differs(record: Mapping, planned: Mapping) -> list[str]:
    (key,) = planned["keys"]
    differs = [word for word in planned if word != "keys" and record.get(word) != planned[word]]
    return differs + ([] if key.items() <= _own(record, key).items() else ["key"])


def _own(record: Mapping, key: Mapping) -> Mapping:
    """A planned key as a user's record has it, which of newer gateways tells more of it (``active``); else empty."""
    return next((each for each in record.get("keys", ()) if each["access_key"] == key["access_key"]), {})


def _record(name: str) -> dict:
    """A user's record; empty where there is none."""
    return _json(["metadata", "get", f"user:{name}"], (ABSENT,)).get("data", {})


def _json(words: Sequence[str], absent: Collection[int]) -> dict:
    """What a command answers; empty where the cluster has no such thing."""
    out = _run(words, ok=(0, *absent))
    return json.loads(out) if out.strip() else {}


def _run(words: Sequence[str], stdin: str | None = None, ok: Collection[int] = (0,)) -> str:
    return halocline.run(["radosgw-admin", *words], stdin=stdin, ok=ok, limit=LIMIT, secret=True)
