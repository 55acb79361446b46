"""This host's monitor as states."""

from salt.exceptions import CommandExecutionError


def created(name):
    """The monitor's store exists; ``name`` is only a name."""
    ret = {"name": name, "result": True, "changes": {}, "comment": "the monitor's store is there"}
    if __salt__["mon.exists"]():
        return ret
    if __opts__["test"]:
        ret.update(result=None, changes={"store": "would be made"}, comment="a monitor would be made")
        return ret
    try:
        __salt__["mon.create"]()
    except CommandExecutionError as err:
        ret.update(result=False, comment=str(err))
        return ret
    ret.update(changes={"store": "made"}, comment="a monitor was made")
    return ret


def in_quorum(name, timeout=60):
    """The monitor is in a quorum with all planned ones, within ``timeout`` seconds; nothing is changed."""
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if __opts__["test"]:
        ret["comment"] = "the quorum is waited for when the monitors run"
        return ret
    try:
        ret["comment"] = "in quorum: " + ", ".join(__salt__["mon.quorum"](timeout))
    except CommandExecutionError as err:
        ret.update(result=False, comment=str(err))
    return ret
