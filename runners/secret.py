"""``salt-run secret.*``: the cluster's keys."""

from proposals import answer, serving
from proposals.site import site

WAY = ("ceph.stage.configure", "ceph.stage.deploy", "ceph.stage.restart")


@answer.answers
def rotate(name):
    """Make a fresh key for one of the cluster's entities, in place of the one that it has.

    The next configure tells it to whom it concerns, the next deploy to the cluster; a daemon takes it with the restart
    stage. Until then the old key holds. ``mon.`` cannot be rotated, and OSDs make their own keys.

    name
        The entity: client.admin, client.bootstrap-osd, mgr.HOST.

    CLI Example:

    .. code-block:: bash

        salt-run secret.rotate client.admin
    """
    if running := __salt__["stage_lock.holder"]():
        return answer.bad(f"stage {running['stage']} is running: wait for it, or end it with 'salt-run stage.stop'")
    serving.rotate(site(__opts__), str(name))
    stages = ", ".join(f"'salt-run state.orch {stage}'" for stage in WAY)
    return {"text": f"{name} has a fresh key on the master; now run {stages}"}
