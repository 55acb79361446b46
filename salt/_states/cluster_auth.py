"""The cluster's keys as a state."""

from salt.exceptions import CommandExecutionError


def registered(name):
    """The cluster knows every key of this host's ``register`` keyring; ``name`` is only a name."""
    ret = {"name": name, "result": True, "changes": {}, "comment": "the cluster knows every key"}
    try:
        missing = __salt__["cluster_auth.missing"]()
        if missing and not __opts__["test"]:
            __salt__["cluster_auth.register"]()
    except CommandExecutionError as err:
        # Before the first deploy there is nobody to ask: in test mode that is no failure.
        ret.update(result=None if __opts__["test"] else False, comment=str(err))
        return ret
    if missing:
        ret["changes"] = {"keys": missing}
        ret["comment"] = f"{len(missing)} keys {'would be ' * __opts__['test']}registered"
        ret["result"] = None if __opts__["test"] else True
    return ret


def admin(name):
    """The cluster knows ``client.admin`` by the key that this monitor's host was told; ``name`` is only a name."""
    ret = {"name": name, "result": True, "changes": {}, "comment": "the admin's key is known"}
    try:
        differs = __salt__["mon.exists"]() and __salt__["cluster_auth.admin_differs"]()
        if differs and not __opts__["test"]:
            __salt__["cluster_auth.set_admin"]()
    except CommandExecutionError as err:
        # Before the first deploy there is nobody to ask: in test mode that is no failure.
        ret.update(result=None if __opts__["test"] else False, comment=str(err))
        return ret
    if differs:
        ret.update(changes={"keys": ["client.admin"]}, comment="the cluster has a newer key of the admin")
        ret["result"] = None if __opts__["test"] else True
    return ret
