"""Stages 0 to 4 as one: one look where nothing is to be done; what drifted of any stage is found, and what policy.cfg
says now is deployed in the same run."""

from collections.abc import Callable, Iterator, Mapping

import pytest
from bus import cost
from busy import until_seen
from product import PILLAR, Product, until
from saltcli import salt_run

from lab.guide import POLICY

pytestmark = pytest.mark.big
ALL = "ceph.stage.all"
RUN = f"nohup salt-run state.orch {ALL} >/tmp/all.out 2>&1 & echo $!"
LOGS, SERVED = "/var/log/halocline", f"{PILLAR}/current/stack/default/ceph/minions"
JOBS = 2  # who answers, with all that stages look at; which OSDs are destroyed (discovery)
CONF, RULES = "/etc/chrony/conf.d/halocline.conf", "/var/cache/salt/minion/extmods/modules/disks.py"
KEYRING = "/etc/ceph/ceph.client.admin.keyring"
FIRST_OSD = "ceph-osd@$(ls /var/lib/ceph/osd | head -1 | cut -d- -f2)"
# Host, what somebody did there, what shows that it is mended, the steps that change anything.
DRIFTS: Mapping[str, tuple[str, str, str, set[str]]] = {
    "prep: a stopped time server": (
        "node1",
        "systemctl stop chrony",
        "systemctl is-active chrony",
        {"ceph-stage-prep-packages"},
    ),
    "prep: a module of a host": ("node2", f"echo '# mine' >>{RULES}", f"! grep mine {RULES}", {"ceph-stage-prep-sync"}),
    "discovery: what was stored": (
        "saltmaster",
        f"rm {PILLAR}/inventory/node3.json",
        f"test -s {PILLAR}/inventory/node3.json",
        {"ceph-stage-discovery-collect"},
    ),
    "configure: what is served": (
        "saltmaster",
        f"echo '# mine' >>{SERVED}/node1.yml",
        f"! grep mine {SERVED}/node1.yml",
        {"ceph-stage-configure-push"},
    ),
    "deploy: a stopped OSD": (
        "node3",
        f"systemctl stop {FIRST_OSD}",
        f"systemctl is-active {FIRST_OSD}",
        {"ceph-stage-deploy-daemons"},
    ),
}


def ran(cluster: Product) -> dict[str, dict]:
    """What each step of a run that ends well answers, by its id; those of stages compiled anew among them."""
    (steps,) = salt_run(cluster.session, "state.orch", ALL).data["data"].values()
    nested = [step["states"] for step in steps.values() if "states" in step]
    told = {step["__id__"]: step for each in [steps, *nested] for step in each.values()}
    assert all(step["result"] is True for step in told.values()), told
    return told


def changed(steps: Mapping[str, dict]) -> set[str]:
    return {name for name, step in steps.items() if step["changes"]}


@pytest.fixture(autouse=True)
def well(cluster: Product) -> Iterator[None]:
    until(cluster.whole, 120, "HEALTH_OK")
    yield
    until(cluster.whole, 120, "HEALTH_OK afterwards")


def test_where_nothing_is_to_be_done_all_stages_cost_little_more_than_one(cluster: Product) -> None:
    ran(cluster)
    spent = cost(cluster.session, f"salt-run stage.run {ALL.rpartition('.')[2]}")
    assert "nothing changed\nstage all: done, nothing changed" in spent.done.out
    assert len(spent.jobs) <= JOBS, [(job["fun"], job["minions"]) for job in spent.jobs]
    assert changed(ran(cluster)) == set()


def test_a_plan_is_one_look_and_finds_what_drifted(cluster: Product) -> None:
    ran(cluster)
    spent = cost(cluster.session, "salt-run stage.plan deploy")
    assert "stage deploy would change nothing on the minions" in spent.done.out
    assert len(spent.jobs) <= JOBS, [(job["fun"], job["minions"]) for job in spent.jobs]
    host, spoil, mended, _ = DRIFTS["deploy: a stopped OSD"]
    osd = cluster.run(host, f"echo {FIRST_OSD}").out.strip()
    cluster.run(host, spoil)
    try:
        planned = cluster.run("saltmaster", "salt-run stage.plan deploy").out
        assert f"  would  {host}: " in planned and "would change nothing" not in planned, planned
        assert cluster.run(host, mended, check=False).code != 0
    finally:
        cluster.run(host, f"systemctl start {osd}")


