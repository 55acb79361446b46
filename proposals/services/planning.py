"""All services asked for what they need, and what they would do to each other."""

from collections.abc import Mapping
from dataclasses import dataclass

from proposals.services.service import PlannedCluster
from proposals.services.service_plan import ServicePlan, join
from proposals.services.table import SERVICES


@dataclass(frozen=True)
class ServicePlans:
    """The plans that hold anything, by service; and all of them as one."""

    plans: Mapping[str, ServicePlan]
    whole: ServicePlan

    def told(self, minion: str) -> dict[str, Mapping]:
        """What a minion is told, by part, of the parts that it runs."""
        return {part: by_minion[minion] for part, by_minion in self.whole.parts.items() if minion in by_minion}

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
        return [{"name": name, **section} for name, section in self.whole.conf.items()]


def plan(cluster: PlannedCluster) -> ServicePlans:
    """Ask every service for its plan, and join them."""
    asked = {service.name: service.plan(cluster) for service in SERVICES}
    plans = {name: each for name, each in asked.items() if each != ServicePlan()}
    return ServicePlans(plans, join(plans.values()))
