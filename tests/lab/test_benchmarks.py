"""Appendix E by one command on the guide's cluster, from two load generators: every cell, a kill, a stop, bad input.

What is measured says nothing of hardware; what must come out is the procedure, and that nothing is left.
"""

import dataclasses
import json
import time
from collections.abc import Callable

import pytest
from product import PILLAR, Product, until
from saltcli import salt, salt_run

from lab.session import Session

pytestmark = pytest.mark.big
GENERATORS = ("monnode2", "monnode3")
RUN = "nohup salt-run benchmark.run apollo target=rbd >/tmp/benchmark.out 2>&1 & echo $!"
LEFT = "ls -d /run/halocline-benchmark /etc/ceph/ceph.client.halocline-bench.keyring; systemctl is-active {}"
UNIT = "halocline-benchmark.service"


@pytest.fixture(scope="module")
def measured(own_lab: Callable[[str], Session]) -> Product:
    """`apollo-slice`, two of its monitors' hosts being load generators."""
    product = Product(own_lab("apollo-slice"), "apollo-slice")
    lines = f"{product.way.policy}role-benchmark/cluster/monnode[23]*.sls\n"
    product.way = dataclasses.replace(product.way, policy=lines)
    product.guide(end="salt-run pool.quick_test")
    # Few processors carry 36 OSDs and the load: heartbeats wait for them, which would refuse the next run for minutes.
    product.run("saltmaster", "ceph config set global mon_warn_on_slow_ping_time 20000")
    return product


def left(product: Product) -> list[str]:
    """Whatever of a benchmark is still in the cluster or on a load generator."""
    found = [pool for pool in product.ceph("osd pool ls") if "bench" in pool]
    found += [rule for rule in product.ceph("osd crush rule ls") if "bench" in rule]
    found += [profile for profile in product.ceph("osd erasure-code-profile ls") if "bench" in profile]
    found += [system["name"] for system in product.ceph("fs ls") if "bench" in system["name"]]
    found += [key for key in product.ceph("config-key ls") if "benchmark" in key]
    found += [user["entity"] for user in product.ceph("auth ls")["auth_dump"] if "bench" in user["entity"]]
    for host in GENERATORS:
        said = product.run(host, LEFT.format(UNIT), check=False).out.split()
        found += [f"{host}: {word}" for word in said if word not in ("inactive", "unknown")]
    return found


def begun(product: Product) -> str:
    """Begin a run in a shell of its own and wait until a load runs; return the shell's process id."""
    until(product.healthy, 300, "HEALTH_OK")
    # An OSD of the test before came back a moment ago: a run is refused until it is known that nothing moves.

    def still() -> bool:
        said = product.run("saltmaster", "salt-run health.show", check=False)
        return said.code == 0 and "moment ago" not in said.out

    until(still, 120, "nothing moves")
    pid = product.run("saltmaster", RUN).out.split()[-1]

    def runs() -> bool:
        said = product.run("saltmaster", f"kill -0 {pid} 2>&1 || cat /tmp/benchmark.out", check=False).out
        assert not said, f"the run ended before a load began: {said}"
        return product.run(GENERATORS[0], f"systemctl is-active {UNIT}", check=False).out.strip() == "active"

    until(runs, 300, "no load began")
    return pid


def test_bad_input_makes_nothing(measured: Product) -> None:
    before = measured.ceph("osd pool ls")
    for words, says in (
        (["apolo"], "did you mean 'apollo'?"),
        (["apollo", "target=cephfs_data"], "no benchmark runs on a pool that exists"),
        (["apollo", "size=huge"], "expected quick or paper"),
        (["apollo", "size=paper", "label=a/b"], "expected at most 64 letters"),
    ):
        done = salt_run(measured.session, "benchmark.run", *words, check=False)
        assert done.returncode == 2 and says in str(done.data), done
    assert measured.ceph("osd pool ls") == before and left(measured) == []


def test_a_cluster_that_is_not_sound_is_refused(measured: Product) -> None:
    until(measured.healthy, 120, "HEALTH_OK")
    osd = measured.run("osdnode1", "ls /etc/ceph/osd-devices | head -1").out.strip()
    measured.run("osdnode1", f"systemctl stop ceph-osd@{osd}")
    try:
        until(lambda: not measured.healthy(), 60, "an OSD is down and the cluster is healthy")
        done = salt_run(measured.session, "benchmark.run", "apollo", check=False)
        assert done.returncode == 2 and "not sound" in str(done.data), done
    finally:
        measured.run("osdnode1", f"systemctl start ceph-osd@{osd}")
    until(measured.healthy, 180, "HEALTH_OK with the OSD back")
    assert left(measured) == []


