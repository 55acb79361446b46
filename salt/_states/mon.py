"""This host's monitor as states."""

import halocline
from salt.exceptions import CommandExecutionError


@halocline.state
def created(name: str) -> dict:
    """The monitor's store exists; ``name`` is only a name."""
    if __salt__["mon.exists"]():
        return halocline.unchanged(name, "the monitor's store is there")
    if __opts__["test"]:
        return halocline.changed(name, "a monitor would be made", {"store": "would be made"}, True)
    __salt__["mon.create"]()
    return halocline.changed(name, "a monitor was made", {"store": "made"}, False)


@halocline.state
def in_quorum(name: str, timeout: int = 60) -> dict:
    """The monitor is in a quorum within ``timeout`` seconds; nothing is changed."""
    try:
        names = __salt__["mon.quorum"](0 if __opts__["test"] else timeout)
    except CommandExecutionError:
        if not __opts__["test"]:
            raise
        return halocline.changed(name, "the quorum would be waited for", {}, True)
    return halocline.unchanged(name, "in quorum: " + ", ".join(names))
