"""``ceph.stage.openstack``: pools and keys for Cinder, Glance, Nova and backups, and what each must be configured with.

``openstack: true`` of the site's settings, or::

    openstack: {prefix: mycloud, pools: {images: {device_class: ssd}}}

Pools and users are called as DeepSea's were: ``mycloud-cloud-images``, ``client.mycloud-glance``.
"""

import uuid
from collections.abc import Mapping

from proposals.services.service import PlannedCluster, Service
from proposals.services.service_plan import ServicePlan, join
from proposals.settings.block import KINDS
from proposals.text import names

# Who writes where, and reads where (docs.ceph.com, rbd/rbd-openstack); Nova has a key of its own there, not Cinder's.
# Images are read by those that clone them.
USERS = {
    "glance": (("images",), ()),
    "cinder": (("volumes",), ("images",)),
    "cinder-backup": (("backups",), ()),
    "nova": (("vms",), ("images",)),
}
SECRETS = ("cinder", "nova")  # whose keys libvirt holds on every compute host


def plan(cluster: PlannedCluster) -> ServicePlan:
    """Plan pools, keys with what they may do, and what the master's host writes down for OpenStack's hosts."""
    settings = cluster.settings["openstack"]
    if settings is None:
        return ServicePlan()
    before = f"{settings['prefix']}-" if settings["prefix"] else ""
    pools = {kind: f"{before}cloud-{kind}" for kind in KINDS}
    users = {user: f"{before}{user}" for user in USERS}
    entities = {
        f"client.{users[user]}": _caps([pools[kind] for kind in writes], [pools[kind] for kind in reads])
        for user, (writes, reads) in USERS.items()
    }
    shared = ServicePlan(
        pools={name: {"application": "rbd", **settings["pools"][kind]} for kind, name in pools.items()},
        entities=entities,
        problems=tuple(
            f"openstack: pools: {kind}: images' metadata needs replicas: leave erasure out"
            for kind in KINDS
            if "erasure" in settings["pools"][kind]
        ),
    )
    return join([shared, *(_written(cluster, minion, pools, users) for minion in cluster.members("master"))])


def _written(cluster: PlannedCluster, minion: str, pools: Mapping[str, str], users: Mapping[str, str]) -> ServicePlan:
    """What the master's host writes down: keyrings, libvirt's secrets, lines for each service's configuration."""
    secrets: dict[str, list[str] | str] = {f"ceph.client.{name}.keyring": [f"client.{name}"] for name in users.values()}
    secrets |= {f"client.{users[user]}.key": f"client.{users[user]}" for user in SECRETS}
    uuids = _secrets(users, str(cluster.settings["fsid"]))
    return ServicePlan(
        parts={"openstack": {minion: {"pools": pools, "users": users, "secrets": uuids, "files": [*secrets]}}},
        secrets={minion: {f"openstack/{name}": what for name, what in secrets.items()}},
    )


def _caps(writes: list[str], reads: list[str]) -> dict[str, str]:
    """Capabilities that let a user write to some pools and read others."""
    osd = [*(f"profile rbd pool={name}" for name in writes), *(f"profile rbd-read-only pool={name}" for name in reads)]
    return {
        "mon": "profile rbd",
        "osd": ", ".join(osd),
        "mgr": ", ".join(f"profile rbd pool={name}" for name in writes),
    }


def _secrets(users: Mapping[str, str], fsid: str) -> dict[str, str]:
    """The UUID of each of libvirt's secrets: always the same for a cluster and a user, so that all hosts agree."""
    space = uuid.UUID(fsid) if names.UUID.fullmatch(fsid) else uuid.NAMESPACE_DNS
    return {user: str(uuid.uuid5(space, f"client.{users[user]}")) for user in SECRETS}


SERVICE = Service(name="openstack", plan=plan, parts=("openstack",))
