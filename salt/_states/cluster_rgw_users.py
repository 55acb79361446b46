"""Users of the gateways as a state."""

from collections.abc import Mapping, Sequence
from typing import Any

import halocline


@halocline.cluster_state
def answered(name: str, users: Sequence[Mapping[str, Any]]) -> dict:
    """Users' records can be read, tried by that of the first: where no placement group serves, each would wait."""
    if users and not __opts__["test"]:
        __salt__["cluster_rgw_users.answers"](users[0]["name"])
    return halocline.unchanged(name, "users' records can be read")


@halocline.cluster_state
def present(
    name: str,
    secret: str,
    display_name: str,
    access_key: str,
    max_buckets: int | None = None,
    caps: Mapping[str, str] | None = None,
    bare: bool = False,
    given: bool = False,
) -> dict:
    """A user is there with this key, whose secret lies at ``secret`` of this minion's ``ceph_secrets``.

    given
        Whether the site gave that secret; one that gateways have otherwise is replaced then.
    bare
        Whether empty ``caps`` mean none; else those that the user has stay then.
    """
    user = {
        "name": name,
        "display_name": display_name,
        "access_key": access_key,
        "max_buckets": max_buckets,
        "caps": caps or {},
        "bare": bare,
        "given": given,
    }
    function = "changes" if __opts__["test"] else "apply"
    todo = __salt__[f"cluster_rgw_users.{function}"](user, secret)
    if not todo:
        return halocline.unchanged(name, f"the user {name} is as pillar says")
    return halocline.changed(name, f"{', '.join(todo)} set", {name: todo}, __opts__["test"])