@pytest.mark.parametrize("drift", DRIFTS)
def test_what_drifted_is_found_and_mended_whichever_stage_is_for_it(cluster: Product, drift: str) -> None:
    host, spoil, mended, steps = DRIFTS[drift]
    cluster.run(host, spoil)
    assert changed(ran(cluster)) == steps
    assert cluster.run(host, mended, check=False).code == 0
    assert changed(ran(cluster)) == set()


def test_a_damaged_file_that_says_who_is_what_is_mended_by_configure_and_nothing_goes_by_it(cluster: Product) -> None:
    cluster.run("saltmaster", f"truncate --size 0 {SERVED}/saltmaster*.yml")
    refused = cluster.run("saltmaster", f"salt-run state.orch {ALL}", check=False)
    assert (
        refused.code and "is not as configure wrote it: run 'salt-run state.orch ceph.stage.configure'" in refused.out
    )
    assert "Traceback" not in refused.out + refused.err
    assert cluster.stage("ceph.stage.configure").code == 0
    assert cluster.run("saltmaster", f"grep -q members: {SERVED}/saltmaster*.yml", check=False).code == 0
    assert changed(ran(cluster)) == set()


def test_what_policy_cfg_says_now_is_deployed_in_the_same_run(cluster: Product) -> None:
    line = "role-admin/cluster/node1.sls"
    cluster.run("saltmaster", f"echo {line} >>{POLICY}")
    try:
        planned = cluster.run("saltmaster", "salt-run stage.plan all").out
        assert "stage all would serve another pillar" in planned, planned
        steps = ran(cluster)
        assert changed(steps) >= {"ceph-stage-configure-push", "ceph-stage-deploy-admin"}, changed(steps)
        assert cluster.run("node1", f"test -s {KEYRING}", check=False).code == 0
        assert changed(ran(cluster)) == set()
    finally:
        cluster.run("saltmaster", f"sed -i '\\#{line}#d' {POLICY}")
        ran(cluster)
        cluster.run("node1", f"rm -f {KEYRING}")


@pytest.mark.parametrize("step", ["minions.sync", "discovery.collect", "ceph-stage-deploy-daemons"])
def test_killed_under_load_the_same_command_again_makes_it_whole(cluster: Product, load: Callable, step: str) -> None:
    """Three stages have something to mend while clients write, and the run is killed as its log comes to a step."""
    drifts = [DRIFTS[drift] for drift in DRIFTS if drift.partition(":")[0] in ("prep", "discovery", "deploy")]
    with load(cluster, until_seen(cluster), least=20) as busy, busy.fault():
        for host, spoil, _, _ in drifts:
            cluster.run(host, spoil)
        cluster.run("saltmaster", f"rm -f {LOGS}/all-*.jsonl")
        begun = cluster.run("saltmaster", RUN).out.strip()
        at = f'grep -q \'"step": "{step}"\' {LOGS}/all-*.jsonl'
        until(lambda: cluster.run("saltmaster", at, check=False).code == 0, 120, f"{step} begins")
        cluster.run("saltmaster", f"kill -KILL {begun}")
        busy.goes_on(10)
        cluster.run("saltmaster", "salt-run stage.run all")
        busy.goes_on(10)
    for host, _, mended, _ in drifts:
        assert cluster.run(host, mended, check=False).code == 0, mended
    until(cluster.whole, 60, "HEALTH_OK")
    assert changed(ran(cluster)) == set()


def test_a_policy_that_means_nothing_stops_before_anything_is_deployed(cluster: Product) -> None:
    cluster.run("saltmaster", f"cp {POLICY} {POLICY}.kept && echo nonsense/ >>{POLICY}")
    try:
        done = cluster.run("saltmaster", "salt-run stage.run all", check=False)
        assert done.code != 0 and "policy.cfg line 10: 'nonsense/'" in done.out and "stage-deploy" not in done.out, done
    finally:
        cluster.run("saltmaster", f"mv {POLICY}.kept {POLICY}")
