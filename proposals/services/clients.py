"""``ceph.stage.clients``: hosts that use the cluster: the programs of their roles, and a key for mirroring images.

A host with the role client-cephfs gets its key from ``cephfs``; one with the role admin needs nothing of a service.
"""

from proposals.services.service import Cluster, Plan, Service

ROLES = ("client-iscsi", "client-nfs", "client-radosgw", "benchmark")  # each has packages in pillar/ceph/os
# docs.ceph.com, rbd/rbd-mirroring (rbd-mirror daemon)
MIRROR_CAPS = {"mon": "profile rbd-mirror", "osd": "profile rbd"}


def plan(cluster: Cluster, made: Plan) -> None:
    """Plan the programs of client roles, and the keys of hosts with the role rbd-mirror."""
    for minion in cluster.members(*ROLES):
        made.run("clients", minion, roles=[role for role in ROLES if role in cluster.roles[minion]])
    for minion in cluster.members("rbd-mirror"):
        entity = f"client.rbd-mirror.{cluster.hostname(minion)}"
        made.run("rbd-mirror", minion, entity=entity)
        made.entities[entity] = MIRROR_CAPS
        made.tell(minion, **{"rbd-mirror": [entity]})


SERVICE = Service(name="clients", settings=(), plan=plan, parts=("clients", "rbd-mirror"))
