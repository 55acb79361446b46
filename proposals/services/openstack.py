"""``ceph.stage.openstack``: pools and keys for Cinder, Glance, Nova and backups, and what each must be configured with.

``openstack: true`` of the site's settings, or::

    openstack: {prefix: mycloud, pools: {images: {device_class: ssd}}}

Pools and users are called as DeepSea's were: ``mycloud-cloud-images``, ``client.mycloud-glance``.
"""

import uuid
from collections.abc import Mapping

from proposals.services.service import Cluster, Plan, Service
from proposals.text import names

KEYS = ("prefix", "pools")
POOLS = ("images", "volumes", "backups", "vms")
# Who writes where, and reads where (docs.ceph.com, rbd/rbd-openstack); Nova has a key of its own there, not Cinder's.
# Images are read by those that clone them.
USERS = {
    "glance": (("images",), ()),
    "cinder": (("volumes",), ("images",)),
    "cinder-backup": (("backups",), ()),
    "nova": (("vms",), ("images",)),
}
SECRETS = ("cinder", "nova")  # whose keys libvirt holds on every compute host


def plan(cluster: Cluster, made: Plan) -> None:
    """Plan pools, keys with what they may do, and what the master's host writes down for OpenStack's hosts."""
    wanted = cluster.settings.get("openstack")
    if wanted is None or wanted is False:
        return
    said = {} if wanted is True else made.settings("openstack", wanted, KEYS)
    prefix = said.get("prefix", "")
    if prefix and not names.PROFILE.fullmatch(str(prefix)):
        made.wrong("openstack: prefix", prefix, "letters, digits, '.', '_' and '-'")
        return
    before = f"{prefix}-" if prefix else ""
    given = made.settings("openstack: pools", said.get("pools"), POOLS)
    pools = {kind: f"{before}cloud-{kind}" for kind in POOLS}
    for kind, name in pools.items():
        made.pools[name] = {
            "application": "rbd",
            **made.settings(f"openstack: pools: {kind}", given.get(kind)),
        }
        if "erasure" in made.pools[name]:
            made.problems.append(f"openstack: pools: {kind}: images' metadata needs replicas: leave erasure out")
    users = {user: f"{before}{user}" for user in USERS}
    for user, (writes, reads) in USERS.items():
        made.entities[f"client.{users[user]}"] = _caps([pools[one] for one in writes], [pools[one] for one in reads])
    fsid = str(cluster.settings.get("fsid"))
    keyrings = {f"ceph.client.{name}.keyring": [f"client.{name}"] for name in users.values()}
    keys = {f"client.{users[user]}.key": f"client.{users[user]}" for user in SECRETS}
    for minion in cluster.members("master"):
        made.run("openstack", minion, pools=pools, users=users, secrets=_secrets(users, fsid), files=[*keyrings, *keys])
        made.tell(minion, **{f"openstack/{name}": what for name, what in {**keyrings, **keys}.items()})


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


SERVICE = Service(name="openstack", settings=("openstack",), plan=plan, parts=("openstack",))
