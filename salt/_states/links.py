"""This host's planned links as a state."""

import halocline
from salt.exceptions import CommandExecutionError


@halocline.state
def usable(name: str) -> dict:
    """Nothing stands against applying this host's planned links; nothing is changed. ``name`` is only a name."""
    problems = __salt__["links.check"]()
    comment = "\n".join(problems) if problems else "the planned links can be applied, or are there"
    return {"name": name, "result": not problems, "changes": {}, "comment": comment}


@halocline.state
def applied(name: str, seconds: float | None = None) -> dict:
    """Every planned bond, VLAN and address is there; a change that loses the master is rolled back by the host itself.

    name
        Only a name.
    seconds
        When the rollback comes unless the master answered before; without, ``ceph:network:seconds``, else 60.
    """
    changes = __salt__["links.changes"]()
    if not changes:
        return halocline.unchanged(name, "all links are as planned")
    undone = __salt__["links_undo.undone"]()
    past = f" (this host rolled back the last change: {undone})" if undone else ""
    if __opts__["test"]:
        return halocline.changed(name, f"links would be changed{past}", changes, True)
    try:
        changes = __salt__["links.apply"](seconds)
    except CommandExecutionError as err:
        raise CommandExecutionError(f"{err}{past}") from err
    return halocline.changed(name, f"applied, and the master answers{past}", changes, False)
