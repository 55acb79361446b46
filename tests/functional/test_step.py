"""Steps of a stage: what one that applies an SLS says of many hosts, where the master is too busy for them; runners."""

import os
import runpy
from pathlib import Path

import pytest
import salt.loader
import salt.payload
import salt.pillar
import salt.utils.event
from salt.exceptions import SaltClientError, SaltReqTimeoutError

from proposals.services import service_answers
from proposals.stages import plan_steps, replies, targets
from proposals.text.errors import PolicyError, ProposalError
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.looks import early
from runners.engine.runs import stage_lock

HOSTS = [f"osd{number:03}" for number in range(300)]
WELL = {"result": True, "changes": {}, "comment": ""}
OPTS = {"gather_job_timeout": 30, "worker_threads": 5, "test": False}


@pytest.fixture
def state(checkout, monkeypatch):
    """A function: ``step.state`` on some hosts, where Salt's own answers or raises."""

    def run(hosts, answers, among=lambda _, hosts, __: hosts, **more):
        step = runpy.run_path(str(checkout / "salt/_states/step.py"))["state"]
        monkeypatch.setattr(taking_part, "among", among)
        monkeypatch.setattr(stage_lock, "kept", lambda *_: None)

        def applied(name, **told):
            if isinstance(answers, Exception):
                raise answers
            return {"name": name, **(answers(told) if callable(answers) else answers)}

        step.__globals__.update(__opts__=OPTS, __context__={}, __running__={}, __states__={"salt.state": applied})
        return step("tunings", "ceph.host.tunings", hosts, **more)

    return run


@pytest.mark.parametrize("error", [SaltReqTimeoutError("Salt request timed out. The master"), SaltClientError("gone")])
def test_a_master_that_is_too_busy_is_told_in_one_line(state, error):
    ret = state(HOSTS, error)
    assert ret["result"] is False and ret["changes"] == {}
    assert ret["comment"].startswith("the Salt master is too busy with 300 minions, or gone (")
    assert "salt-run halocline.doctor" in ret["comment"] and "\n" not in ret["comment"]


def test_a_minion_whose_own_configuration_says_test_mode_has_failed(state):
    """Salt takes what a state would do for success."""
    would = {"x": {"result": None, "changes": {"new": 1}, "comment": "", "__run_num__": 0, "__id__": "x"}}
    answers = {"result": True, "changes": {"ret": {"osd001": would, "osd002": {"x": {**WELL, "changes": {"a": 1}}}}}}
    ret = state(HOSTS[:3], {**answers, "comment": "States ran successfully. Updating osd001, osd002."})
    assert ret["result"] is False and ret["comment"].startswith("osd001: is in test mode ('test: True' in")
    assert ret["changed"] == ["osd002"]
    assert targets.failures(ret["changes"]["ret"]) == {"osd001": replies.TRIED}
    assert targets.failures({"osd001": would}) and not targets.failures({"osd001": would}, test=True)
    assert service_answers.applied("rgw", {"osd001": would}, []).failed == [f"osd001: {replies.TRIED}"]
    assert service_answers.applied("rgw", {"osd001": would}, [], test=True).failed == []


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
    assert state(HOSTS[:3], answers)["comment"] == "Run failed on minions: osd001"


def test_many_that_failed_each_for_its_own_reason_are_counted(state):
    """As beside ``salt '*' state.apply``: Salt names each of them, and has a line for each."""
    busy = {host: [f"The function state.apply is running as PID {pid}"] for pid, host in enumerate(HOSTS)}
    said = "\n".join(f"Minion {host} returned errors: {text}" for host, (text,) in busy.items())
    comment = f"Run failed on minions: {', '.join(HOSTS)}\n{said}"
    ret = state(HOSTS, {"result": False, "changes": {"ret": busy}, "comment": comment})
    lines = ret["comment"].splitlines()
    assert ret["result"] is False and lines[0] == "300 of 300 hosts failed" and len(lines) == 12
    assert lines[1] == "osd000: The function state.apply is running as PID 0" and max(map(len, lines)) < 200


CRASHED = "The minion function caused an exception: Traceback (most recent call last):\nOSError: no space"


