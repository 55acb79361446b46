"""What Prometheus is told of the product itself, and that its alerts are over that."""

import re
from pathlib import Path

import pytest
import yaml

from proposals.stages import metrics
from proposals.stages.metrics import Sample

RULES = Path(__file__).parents[2] / "salt/ceph/service/prometheus/files/halocline.yml"
FORM = re.compile(r'(# (HELP|TYPE) halocline_\w+ .+|halocline_\w+(\{\w+="([^"\\\n]|\\[\\"n])*"\})? [0-9.e+]+)')


def run(stage, begin, event="end", result="done", end="2026-11-23T10:05:00+0000"):
    return {"stage": stage, "time": begin}, {"event": event, "result": result, "time": end}


def told(samples):
    return dict(line.rsplit(" ", 1) for line in metrics.text(samples).splitlines() if not line.startswith("#"))


def test_stages_that_ended_well_failed_run_and_have_no_end():
    runs = [
        (*run("prep", "2026-11-23T08:00:00+0000", result="failed"), False),
        (*run("prep", "2026-11-23T10:00:00+0000"), False),
        (*run("deploy", "2026-11-23T10:00:00+0000", result="interrupted"), False),
        (*run("deploy", "2026-11-23T11:00:00+0000", event="step", end="2026-11-23T11:01:00+0000"), True),
        (*run("removal", "2026-11-23T12:00:00+0200", event="step", end="2026-11-23T12:01:00+0200"), False),
    ]
    assert told(metrics.stages(runs)) == {
        'halocline_stage_running{stage="prep"}': "0",
        'halocline_stage_running{stage="deploy"}': "1",
        'halocline_stage_running{stage="removal"}': "0",
        'halocline_stage_begin_timestamp_seconds{stage="prep"}': "1795428000",
        'halocline_stage_begin_timestamp_seconds{stage="deploy"}': "1795431600",
        'halocline_stage_begin_timestamp_seconds{stage="removal"}': "1795428000",
        'halocline_stage_success{stage="prep"}': "1",
        'halocline_stage_success{stage="deploy"}': "0",
        'halocline_stage_success{stage="removal"}': "0",
        'halocline_stage_end_timestamp_seconds{stage="prep"}': "1795428300",
        'halocline_stage_end_timestamp_seconds{stage="deploy"}': "1795428300",
        'halocline_stage_end_timestamp_seconds{stage="removal"}': "1795428060",
    }


@pytest.mark.parametrize(("result", "success"), [("done", "1"), ("failed", "0")])
def test_a_stage_that_failed_has_ended_well_since_where_all_at_once_did(result, success):
    runs = [
        (*run("prep", "2026-11-23T08:00:00+0000", result="failed"), False),
        (*run("removal", "2026-11-23T08:00:00+0000", result="failed"), False),
        (*run("all", "2026-11-23T09:00:00+0000", result=result), False),
    ]
    found = told(metrics.stages(runs))
    names = {stage: found.get(f'halocline_stage_success{{stage="{stage}"}}') for stage in ("prep", "removal", "deploy")}
    assert names == {"prep": success, "removal": "0", "deploy": None}


def test_hosts_that_are_silent_in_maintenance_and_wait():
    found = told(metrics.hosts(["a", "b", "c"], ["b", "c"], {"c"}, {"a": {"osd.1": {}, "osd.2": {}}}))
    assert found == {
        'halocline_host_silent{minion="a"}': "0",
        'halocline_host_silent{minion="b"}': "1",
        'halocline_host_silent{minion="c"}': "0",
        'halocline_host_daemons_waiting{minion="a"}': "2",
    }


def test_the_form_whatever_stands_in_a_name():
    samples = [Sample("host_silent", 1, "minion", 'a"\\\n} 1'), Sample("written_timestamp_seconds", 1795428000.123)]
    lines = metrics.text(samples).splitlines()
    assert [line for line in lines if not FORM.fullmatch(line)] == [] and len(lines) == 6
    assert lines[-1] == "halocline_written_timestamp_seconds 1795428000.123"
    assert metrics.text([]) == ""
    odd = metrics.text([Sample("certificate_end_timestamp_seconds", 1, "file", "m\udcfcller.crt")])
    assert odd.encode().endswith(b'{file="m\\\\udcfcller.crt"} 1\n')


@pytest.fixture(scope="module")
def rules():
    (group,) = yaml.load(RULES.read_text(), yaml.CSafeLoader)["groups"]
    return group["rules"]


def test_alerts_are_over_what_is_told(rules):
    named = {name for rule in rules for name in re.findall(r"halocline_(\w+)", rule["expr"])}
    assert named <= set(metrics.ABOUT)
    assert named >= {"stage_success", "host_silent", "certificate_end_timestamp_seconds", "proposal_stale"}


def test_hosts_that_nobody_asks_any_more_are_told_unless_a_stage_runs(rules):
    """As where salt-master is dead: the master's own numbers are written on, and no host is told to be silent."""
    (rule,) = [rule for rule in rules if "time() - halocline_hosts_asked" in rule["expr"]]
    old, stage = rule["expr"].split(" unless on (instance) ")
    assert old == "time() - halocline_hosts_asked_timestamp_seconds > 1800"
    assert stage == "halocline_stage_running == 1"
    assert rule["for"] == "10m"  # two runs of the timer after a long stage


def test_numbers_that_are_gone_are_told_as_old_ones_are(rules):
    """An age is of what is there: with the master's host, or its node exporter, dead nothing is old."""
    every = " ".join(rule["expr"] for rule in rules)
    aged = set(re.findall(r"time\(\) - (halocline_\w+) >", every))
    assert aged == set(re.findall(r"absent\((\w+)\)", every)) != set()
    (rule,) = [rule for rule in rules if "absent" in rule["expr"]]
    assert rule["for"] == "30m"
    assert rule["expr"].endswith("hosts_asked_timestamp_seconds) unless on () halocline_stage_running == 1)")


def test_every_alert_says_what_it_is_and_what_to_do(rules):
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}
        assert set(rule["annotations"]) == {"summary", "description"} and rule["labels"]["severity"] in (
            "info",
            "warning",
        )
