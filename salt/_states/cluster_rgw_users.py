"""Users of the gateways as a state."""

from collections.abc import Mapping

import halocline


@halocline.cluster_state
def present(
    name: str,
    secret: str,
    display_name: str,
    access_key: str,
    max_buckets: int | None = None,
    caps: Mapping[str, str] | None = None,
) -> dict:
    """A user is there with this key, whose secret lies at ``secret`` of this minion's ``ceph_secrets``."""
    user = {
        "name": name,
        "display_name": display_name,
        "access_key": access_key,
        "max_buckets": max_buckets,
        "caps": caps,
    }
    function = "changes" if __opts__["test"] else "apply"
    todo = __salt__[f"cluster_rgw_users.{function}"](user, secret)
    if not todo:
        return halocline.unchanged(name, f"the user {name} is as pillar says")
    return halocline.changed(name, f"{', '.join(todo)} set", {name: todo}, __opts__["test"])
