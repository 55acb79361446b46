"""Targets, portals, images and initiators of the iSCSI gateways, as a state."""

from salt.exceptions import CommandExecutionError


def configured(name):
    """The gateways have all that this host was told of them; what else they have stays. ``name`` is only a name."""
    ret = {"name": name, "result": True, "changes": {}, "comment": "the gateways have all that is planned"}
    try:
        todo = __salt__["iscsi.changes"]() if __opts__["test"] else __salt__["iscsi.apply"]()
    except (CommandExecutionError, ConnectionError) as err:
        # Before the first run there is no gateway to ask: in test mode that is no failure.
        return {**ret, "result": None if __opts__["test"] else False, "comment": str(err)}
    if todo:
        ret.update(result=None if __opts__["test"] else True, changes={"gateways": todo})
        ret["comment"] = f"{len(todo)} things {'would be ' * __opts__['test']}made"
    return ret