def test_killed_in_the_middle_the_next_run_takes_all_away(measured: Product) -> None:
    pid = begun(measured)
    measured.run("saltmaster", f"kill -9 {pid} $(pgrep -P {pid})", check=False)
    assert left(measured) != []
    assert "would take away" in measured.run("saltmaster", "salt-run benchmark.clean test=true").out
    measured.run("saltmaster", "salt-run benchmark.clean", limit=900)
    assert left(measured) == []


def test_stopped_from_another_shell_it_leaves_nothing(measured: Product) -> None:
    pid = begun(measured)
    assert "is stopped" in measured.run("saltmaster", "salt-run benchmark.stop").out
    gone = f"kill -0 {pid} 2>/dev/null"
    until(lambda: measured.run("saltmaster", gone, check=False).code != 0, 300, "the run goes on")
    assert "was stopped" in measured.run("saltmaster", "cat /tmp/benchmark.out").out
    assert left(measured) == []


def test_stopped_on_the_way_it_keeps_what_was_measured(measured: Product) -> None:
    pid = begun(measured)
    runs: dict[str, str] = {}

    def kept() -> bool:
        odd = salt_run(measured.session, "benchmark.list").data["odd"]
        runs.update({run: why for run, why in odd.items() if "it still runs" in why})
        return bool(runs)

    until(kept, 300, "no job has ended")
    measured.run("saltmaster", "salt-run benchmark.stop")
    until(lambda: measured.run("saltmaster", f"kill -0 {pid} 2>/dev/null", check=False).code != 0, 300, "it goes on")
    out = measured.run("saltmaster", "cat /tmp/benchmark.out").out
    assert "partial: it ended at rbd: " in out and "was stopped" in out and "seq write 4k" in out
    (run,) = runs
    assert f"{run} (partial)" in measured.run("saltmaster", f"salt-run benchmark.show {run}").out
    done = salt_run(measured.session, "benchmark.keep", run, check=False)
    assert done.returncode == 2 and "no baseline" in str(done.data), done
    assert left(measured) == []


def test_appendix_e_has_a_figure_in_every_cell(measured: Product) -> None:
    """Four columns of twenty rows; exit status 1 would say that a cell is empty."""
    until(measured.healthy, 180, "HEALTH_OK")
    start = time.monotonic()
    told = salt_run(measured.session, "benchmark.run", "apollo", limit=9000).data
    print(f"appendix E in its short form: {(time.monotonic() - start) / 60:.0f} minutes")
    folder = told["folder"]
    files = measured.run("saltmaster", f"ls {folder}").out.split()
    assert {"result.json", "report.html", "table.txt"} <= set(files)
    result = json.loads(measured.run("saltmaster", f"cat {folder}/result.json").out)
    assert {target: len(rows) for target, rows in result["cells"].items()} == dict.fromkeys(
        ("rbd", "rbd-ec", "cephfs", "cephfs-ec"), 20
    )
    assert result["generators"] == sorted(salt(measured.session, "monnode[23]*", "test.ping").data)
    for run in result["runs"]:
        print(f"{run['target']}, {run['job']}: {run['apart']:.2f} s apart, {run['overlap']:.0%} together")
        # One that ends alone, as on a busy machine its last writes may, is told; moc's jobs overlap by their test.
        assert run["apart"] <= 1 and bool(run["notes"]) == (run["overlap"] < 0.9), run
    print(measured.run("saltmaster", f"cat {folder}/table.txt").out)
    assert left(measured) == []
    until(measured.healthy, 180, "HEALTH_OK after all is taken away")


def test_a_run_beside_its_own_baseline_is_within_the_limit(measured: Product) -> None:
    run = salt_run(measured.session, "benchmark.list").data["runs"][-1]
    salt_run(measured.session, "benchmark.keep", run)
    assert salt_run(measured.session, "benchmark.compare", run).data["regressions"] == []


def test_the_stage_measures_too(measured: Product) -> None:
    typed = """salt-run state.orch ceph.stage.benchmark pillar='{"ceph_suite": "moc", "ceph_target": "hosts"}'"""
    done = measured.run("saltmaster", typed, limit=3000)
    assert "4k writes" in done.out and left(measured) == []
    assert "there is no such suite" in measured.run("saltmaster", typed.replace('"moc"', '"mock"'), check=False).out
    assert measured.run("saltmaster", f"test -e {PILLAR}/current").code == 0
