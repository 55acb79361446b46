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
    if __opts__["test"] and not _in_quorum():
        return halocline.changed(name, "the quorum would be waited for", {}, True)
    return halocline.unchanged(name, "in quorum: " + ", ".join(__salt__["mon.quorum"](timeout)))


def _in_quorum() -> bool:
    """Whether it is in a quorum now."""
    try:
        return bool(__salt__["mon.quorum"](0))
    except CommandExecutionError:
        return False
