"""All services asked for what they need, and what they would do to each other."""

from collections.abc import Mapping
from dataclasses import dataclass

from proposals.services.service import Cluster, Plan
from proposals.services.table import SERVICES


@dataclass(frozen=True)
class Planned:
    """The plans that hold anything, by service, and what is wrong with them."""

    plans: Mapping[str, Plan]
    problems: list[str]

    def told(self, minion: str) -> dict[str, dict]:
        """What a minion is told, by part, of the parts that it runs."""
        return {
            part: by_minion[minion]
            for plan in self.plans.values()
            for part, by_minion in plan.parts.items()
            if minion in by_minion
        }

    def steps(self) -> dict[str, dict]:
        """What the master is told of each service: who runs which part, pools, ports, and the cluster's part."""
        return {
            name: {
                "parts": {part: sorted(by_minion) for part, by_minion in plan.parts.items()},
                "pools": plan.pools,
                "ports": plan.ports,
                "cluster": plan.cluster,
            }
            for name, plan in self.plans.items()
        }

    def conf(self) -> list[dict]:
        """The sections of ceph.conf that services' daemons read, in their order."""
        return [{"name": name, **said} for plan in self.plans.values() for name, said in plan.conf.items()]

    def entities(self) -> dict[str, dict[str, str]]:
        """The capabilities of every key that services need."""
        return {entity: caps for plan in self.plans.values() for entity, caps in plan.entities.items()}

    def passwords(self) -> set[str]:
        """The names of every password that the master is to make."""
        return {name for plan in self.plans.values() for name in plan.passwords}

    def secrets(self, minion: str) -> dict[str, list[str] | str]:
        """What a minion may know, by use."""
        return {use: what for plan in self.plans.values() for use, what in plan.secrets.get(minion, {}).items()}


def plan(cluster: Cluster) -> Planned:
    """Ask every service for its plan; two that want one port of a host are a problem of both."""
    plans = {}
    for service in SERVICES:
        made = Plan()
        service.plan(cluster, made)
        if made != Plan():
            plans[service.name] = made
    problems = [line for made in plans.values() for line in made.problems]
    return Planned(plans, problems + _clashes(plans))


def _clashes(plans: Mapping[str, Plan]) -> list[str]:
    """Ports of a host that two processes want."""
    wanted: dict[tuple[str, int], dict[str, str]] = {}
    for name, made in plans.items():
        for minion, ports in made.ports.items():
            for port, process in ports.items():
                wanted.setdefault((minion, port), {})[process] = name
    return [
        f"{minion}: port {port} is wanted by {' and '.join(sorted(by))}: give one of them another port"
        for (minion, port), by in sorted(wanted.items())
        if len(by) > 1
    ]
