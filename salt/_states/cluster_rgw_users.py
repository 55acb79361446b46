"""Users of the gateways as a state."""

from salt.exceptions import CommandExecutionError


def present(name, secret, display_name, access_key, max_buckets=None, caps=None):
    """A user is there with this key, whose secret lies at ``secret`` of this minion's ``ceph_secrets``."""
    ret = {"name": name, "result": True, "changes": {}, "comment": f"the user {name} is as pillar says"}
    user = {
        "name": name,
        "display_name": display_name,
        "access_key": access_key,
        "max_buckets": max_buckets,
        "caps": caps,
    }
    try:
        todo = __salt__["cluster_rgw_users." + ("changes" if __opts__["test"] else "apply")](user, secret)
    except CommandExecutionError as err:
        # Before the first deploy there is nobody to ask: in test mode that is no failure.
        ret.update(result=None if __opts__["test"] else False, comment=str(err))
        return ret
    if todo:
        ret.update(result=None if __opts__["test"] else True, changes={name: todo}, comment=f"{', '.join(todo)} set")
    return ret