@pytest.mark.parametrize(
    ("answers", "left", "result"),
    [
        ({"osd001": CRASHED}, {"osd001": "OSError: no space"}, True),  # Salt names only who failed or changed
        ({}, dict.fromkeys(HOSTS[:3], "did not return"), False),  # and nobody where none returned
        ({"osd001": {"x": {"result": True, "changes": {}}}}, {}, False),
    ],
)
def test_a_host_that_failed_is_left_out_by_name_or_the_step_has_failed(state, monkeypatch, answers, left, result):
    noted = {}
    monkeypatch.setattr(stage_lock, "own", lambda _: {"left": {}})

    def leave(step, among, answers):
        noted.update(targets.failures(answers))
        try:
            targets.leave({"left": {}}, step, among, noted)
        except ProposalError as err:
            return {"error": str(err)}
        return {"text": targets.left_from_here(noted)}

    monkeypatch.setattr(salt.loader, "runner", lambda _, **__: {"targets.leave": leave})
    answer = {"result": False, "changes": {"ret": answers} if answers else {}, "comment": "Run failed"}
    ret = state(HOSTS[:3], answer, go_on=True)
    assert (noted, ret["result"]) == (left, result), ret
    assert not result or "osd001: left out from here on: OSError: no space" in ret["comment"]


def test_where_it_is_not_known_who_takes_part_nothing_is_applied(state):
    def among(*_):
        raise PolicyError("nothing is configured yet")

    ret = state(HOSTS, SaltClientError("never asked"), among)
    assert (ret["result"], ret["comment"], ret["changes"]) == (False, "nothing is configured yet", {})
    assert state([], SaltClientError("never asked"))["comment"] == "none of its hosts takes part: nothing changed"


class Runners(dict):
    """Salt's runners, each of which answers so; what they were asked."""

    def __init__(self, asked, **answer):
        self.asked, self.said = asked, {"changes": {}, **answer}

    def __missing__(self, name):
        return lambda **told: self.asked.append((name, told)) or {"text": name, **self.said}


def test_all_steps_of_a_stage_share_runners_that_are_loaded_once(checkout, monkeypatch):
    made, told = [], []
    monkeypatch.setattr(salt.loader, "runner", lambda _, **__: made.append(1) or Runners([], changes={"a": 1}))
    monkeypatch.setattr(salt.utils.event, "fire_args", lambda _, jid, said, **__: told.append((jid, said["name"])))
    step = runpy.run_path(str(checkout / "salt/_states/step.py"))["runner"]
    step.__globals__.update(__opts__=OPTS, __context__={}, __running__={}, __orchestration_jid__="1")
    answers = [step(name) for name in ("validate.deploy", "health.before")]
    assert [(answer["comment"], answer["changed"]) for answer in answers] == [
        ("validate.deploy", ["a"]),
        ("health.before", ["a"]),
    ]
    assert len(made) == 1 and told == [("1", "validate.deploy"), ("1", "health.before")]


def test_steps_of_a_stage_share_the_masters_pillar_until_one_changes_anything(checkout, monkeypatch):
    made, jid = [], {"jid": "1"}
    monkeypatch.setattr(minions, "_compiled", lambda _: made.append(1) or {"pools": {"a": len(made)}})
    monkeypatch.setattr(stage_lock, "own", lambda _: jid)
    minions.pillar(OPTS)["pools"]["a"] = "changed by a step"
    assert minions.pillar(OPTS) == {"pools": {"a": 1}} and len(made) == 1
    look_anew = runpy.run_path(str(checkout / "salt/_states/step.py"))["_look_anew"]
    look_anew.__globals__["__opts__"] = OPTS
    monkeypatch.setattr(jobs, "ask_apart", lambda *_: made.append(2) or {})
    asked = [early.once(OPTS, [], [], 15, 0) for _ in range(2)]
    look_anew()
    asked.append(early.once(OPTS, [], [], 15, 0))  # stages behind it look again, also those that `rest` runs
    assert len(asked) == 3 and made == [1, 2, 2]
    made[1:] = []
    early.keep(OPTS, None)
    assert minions.pillar(OPTS) == {"pools": {"a": 2}}
    minions.addressed({**OPTS, "pillar": {"ceph_minions": "*", "pools": {}}}, "prep", ["a"])  # as Salt has compiled it
    assert minions.pillar(OPTS) == {"ceph_minions": "*", "pools": {}} and len(made) == 2
    jid["jid"] = "2"  # another stage
    assert minions.pillar(OPTS) == {"pools": {"a": 3}}
    jid.clear()  # typed by hand
    assert minions.pillar(OPTS) != minions.pillar(OPTS)


