"""A step of a stage that applies an SLS: what it says of many hosts, and where the master is too busy for them."""

import os
import runpy

import pytest
from salt.exceptions import SaltClientError, SaltReqTimeoutError

from proposals.text.errors import PolicyError
from runners.engine import taking_part

HOSTS = [f"osd{number:03}" for number in range(300)]
WELL = {"result": True, "changes": {}, "comment": ""}
OPTS = {"gather_job_timeout": 30, "worker_threads": 5}


@pytest.fixture
def state(checkout, monkeypatch):
    """A function: ``step.state`` on some hosts, where Salt's own answers or raises."""

    def run(hosts, answers, among=lambda _, hosts, __: hosts):
        step = runpy.run_path(str(checkout / "salt/_states/step.py"))["state"]
        monkeypatch.setattr(taking_part, "among", among)

        def applied(name, **told):
            if isinstance(answers, Exception):
                raise answers
            return {"name": name, **(answers(told) if callable(answers) else answers)}

        step.__globals__.update(__opts__=OPTS, __states__={"salt.state": applied})
        return step("tunings", "ceph.host.tunings", hosts)

    return run


@pytest.mark.parametrize("error", [SaltReqTimeoutError("Salt request timed out. The master"), SaltClientError("gone")])
def test_a_master_that_is_too_busy_is_told_in_one_line(state, error):
    ret = state(HOSTS, error)
    assert ret["result"] is False and ret["changes"] == {}
    assert ret["comment"].startswith("the Salt master is too busy with 300 minions, or gone (")
    assert "salt-run halocline.doctor" in ret["comment"] and "\n" not in ret["comment"]


@pytest.mark.parametrize(("hosts", "said"), [(HOSTS, "300 hosts, 1 changed"), (HOSTS[:3], "States ran successfully.")])
def test_many_hosts_are_counted_and_few_are_named(state, hosts, said):
    did = {host: {"x": {"changes": {"a": 1} if host == "osd001" else {}}} for host in hosts}
    answers = {"result": True, "changes": {"ret": did}, "comment": "States ran successfully. Updating osd001."}
    ret = state(hosts, answers)
    assert ret["comment"].startswith(said) and ret["changed"] == ["osd001"]


@pytest.mark.parametrize(("count", "timeout"), [(3, None), (150, None), (300, 60), (1000, 200)])
def test_many_are_given_time_for_their_pillars_before_salt_asks_whether_they_live(state, count, timeout, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    told = []
    assert state([f"osd{number}" for number in range(count)], lambda each: told.append(each) or WELL)["result"]
    assert [each["timeout"] for each in told] == [timeout]


@pytest.mark.parametrize(
    ("count", "processors", "jobs"), [(400, 2, 1), (401, 2, 2), (1000, 2, 3), (1000, 64, 1), (0, 1, 0)]
)
def test_one_job_goes_to_as_many_as_the_master_has_pillars_for_in_time(state, count, processors, jobs, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    hosts, shares = [f"osd{number}" for number in range(count)], []

    def answers(told):
        shares.append(told["tgt"])
        did = {host: {"x": {"changes": {"a": 1} if host == "osd0" else {}}} for host in told["tgt"]}
        return {"result": True, "changes": {"ret": did}, "comment": f"States ran successfully. {told['tgt']}"}

    ret = state(hosts, answers)
    assert len(shares) == jobs and sorted(host for share in shares for host in share) == sorted(hosts)
    assert ret["result"] and (not jobs or ret["comment"] == f"{count} hosts, 1 changed")


def test_of_several_jobs_one_that_fails_does_not_hold_back_the_others_and_is_told(state, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)

    def answers(told):
        wrong = "osd001" in told["tgt"]
        said = "Run failed on minions: osd001" if wrong else "States ran successfully."
        return {"result": not wrong, "changes": {"ret": dict.fromkeys(told["tgt"], {})}, "comment": said}

    ret = state(HOSTS, answers)
    assert ret["result"] is False and ret["comment"] == "Run failed on minions: osd001"
    assert sorted(ret["changes"]["ret"]) == HOSTS


def test_what_failed_is_told_as_salt_tells_it(state):
    answers = {"result": False, "changes": {"ret": {}}, "comment": "Run failed on minions: osd001"}
    assert state(HOSTS, answers)["comment"] == "Run failed on minions: osd001"


def test_where_it_is_not_known_who_takes_part_nothing_is_applied(state):
    def among(*_):
        raise PolicyError("nothing is configured yet")

    ret = state(HOSTS, SaltClientError("never asked"), among)
    assert (ret["result"], ret["comment"], ret["changes"]) == (False, "nothing is configured yet", {})
    assert state([], SaltClientError("never asked"))["comment"] == "none of its hosts takes part: nothing changed"
