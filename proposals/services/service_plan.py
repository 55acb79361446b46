"""What a service asks for: a value that each function returns its share of, and ``join`` puts together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ServicePlan:
    """What one service, or a piece of it, asks for. Only what its roles and settings ask for is in it.

    parts
        Who runs which part and what it is told for it, at ``ceph:services:PART`` of its pillar:
        ``{part: {minion: {...}}}``. ``salt/ceph/service/PART`` is what the minion applies.
    cluster
        What is planned of the cluster itself: told to the master's own host alone, at ``ceph:services:NAME``.
    entities
        The cephx keys that it needs, with their capabilities: ``{entity: {mon: "allow r", ...}}``.
    passwords
        Names of passwords that the master makes once, where the site gave none.
    secrets
        What a minion may know: ``{minion: {use: what}}``, at ``ceph_secrets:USE`` of its pillar. A list of entities
        makes a keyring, a text names a password or a file that the site gave.
    pools
        The pools that it needs, as a site writes ``pools``.
    conf
        Sections of ceph.conf that its daemons read: ``{client.rgw.node1: {fragment: rgw, options: {...}}}``; the
        fragment of that name is the site's own (``ceph.conf.d/rgw.conf``), and has the last word.
    ports
        TCP ports that it listens on, with the process that shall: ``{minion: {8080: radosgw}}``.
    problems
        Why it cannot be, one line each.
    """

    parts: Mapping[str, Mapping[str, Mapping]] = field(default_factory=dict)
    cluster: Mapping[str, object] = field(default_factory=dict)
    entities: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    passwords: frozenset[str] = frozenset()
    secrets: Mapping[str, Mapping[str, list[str] | str]] = field(default_factory=dict)
    pools: Mapping[str, Mapping] = field(default_factory=dict)
    conf: Mapping[str, Mapping] = field(default_factory=dict)
    ports: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def join(plans: Iterable[ServicePlan]) -> ServicePlan:
    """Return several plans as one; two that want one port of a host are a problem, or a key with other capabilities."""
    plans = list(plans)
    return ServicePlan(
        parts=_joined([plan.parts for plan in plans]),
        cluster={key: value for plan in plans for key, value in plan.cluster.items()},
        entities={entity: caps for plan in plans for entity, caps in plan.entities.items()},
        passwords=frozenset(name for plan in plans for name in plan.passwords),
        secrets=_joined([plan.secrets for plan in plans]),
        pools={name: options for plan in plans for name, options in plan.pools.items()},
        conf={name: section for plan in plans for name, section in plan.conf.items()},
        ports=_joined([plan.ports for plan in plans]),
        problems=(*(line for plan in plans for line in plan.problems), *_clashes(plans), *_differing(plans)),
    )


def _joined(mappings: Iterable[Mapping]) -> dict:
    """Mappings of mappings as one."""
    joined: dict = {}
    for mapping in mappings:
        for key, inner in mapping.items():
            joined.setdefault(key, {}).update(inner)
    return joined


def _clashes(plans: Iterable[ServicePlan]) -> list[str]:
    """Ports of a host that two processes want."""
    by_port: dict[tuple[str, int], set[str]] = {}
    for plan in plans:
        for minion, ports in plan.ports.items():
            for port, process in ports.items():
                by_port.setdefault((minion, port), set()).add(process)
    return [
        f"{minion}: port {port} is wanted by {' and '.join(sorted(processes))}: give one of them another port"
        for (minion, port), processes in sorted(by_port.items())
        if len(processes) > 1
    ]


def _differing(plans: Iterable[ServicePlan]) -> list[str]:
    """Keys that two plans want with other capabilities."""
    by_entity: dict[str, list[Mapping[str, str]]] = {}
    for plan in plans:
        for entity, caps in plan.entities.items():
            by_entity.setdefault(entity, []).append(caps)
    return [
        f"{entity}: a service makes this key with capabilities of its own: choose another name in ceph_keys"
        for entity, wanted in sorted(by_entity.items())
        if any(caps != wanted[0] for caps in wanted)
    ]
