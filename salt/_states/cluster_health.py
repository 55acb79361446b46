"""The cluster's health as a state."""

from salt.exceptions import CommandExecutionError


def whole(name, osds, timeout=300):
    """The cluster is whole with ``osds`` OSDs within ``timeout`` seconds; nothing is changed."""
    ret = {"name": name, "result": True, "changes": {}, "comment": f"HEALTH_OK, {osds} OSDs up and in"}
    if __opts__["test"]:
        ret["comment"] = "health is waited for when the OSDs run"
        return ret
    try:
        __salt__["cluster_health.wait"](osds, timeout)
    except CommandExecutionError as err:
        ret.update(result=False, comment=str(err))
    return ret
