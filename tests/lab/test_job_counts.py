"""A stage costs as many Salt jobs for eight minions as for four, counted on the event bus."""

import json
from collections.abc import Callable

import pytest
from bus import cost
from product import PILLAR

from lab.guide import guide
from lab.session import Session

pytestmark = pytest.mark.big
STAGES = ("prep", "discovery", "configure", "deploy")
EIGHT = ("saltmaster", "monnode1", "monnode2", "monnode3", "osdnode1", "osdnode2", "osdnode3", "osdnode4")
FOUR = ("saltmaster", "osdnode1", "osdnode2", "osdnode3")
# Comes again until the cluster has settled; others are asked where there is a cluster: what an interrupted run left.
APART = {"cluster_health.inspect", "cluster_maintenance.end", "cluster_pools.forbid", "cluster_crush.held"}
APART |= {"host_states.differing"}
# One job more for all hosts that took too long for their clocks to be compared (looks/facts.py: EARLY); never one each.
AGAIN = "host.facts"
LAYOUTS = "stack/default/ceph/minions"


def policy(minions: tuple[str, ...]) -> str:
    """policy.cfg for these minions; the four grow to eight, so the monitors stay."""
    lines = [f"cluster-ceph/cluster/{minion}.sls" for minion in minions]
    lines += ["role-master/cluster/saltmaster.sls", "role-admin/cluster/saltmaster.sls"]
    lines += [f"role-{role}/cluster/{minion}.sls" for role in ("mon", "mgr") for minion in FOUR[1:]]
    lines += ["config/stack/default/global.yml", "config/stack/default/ceph/cluster.yml"]
    for minion in minions:
        if minion.startswith("osd"):
            lines += [f"profile-apollo/{folder}" for folder in (f"cluster/{minion}.sls", f"{LAYOUTS}/{minion}.yml")]
    return "\n".join(lines)


def test_jobs_do_not_grow_with_minions(own_lab: Callable[[str], Session]) -> None:
    session = own_lab("apollo-slice")
    (populate,) = (command for command in guide("apollo-slice").commands if "proposal.populate" in command)
    session.run("saltmaster", f"mkdir -p {PILLAR}")
    counts: dict[str, list[list[str]]] = {}

    def asked_by(stage: str, minions: tuple[str, ...]) -> list[str]:
        spent = cost(session, f"salt-run state.orch ceph.stage.{stage}")
        assert spent.jobs and spent.minions <= set(minions), f"{stage} asked {spent.minions - set(minions)}"
        asked = [{job["fun"]} if isinstance(job["fun"], str) else set(job["fun"]) for job in spent.jobs]
        return [" ".join(sorted(functions)) for functions in asked if not functions <= APART]

    for minions in (FOUR, EIGHT):
        session.run("saltmaster", f"echo \"ceph_minions: 'L@{','.join(minions)}'\" >{PILLAR}/minions.sls")
        for stage in STAGES:
            jobs = asked_by(stage, minions)
            if stage == "discovery":
                session.run("saltmaster", populate, check=False)
                session.run("saltmaster", f"cat >{PILLAR}/proposals/policy.cfg <<'EOF'\n{policy(minions)}\nEOF")
            else:
                counts.setdefault(stage, []).append(jobs)
        # Where a cluster runs discovery asks it, so both are counted when one does.
        counts.setdefault("discovery", []).append(asked_by("discovery", minions))
    print(f"\nSalt jobs of each stage: { {stage: [len(jobs) for jobs in both] for stage, both in counts.items()} }")
    assert all(as_many(four, eight) for four, eight in counts.values()), json.dumps(counts, indent=1)


def as_many(four: list[str], eight: list[str]) -> bool:
    """Both stages asked as many jobs; the facts may have been asked once more in one of them."""
    again = abs(four.count(AGAIN) - eight.count(AGAIN))
    return again <= 1 and len(four) - four.count(AGAIN) == len(eight) - eight.count(AGAIN)
