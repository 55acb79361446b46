"""``ceph.stage.clients``: hosts that use the cluster: the programs of their roles, keys of the site's own, and a key
for mirroring images.

A host with the role client-cephfs gets its key from ``cephfs``; one with the role admin needs nothing of a service.
"""

from proposals.services import client_keys
from proposals.services.service import CRASH, PlannedCluster, Service
from proposals.services.service_plan import ServicePlan, join

ROLES = ("client-iscsi", "client-nfs", "client-radosgw", "benchmark")  # each has packages in pillar/ceph/os
# docs.ceph.com, rbd/rbd-mirroring (rbd-mirror daemon)
MIRROR_CAPS = {"mon": "profile rbd-mirror", "osd": "profile rbd"}


def plan(cluster: PlannedCluster) -> ServicePlan:
    """Plan the programs of client roles, the site's own keys, and the keys of hosts with the role rbd-mirror."""
    programs = {
        minion: {"roles": [role for role in ROLES if role in cluster.roles[minion]]}
        for minion in cluster.members(*ROLES)
    }
    mirrors = [_mirror(cluster, minion) for minion in cluster.members("rbd-mirror")]
    return join([ServicePlan(parts={"clients": programs} if programs else {}), *mirrors, client_keys.plan(cluster)])


def _mirror(cluster: PlannedCluster, minion: str) -> ServicePlan:
    entity = f"client.rbd-mirror.{cluster.hostname(minion)}"
    return ServicePlan(
        parts={"rbd-mirror": {minion: {"entity": entity}}},
        entities={entity: MIRROR_CAPS},
        secrets={minion: {"rbd-mirror": [entity], **CRASH}},
    )


SERVICE = Service(name="clients", plan=plan, parts=("clients", "rbd-mirror", "client-keys"))