def test_what_was_typed_has_the_last_word_also_after_a_step_changed_something(monkeypatch, tmp_path):
    """`pillar='{"stage_prep_minion": "default-no-update-no-reboot"}'` holds for all of the run: no host is rebooted."""
    made = []

    class Compiled:
        def __init__(self, *_, pillar_override=None):
            made.append(pillar_override)

        def compile_pillar(self):
            return {"ceph_minions": "*", "reboots": True, **(made[-1] or {})}

    monkeypatch.setattr(salt.pillar, "get_pillar", Compiled)
    monkeypatch.setattr(stage_lock, "inline", lambda _: {"reboots": False})
    own = {"jid": "1"}
    monkeypatch.setattr(stage_lock, "own", lambda _: own)
    shipped = Path(__file__).parents[2] / "pillar"
    opts = {**OPTS, "id": "salt", "pillar_roots": {"base": [str(tmp_path), str(shipped)]}}
    opts["pillar"] = {"ceph_minions": "*", "reboots": False}
    minions.addressed(opts, "prep", ["a"])
    assert minions.pillar(opts)["reboots"] is False and not made
    minions.anew(opts)
    assert minions.pillar(opts)["reboots"] is False and made == [{"reboots": False}]
    own.clear()  # typed by hand, beside no stage
    assert minions.pillar(opts)["reboots"] is True


NOP = {"result": True, "changes": {}, "comment": "States ran successfully."}
BEGIN = {"fun": "begin", "state": "step", "name": "stage.begin", "stage": "deploy"}
STAGE = [  # as Salt's compiler has it
    BEGIN,
    {"fun": "state", "state": "step", "name": "before", "sls": "ceph.host.check", "hosts": ["a", "b", "c"]},
    {"fun": "look", "state": "step", "name": "targets.same"},
    {"fun": "state", "state": "step", "name": "conf", "sls": ["packages", "conf"], "hosts": ["a", "b", "c"]},
    {"fun": "state", "state": "step", "name": "check", "sls": "check", "hosts": ["a"], "pillar": {"more": 1}},
    {"fun": "runner", "state": "step", "name": "crush.place"},
    {"fun": "state", "state": "step", "name": "osd", "sls": "osd", "hosts": ["b", "c"], "limited": False},
]


@pytest.fixture
def stage(checkout, monkeypatch):
    """The functions of ``step``, in a run that saw whether all is as told; what it asked; which steps it applied."""
    asked, applied = [], []
    seen: dict[str, object] = {"as_told": True}

    monkeypatch.setattr(salt.loader, "runner", lambda _, **__: Runners(asked))
    monkeypatch.setattr(salt.utils.event, "fire_args", lambda *_, **__: None)
    monkeypatch.setattr(taking_part, "among", lambda _, hosts, __: hosts)
    monkeypatch.setattr(stage_lock, "kept", lambda _, key: seen.get(key))
    step = runpy.run_path(str(checkout / "salt/_states/step.py"))
    told = {"__opts__": dict(OPTS), "__context__": {}, "__orchestration_jid__": "1", "__lowstate__": STAGE}
    states = {"salt.state": lambda name, **_: applied.append(name) or {"name": name, **NOP}}
    step["state"].__globals__.update(told, __running__={}, __states__=states)
    return step, asked, applied, seen


def test_the_first_step_is_told_all_that_the_steps_behind_the_look_apply_and_on_which_hosts(stage):
    step, asked, _, _ = stage
    assert step["begin"]("stage.begin", stage="deploy")["result"] is True
    groups = [[["packages", "conf", "check"], ["a"]], [["packages", "conf", "osd"], ["b", "c"]]]
    look = {"groups": groups, "pillar": {"more": 1}}
    names = [each["name"] for each in STAGE]
    told = {"steps": names, "look": look, "stages": ["deploy"], "changes": 0, "stage": "deploy"}
    assert asked == [("stage.begin", told)]
    assert step["look"]("targets.same")["result"] is True and asked[1:] == [("targets.same", {})]


