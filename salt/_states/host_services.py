"""What services of this host do, as a state."""

from salt.exceptions import CommandExecutionError


def listening(name, process, port, unit, daemon=None):
    """A process listens on a TCP port, so its unit really came up; ``name`` is only a name."""
    ret = {"name": name, "result": True, "changes": {}, "comment": f"{process} listens on port {port}"}
    try:
        __salt__["host_services.listening"](process, port, unit, daemon, limit=0 if __opts__["test"] else 60)
    except CommandExecutionError as err:
        ret.update(result=None if __opts__["test"] else False, comment=str(err))
    return ret
