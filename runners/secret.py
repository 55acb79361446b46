"""``salt-run secret.*``: the cluster's keys."""

from typing import Any

from proposals.files import site
from proposals.pillar import generation_disk, secrets
from runners.engine import answer, stage_lock

KEYS = ("ceph.stage.configure", "ceph.stage.deploy", "ceph.stage.restart")
PASSWORDS = ("ceph.stage.configure", "ceph.stage.services")


@answer.answers
def rotate(name: str) -> dict[str, Any]:
    """Make a fresh key for one of the cluster's entities, or a fresh password, in place of the one that it has.

    The next configure tells it to whom it concerns, the next deploy to the cluster; a daemon takes it with the restart
    stage, a service its password with the services stage. Until then the old one holds. ``mon.`` cannot be rotated, and
    OSDs make their own keys.

    name
        The entity: client.admin, client.bootstrap-osd, mgr.HOST; or the password, such as dashboard.admin.

    CLI Example:

    .. code-block:: bash

        salt-run secret.rotate client.admin
    """
    stage_lock.free(__opts__)
    name = str(name)
    generation_disk.rotate(site.site(__opts__), name)
    stages = ", ".join(f"'salt-run state.orch {stage}'" for stage in (KEYS if secrets.is_entity(name) else PASSWORDS))
    return {"text": f"{name} has a fresh key on the master; now run {stages}"}
