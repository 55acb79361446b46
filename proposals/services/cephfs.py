"""``ceph.stage.cephfs``: file systems, their metadata servers, keys of clients.

``cephfs`` of the site's settings, where the defaults are not wanted; each key is a file system::

    cephfs:
      cephfs: {max_mds: 2, standby_replay: true}
      archive: {data: {erasure: 2+2}, metadata: {size: 3}}

Those that others made (``adopted_file_systems``) keep their pools, and all else that ``cephfs`` does not say of them.
"""

from collections.abc import Iterable, Mapping

from proposals.services.service import CRASH, Command, PlannedCluster, Service
from proposals.services.service_plan import ServicePlan, join
from proposals.settings.reader import SiteSettings

# docs.ceph.com, cephfs/add-remove-mds and rados/operations/user-management
MDS_CAPS = {"mon": "allow profile mds", "mgr": "allow profile mds", "mds": "allow *", "osd": "allow rwx"}


def plan(cluster: PlannedCluster) -> ServicePlan:
    """Plan metadata servers, pools, file systems and the keys of hosts with the role client-cephfs."""
    servers, clients = cluster.members("mds"), cluster.members("client-cephfs")
    systems, theirs = _asked(cluster.settings), cluster.settings["adopted_file_systems"]
    if not servers:
        asked = clients or "cephfs" in cluster.settings.written
        lacking = "cephfs: no minion has the role mds: add a role-mds line to policy.cfg"
        return ServicePlan(problems=(lacking,) if asked else ())
    ours = {name: system for name, system in systems.items() if name not in theirs}
    pools = {pool: options for name, system in ours.items() for pool, options in _pools(name, system).items()}
    problems = (*_too_few(servers, systems), *_changed(systems, theirs))
    cluster_wide = ServicePlan(pools=pools, cluster={"file_systems": systems, "adopted": theirs}, problems=problems)
    own = [_server(cluster, minion) for minion in servers]
    return join([cluster_wide, *own, *(_client(cluster, minion, names(cluster.settings)) for minion in clients)])


def names(settings: SiteSettings) -> list[str]:
    """Return the file systems that there will be: those that others made, and the site's own."""
    return list(dict.fromkeys([*_asked(settings), *settings["adopted_file_systems"]]))


def _asked(settings: SiteSettings) -> Mapping[str, Mapping]:
    """What the site says; nothing is made unasked where others served file systems before."""
    unasked = "adopted_file_systems" in settings.written and "cephfs" not in settings.written
    return {} if unasked else settings["cephfs"]


def _changed(systems: Mapping[str, Mapping], theirs: Iterable[str]) -> Iterable[str]:
    """Pools that a site asks for in a file system that has its own."""
    for name, system in systems.items():
        if name in theirs and (system["data"] or system["metadata"]):
            yield f"cephfs: {name}: it was adopted and keeps its pools: take data and metadata out"


def _too_few(servers: list[str], systems: Mapping[str, Mapping]) -> Iterable[str]:
    """More active servers than there are."""
    active = sum(system["max_mds"] or 1 for system in systems.values())
    if active > len(servers):
        yield f"cephfs: {active} active metadata servers are asked for, {len(servers)} minions have the role mds"


def _server(cluster: PlannedCluster, minion: str) -> ServicePlan:
    host = cluster.hostname(minion)
    entity = f"mds.{host}"
    digit = (  # it ends at once, after systemd has called it active (src/ceph_mds.cc)
        f"cephfs: {minion}: its metadata server would be called {host}, and Ceph starts none whose name begins with a "
        "digit: give the role mds to another host"
    )
    return ServicePlan(
        parts={"mds": {minion: {"name": host}}},
        entities={entity: MDS_CAPS},
        secrets={minion: {"mds": [entity], **CRASH}},
        problems=(digit,) if host[:1].isdigit() else (),
    )


def _client(cluster: PlannedCluster, minion: str, systems: Iterable[str]) -> ServicePlan:
    entity = f"client.cephfs.{cluster.hostname(minion)}"
    return ServicePlan(
        parts={"client-cephfs": {minion: {"entity": entity}}},
        entities={entity: _client_caps(systems)},
        secrets={minion: {"client-cephfs": [entity]}},
    )


def commands(planned: Mapping, existing: Mapping) -> Iterable[Command]:
    """What is still to do: file systems that are missing, data pools that they lack, how many servers are active."""
    systems = {fs["name"]: fs for fs in existing["file_systems"]}
    for name, system in planned["file_systems"].items():
        if name not in systems and name in planned.get("adopted", ()):
            continue  # others made it, and it is gone
        fs = systems.get(name, {"data_pools": [f"{name}_data"], "max_mds": 1, "standby_replay": False})
        if name not in systems:
            yield ["fs", "new", name, f"{name}_metadata", f"{name}_data"]
        if "erasure" in system["data"] and (pool := f"{name}_data_ec") not in fs["data_pools"]:
            yield ["fs", "add_data_pool", name, pool]
        if system["max_mds"] not in (None, fs["max_mds"]):
            yield ["fs", "set", name, "max_mds", str(system["max_mds"])]
        if system["standby_replay"] not in (None, fs["standby_replay"]):
            yield ["fs", "set", name, "allow_standby_replay", str(system["standby_replay"]).lower()]


def _pools(name: str, system: Mapping) -> dict[str, dict]:
    """A file system's pools. An erasure-coded data pool is a second one: the first holds every file's backtrace, in
    objects that change often, and is best replicated (docs.ceph.com, cephfs/createfs).
    """
    pools = {f"{name}_metadata": {"application": "cephfs", **system["metadata"]}}
    if "erasure" in system["data"]:
        pools[f"{name}_data_ec"] = {"application": "cephfs", **system["data"]}
        return {**pools, f"{name}_data": {"application": "cephfs"}}
    return {**pools, f"{name}_data": {"application": "cephfs", **system["data"]}}


def _client_caps(systems: Iterable[str]) -> dict[str, str]:
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
    plan=plan,
    commands=commands,
    parts=("mds", "client-cephfs"),
    units={"mds": ("ceph-mds@*.service",)},
)
