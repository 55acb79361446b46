"""Targets, portals, images and initiators of the iSCSI gateways, as a state."""

import halocline
from salt.exceptions import CommandExecutionError


@halocline.cluster_state
def answers(name: str) -> dict:
    """The API of this host's gateway answers with all that it serves; nothing is changed. ``name`` is only a name."""
    __salt__["iscsi.config"](**({"limit": 0} if __opts__["test"] else {}))
    return halocline.unchanged(name, "the gateway answers")


@halocline.cluster_state
def configured(name: str) -> dict:
    """The gateways have all of this host's pillar; what else they have stays. ``name`` is only a name."""
    test = __opts__["test"]
    try:
        todo = __salt__["iscsi.changes"]() if test else __salt__["iscsi.apply"]()
    except ConnectionError as err:
        raise CommandExecutionError(f"the iSCSI gateway of this host hung up: {err}; run the stage again") from err
    if not todo:
        return halocline.unchanged(name, "the gateways have all that is planned")
    comment = f"{len(todo)} settings {'would change' if test else 'changed'}"
    return halocline.changed(name, comment, {"gateways": todo}, test)
