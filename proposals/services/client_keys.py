"""Keys of clients of the site's own, which ``ceph.stage.clients`` gives to the hosts that ``ceph_keys`` names.

What is not named any more is left alone: the key in the cluster, its keyring on a host. Revoking is a command of its
own (``salt-run secret.revoke``).
"""

from collections.abc import Iterable, Mapping

from proposals.services.service import PlannedCluster
from proposals.services.service_plan import ServicePlan, join
from proposals.text.names import matched


def plan(cluster: PlannedCluster) -> ServicePlan:
    """Plan each key, its capabilities, and the keyrings of its hosts."""
    keys = cluster.settings["ceph_keys"]
    hosts = {entity: _hosts(cluster, key["hosts"]) for entity, key in keys.items()}
    whole = ServicePlan(
        cluster={"keys": hosts} if hosts else {},
        entities={entity: key["caps"] for entity, key in keys.items()},
        problems=tuple(line for entity, key in keys.items() for line in _unmatched(cluster, entity, key["hosts"])),
    )
    given: dict[str, list[str]] = {}
    for entity in keys:
        for minion in hosts[entity]:
            given.setdefault(minion, []).append(entity)
    return join([whole, *(_host(minion, entities, keys) for minion, entities in sorted(given.items()))])


def path(entity: str) -> str:
    """Return where Ceph's programs look for a keyring (docs.ceph.com, rados/configuration/auth-config-ref)."""
    return f"/etc/ceph/ceph.{entity}.keyring"


def _host(minion: str, entities: Iterable[str], keys: Mapping[str, Mapping]) -> ServicePlan:
    """The keyrings of one host."""
    uses = {entity: f"keyring/{entity}" for entity in entities}
    keyrings = [
        {"path": path(entity), "use": use, **{key: keys[entity][key] for key in ("user", "group", "mode")}}
        for entity, use in uses.items()
    ]
    return ServicePlan(
        parts={"client-keys": {minion: {"keyrings": keyrings}}},
        secrets={minion: {use: [entity] for entity, use in uses.items()}},
    )


def _hosts(cluster: PlannedCluster, globs: Iterable[str]) -> list[str]:
    return sorted({minion for glob in globs for minion in matched(cluster.roles, glob)})


def _unmatched(cluster: PlannedCluster, entity: str, globs: Iterable[str]) -> Iterable[str]:
    """Globs that nobody matches: whoever wrote them waits for a keyring."""
    for glob in globs:
        if not _hosts(cluster, [glob]):
            yield (
                f"ceph_keys: {entity}: hosts: {glob} matches no minion of the cluster: correct it, or add a line such "
                f"as 'cluster-ceph/cluster/{glob}.sls' to policy.cfg"
            )
