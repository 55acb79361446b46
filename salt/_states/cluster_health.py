"""The cluster's health as a state."""

import halocline


@halocline.state
def whole(name: str, osds: int, timeout: int = 300) -> dict:
    """The cluster is whole with ``osds`` OSDs within ``timeout`` seconds; nothing is changed."""
    if __opts__["test"]:
        return halocline.unchanged(name, "health is waited for when the OSDs run")
    __salt__["cluster_health.wait"](osds, timeout)
    return halocline.unchanged(name, f"HEALTH_OK, {osds} OSDs up and in")
