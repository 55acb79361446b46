"""``ceph.stage.cephfs``: file systems, their metadata servers, keys of clients.

``cephfs`` of the site's settings, where the defaults are not wanted; each key is a file system::

    cephfs:
      cephfs: {max_mds: 2, standby_replay: true}
      archive: {data: {erasure: 2+2}, metadata: {size: 3}}
"""

from collections.abc import Iterable, Mapping

from proposals.services.service import Cluster, Command, Plan, Service
from proposals.text import names

DEFAULT = {"cephfs": {}}  # one file system, as DeepSea made it
KEYS = ("data", "metadata", "max_mds", "standby_replay")
# docs.ceph.com, cephfs/add-remove-mds and rados/operations/user-management
MDS_CAPS = {"mon": "allow profile mds", "mgr": "allow profile mds", "mds": "allow *", "osd": "allow rwx"}


def plan(cluster: Cluster, made: Plan) -> None:
    """Plan metadata servers, pools, file systems and the keys of hosts with the role client-cephfs."""
    servers, clients = cluster.members("mds"), cluster.members("client-cephfs")
    systems = file_systems(cluster.settings.get("cephfs"), made)
    if not servers:
        if clients or "cephfs" in cluster.settings:
            made.problems.append("cephfs: no minion has the role mds: add a role-mds line to policy.cfg")
        return
    active = sum(said["max_mds"] for said in systems.values())
    if active > len(servers):
        made.problems.append(
            f"cephfs: {active} active metadata servers are asked for, {len(servers)} minions have the role mds"
        )
    for name, said in systems.items():
        made.pools |= _pools(name, said)
    made.cluster = {"file_systems": systems}
    for minion in servers:
        host = cluster.hostname(minion)
        made.run("mds", minion, name=host)
        made.entities[f"mds.{host}"] = MDS_CAPS
        made.tell(minion, mds=[f"mds.{host}"])
    for minion in clients:
        entity = f"client.cephfs.{cluster.hostname(minion)}"
        made.run("client-cephfs", minion, entity=entity)
        made.entities[entity] = _client_caps(systems)
        made.tell(minion, **{"client-cephfs": [entity]})


def commands(told: Mapping, found: Mapping) -> Iterable[Command]:
    """What is still to do: file systems that are missing, data pools that they lack, how many servers are active."""
    there = {one["name"]: one for one in found["file_systems"]}
    for name, said in told["file_systems"].items():
        fs = there.get(name, {"data_pools": [f"{name}_data"], "max_mds": 1, "standby_replay": False})
        if name not in there:
            yield ["fs", "new", name, f"{name}_metadata", f"{name}_data"]
        if "erasure" in said["data"] and (pool := f"{name}_data_ec") not in fs["data_pools"]:
            yield ["fs", "add_data_pool", name, pool]
        if fs["max_mds"] != said["max_mds"]:
            yield ["fs", "set", name, "max_mds", str(said["max_mds"])]
        if fs["standby_replay"] != said["standby_replay"]:
            yield ["fs", "set", name, "allow_standby_replay", str(said["standby_replay"]).lower()]


def file_systems(said: object, made: Plan) -> dict[str, dict]:
    """Return the file systems that a site asks for, each with every key; what is wrong with them is noted in a plan.

    said
        The setting ``cephfs``; None where there is none.
    """
    if not isinstance(said := DEFAULT if said is None else said, Mapping):
        made.wrong("cephfs", said, "a mapping of file systems such as {cephfs: {max_mds: 1}}")
        return {}
    systems = {}
    for name, wanted in said.items():
        wanted = {} if wanted is None else wanted
        if not names.PROFILE.fullmatch(str(name)) or not isinstance(wanted, Mapping):
            made.wrong(f"cephfs: {names.shown(name)}", wanted, "a name of letters, digits, '.', '_', '-' and a mapping")
            continue
        if unknown := [key for key in wanted if key not in KEYS]:
            made.wrong(
                f"cephfs: {name}", unknown[0], f"keys of {', '.join(KEYS)}{names.nearest(str(unknown[0]), KEYS)}"
            )
        ranks = wanted.get("max_mds", 1)
        if type(ranks) is not int or ranks < 1:
            made.wrong(f"cephfs: {name}: max_mds", ranks, "a whole number from 1 on")
            ranks = 1
        for key in ("data", "metadata"):
            if not isinstance(wanted.get(key) or {}, Mapping):
                made.wrong(f"cephfs: {name}: {key}", wanted[key], "a mapping such as {size: 3}")
                return {}
        systems[str(name)] = {
            "data": dict(wanted.get("data") or {}),
            "metadata": dict(wanted.get("metadata") or {}),
            "max_mds": ranks,
            "standby_replay": wanted.get("standby_replay") is True,
        }
    return systems


def _pools(name: str, said: Mapping) -> dict[str, dict]:
    """A file system's pools. An erasure-coded data pool is a second one: the first holds every file's backtrace, in
    objects that change often, and is best replicated (docs.ceph.com, cephfs/createfs).
    """
    pools = {f"{name}_metadata": {"application": "cephfs", **said["metadata"]}}
    if "erasure" in said["data"]:
        pools[f"{name}_data_ec"] = {"application": "cephfs", **said["data"]}
        return {**pools, f"{name}_data": {"application": "cephfs"}}
    return {**pools, f"{name}_data": {"application": "cephfs", **said["data"]}}


def _client_caps(systems: Mapping[str, dict]) -> dict[str, str]:
    """What ``ceph fs authorize NAME client / rw`` gives (docs.ceph.com, cephfs/client-auth), for every file system."""
    return {
        service: ", ".join(cap.format(name=name) for name in systems)
        for service, cap in (
            ("mon", "allow r fsname={name}"),
            ("mds", "allow rw fsname={name}"),
            ("osd", "allow rw tag cephfs data={name}"),
        )
    }


SERVICE = Service(
    name="cephfs",
    settings=("cephfs",),
    plan=plan,
    commands=commands,
    parts=("mds", "client-cephfs"),
    units={"mds": ("ceph-mds@*.service",)},
)