def test_a_stage_for_all_minions_of_ours_looks_at_these(stage):
    step, asked, _, _ = stage
    every = [BEGIN, *STAGE[2:3], {"fun": "state", "name": "packages", "sls": ["repo", "packages"]}]
    step["begin"].__globals__["__lowstate__"] = every
    step["begin"]("stage.begin", stage="deploy")
    assert asked[0][1]["look"] == {"groups": [[["repo", "packages"], None]], "pillar": {}}


def test_a_stage_without_a_look_looks_at_nothing(stage):
    step, asked, _, _ = stage
    step["begin"].__globals__["__lowstate__"] = STAGE[:2]
    step["begin"]("stage.begin", stage="deploy")
    assert asked[0][1]["look"] is None


def test_a_plan_looks_as_the_stage_does(stage):
    step, asked, _, _ = stage
    step["begin"].__globals__["__opts__"]["test"] = True
    step["begin"]("stage.begin", stage="deploy")
    step["look"]("targets.same")
    assert [name for name, _ in asked] == ["stage.begin", "targets.same"]
    assert asked[0][1]["test"] is True and asked[0][1]["look"]["pillar"] == {"more": 1}


def test_steps_are_applied_but_where_all_was_seen_and_nothing_changed_since(stage):
    step, _, applied, seen = stage
    running = step["state"].__globals__["__running__"]
    assert step["state"]("first", "osd", ["a"])["result"] is True and applied == []
    step["state"]("with more pillar", "check", ["a"], pillar={"more": 1})  # the look had it too
    assert applied == []
    running["a"] = {"changes": {}, "changed": ["a"]}
    step["state"]("after a change", "osd", ["a"])
    running.clear()
    for seen["as_told"] in (False, None, "yes"):
        step["state"](f"seen {seen['as_told']}", "osd", ["a"])
    assert applied == ["after a change", "seen False", "seen None", "seen yes"]


def test_of_stages_run_as_one_what_changed_before_a_stages_own_look_is_no_reason_to_apply_its_steps(stage):
    """Prep has installed a package, or discovery stored a new disk: deploy has looked again since."""
    step, _, applied, _ = stage
    running = step["state"].__globals__["__running__"]
    running["step_|-ceph-stage-prep-look_|-targets.same_|-look"] = {"changes": {}}
    running["step_|-ceph-stage-prep-packages_|-x_|-state"] = {"changes": {}, "changed": ["a"]}
    step["state"]("in prep", "osd", ["a"])
    running["step_|-ceph-stage-deploy-look_|-targets.same_|-look"] = {"changes": {}}
    step["state"]("in deploy", "osd", ["a"])
    running["step_|-ceph-stage-deploy-networks_|-links.deploy_|-runner"] = {"changes": {"a": 1}}
    step["state"]("behind a change", "osd", ["a"])
    assert applied == ["in prep", "behind a change"]


SEVERAL = [{**BEGIN, "stage": stage} for stage in ("all", "configure", "deploy")]
PUSHED = {"name": "policy.push", "changes": {"generation": "b"}, "changed": ["generation"], "__run_num__": 3}


def test_stages_that_run_as_one_are_told_which_and_how_much_has_changed(stage):
    step, asked, _, _ = stage
    step["begin"].__globals__.update(__lowstate__=SEVERAL)
    step["begin"]("stage.begin", stage="all")
    step["begin"].__globals__.update(__running__={"a": {**PUSHED, "changes": {"secrets": ["x"]}}})
    step["begin"]("stage.begin", stage="deploy")
    told = [{key: each[key] for key in ("stages", "changes")} for _, each in asked]
    assert told == [{"stages": ["all", "configure", "deploy"], "changes": 0}, {"stages": ["deploy"], "changes": 1}]


