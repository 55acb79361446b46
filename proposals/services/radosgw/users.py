"""Users of the gateways: ``rgw_users`` of the site's settings, each with one key whose secret the master makes once::

    rgw_users:
      alice: {}
      backup: {display_name: Backups, access_key: BACKUP01, max_buckets: 10, caps: {usage: read}}

Other keys of a user, and users that are not named here, are the admin's own and stay. The secret of a key lies on the
master as the password ``rgw_users.NAME``; a site gives its own as the file of that name. One that gateways have already
and the master never had is not replaced unasked.
"""

from collections.abc import Collection, Iterable, Mapping

from proposals.services.service import PlannedCluster
from proposals.services.service_plan import ServicePlan, join

EVERYTHING = {"read, write": "*"}  # as radosgw-admin shows it


def secret(user: str) -> str:
    """The name of the password that is the secret of a user's key."""
    return f"rgw_users.{user}"


def plan(cluster: PlannedCluster) -> ServicePlan:
    """Plan the users: what the master's host makes of them, without secrets; who knows these."""
    users = [_user(name, written, cluster.given) for name, written in cluster.settings["rgw_users"].items()]
    clients = cluster.members("client-radosgw")
    everywhere = ServicePlan(
        parts={"client-radosgw": {minion: {"users": users} for minion in clients}} if clients else {},
        cluster={"users": users} if users or "adopted_gateways" not in cluster.settings.written else {},
        problems=tuple(_twins([user["access_key"] for user in users])),
    )
    knowing = sorted({*cluster.members("master"), *clients})
    return join([everywhere, *(_secret(secret(user["name"]), knowing) for user in users)])


def _secret(name: str, minions: list[str]) -> ServicePlan:
    return ServicePlan(passwords=frozenset({name}), secrets={minion: {name: name} for minion in minions})


def _twins(keys: list[str]) -> Iterable[str]:
    """Access keys of several users."""
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield f"rgw_users: access_key {key} is given to several users: a key belongs to one"


def _user(name: str, written: Mapping, given: Collection[str]) -> dict:
    """One user, with every key."""
    caps = written["caps"] or {}
    return {
        "name": name,
        "display_name": written["display_name"] or name,
        "access_key": written["access_key"] or name,
        "secret": secret(name),
        "given": secret(name) in given,  # the site's own word, in place of whatever gateways have
        "max_buckets": written["max_buckets"],
        "caps": {kind: EVERYTHING.get(perm, perm) for kind, perm in sorted(caps.items())},
        "bare": written["caps"] == {},  # the last capability goes
    }
