"""Who may use the Ceph Dashboard, on a host with the admin's key: its admin's password, set once; iSCSI gateways."""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence

# In the cluster: whom a password was set for, with a hash to know it by.
KEPT = "halocline/dashboard-admin"


def password_differs(user: str) -> bool:
    """Return whether the password in this host's pillar is not the one that was set last, or was for another user.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard_access.password_differs admin
    """
    kept = json.loads(__salt__["cluster_cli.kept"](KEPT) or "{}")
    return not kept or kept["user"] != user or kept["hash"] != _hash(_password(), kept["salt"])


def set_password(user: str) -> bool:
    """Give an administrator of the dashboard the password in this host's pillar; make the user where it is missing.

    False, and no password is given, where a user of this name was there before any stage gave one. Ceph's rules for
    passwords are passed over: they refuse any that holds such words as "osd", as a random one may.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard_access.set_password admin
    """
    password, words = _password(), [user, "-i", "-", "--force-password"]
    there = user in json.loads(__salt__["cluster_cli.tell_mgr"](["dashboard", "ac-user-show"]))
    ours = not there or json.loads(__salt__["cluster_cli.kept"](KEPT) or "{}").get("user") == user
    if not there:
        __salt__["cluster_cli.tell_mgr"](["dashboard", "ac-user-create", *words, "administrator"], password)
    elif ours:
        __salt__["cluster_cli.tell_mgr"](["dashboard", "ac-user-set-password", *words], password)
    salt = secrets.token_hex(16)
    kept = json.dumps({"user": user, "salt": salt, "hash": _hash(password, salt)})
    __salt__["cluster_cli.tell"](["config-key", "set", KEPT, "-i", "-"], stdin=kept)
    return ours


def gateways(planned: Mapping[str, Sequence[str]], test: bool = False) -> list[str]:
    """Let the dashboard know iSCSI gateways, by the password in this host's pillar; return those that it did not.

    Those that it knows beside them stay.

    planned
        ``{host name: [user, HOST:PORT]}``.
    test
        Only say which.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard_access.gateways '{}' test=True
    """
    if not planned:
        return []
    tell = __salt__[
        f"cluster_cli.{'tell' if test else 'tell_mgr'}"
    ]  # before the first run nobody answers: no need to wait
    listed = json.loads(tell(["dashboard", "iscsi-gateway-list"]))["gateways"]
    password = __pillar__["ceph_secrets"]["dashboard-iscsi"]
    urls = {name: f"http://{user}:{password}@{target}" for name, (user, target) in planned.items()}
    todo = {name: url for name, url in urls.items() if listed.get(name, {}).get("service_url") != url}
    for name, url in todo.items() if not test else ():
        if name in listed:
            __salt__["cluster_cli.tell_mgr"](["dashboard", "iscsi-gateway-rm", name])
        __salt__["cluster_cli.tell_mgr"](["dashboard", "iscsi-gateway-add", "-i", "-", name], url)
    return sorted(todo)


def _password() -> str:
    return __pillar__["ceph_secrets"]["dashboard"]


def _hash(password: str, salt: str) -> str:
    return hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), n=2**14, r=8, p=1).hex()