@pytest.mark.parametrize("behind", [True, False])
def test_where_discovery_comes_first_a_policy_that_is_ahead_of_it_does_not_end_a_plan(stage, behind):
    step, _, _, _ = stage
    push = {"fun": "runner", "state": "step", "name": "policy.push"}
    lowstate = [BEGIN, *([{**push, "name": "discovery.collect"}] if behind else []), push]
    answers = {"policy.push": lambda **_: {"error": "node9.sls matches no file", "retcode": 2}}
    told = {"__lowstate__": lowstate, "__context__": {step["runner"].__globals__["RUNNERS"]: answers}}
    step["runner"].__globals__.update(told)
    step["runner"].__globals__["__opts__"]["test"] = True
    ret = step["runner"]("policy.push", check="policy.push")
    assert ret["result"] is behind and "matches no file" in ret["comment"]
    assert plan_steps.end("all", [{**ret, "__id__": "push"}]) == []  # nor does it say that nothing changes


@pytest.fixture
def typed(tmp_path):
    """What was typed for this run, as Salt's job tracker has it."""
    (tmp_path / "proc").mkdir()
    words = ["ceph.stage.all", {"__kwarg__": True, "pillar": {"ceph_only": "a*", "site_key": 1}}]
    job = {"pid": os.getpid(), "fun": "runner.state.orch", "jid": "1", "fun_args": words}
    (tmp_path / "proc/1").write_bytes(salt.payload.dumps(job))
    return tmp_path


def ran(step, cachedir, states, retcode=0, changes=PUSHED["changes"]):
    """What ``step.rest`` answers and was asked, behind a stage that began after configure had served a generation."""
    asked = []
    runners = {"state.orchestrate": lambda **told: asked.append(told) or {"data": {"m": states}, "retcode": retcode}}
    context = {step["begin"].__globals__["RUNNERS"]: runners}
    running = {"push": {**PUSHED, "changes": changes}}
    step["begin"].__globals__.update(__lowstate__=SEVERAL, __running__=running, __context__=context)
    later = step["begin"]("stage.begin", stage="deploy") | {"__run_num__": 4}
    step["begin"].__globals__["__running__"]["step_|-x_|-stage.begin_|-begin"] = later
    step["begin"].__globals__["__opts__"]["cachedir"] = str(cachedir)
    return step["rest"]("rest", ["ceph.stage.deploy"]), asked


@pytest.mark.parametrize("changes", [{"generation": "b"}, {"written again": ["cluster/a.sls"]}])
def test_where_configure_serves_another_pillar_stages_compiled_before_do_nothing_and_run_at_the_end(
    stage, typed, changes
):
    step, others, applied, seen = stage
    seen["as_told"] = False
    states = {"step_|-x_|-x_|-runner": {"name": "x", "result": True, "changes": {}, "__run_num__": 0}}
    rest, asked = ran(step, typed, states, changes=changes)
    told = {"mods": ["ceph.stage.deploy"], "pillar": {"ceph_only": "a*", "site_key": 1}, "orchestration_jid": "1"}
    assert asked == [told] and rest["states"] == states and rest["result"] is True
    quiet = [step["runner"]("validate.deploy"), step["end"]("targets.left"), step["look"]("targets.same")]
    quiet += [step["state"]("osd", "osd", ["a"])]
    assert {each["comment"] for each in quiet} == {step["begin"].__globals__["LATER"]}
    assert not others and not applied and not any(each["changes"] for each in quiet)


@pytest.mark.parametrize("states", [["Rendering SLS failed"], {"a": {"result": False, "changes": {}}}])
def test_what_fails_in_them_fails_there(stage, typed, states):
    rest, _ = ran(stage[0], typed, states, 1)
    assert rest["result"] is False and ("Rendering SLS failed" in rest["comment"] or rest["states"] == states)


def test_where_it_serves_what_it_did_nothing_is_left_to_the_end(stage):
    step, asked, _, _ = stage
    running = {"push": {**PUSHED, "changes": {}}, "b_|-begin": {"changes": {}, "__run_num__": 0}}
    step["begin"].__globals__.update(__lowstate__=SEVERAL, __running__=running)
    assert step["begin"]("stage.begin", stage="deploy")["comment"] == "stage.begin"
    assert "nothing left" in step["rest"]("rest", ["ceph.stage.deploy"])["comment"] and len(asked) == 1
