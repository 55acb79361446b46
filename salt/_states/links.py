"""This host's planned links as a state."""

from salt.exceptions import CommandExecutionError


def usable(name):
    """Nothing stands against applying this host's planned links; nothing is changed. ``name`` is only a name."""
    problems = __salt__["links.check"]()
    comment = "\n".join(problems) if problems else "the planned links can be applied, or are there"
    return {"name": name, "result": not problems, "changes": {}, "comment": comment}


def applied(name, seconds=None):
    """Every planned bond, VLAN and address is there; a change that loses the master is undone by the host itself.

    name
        Only a name.
    seconds
        When the way back is taken unless the master answered before; without, ``ceph:network:seconds``, else 60.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": "all links are as planned"}
    changes = __salt__["links.changes"]()
    if not changes:
        return ret
    undone = __salt__["links_undo.undone"]()
    past = f" (the last change was undone by this host: {undone})" if undone else ""
    if __opts__["test"]:
        ret.update(result=None, changes=changes, comment=f"links would be changed{past}")
        return ret
    try:
        ret["changes"] = __salt__["links.apply"](seconds)
    except CommandExecutionError as err:
        ret.update(result=False, comment=f"{err}{past}")
        return ret
    ret["comment"] = f"applied, and the master answers{past}"
    return ret
