"""What the first step of a stage asks for a later one: taken once, and only where it still holds."""

import time
from types import SimpleNamespace

import pytest

from proposals.stages.replies import SILENT, Problem, Replies, together
from proposals.validation.subject import Subject
from runners.engine import stage_begin
from runners.engine.asking import jobs, minions
from runners.engine.cluster import service_look
from runners.engine.looks import early, facts, keys, look, parts, stage_jobs, stage_look
from runners.engine.runs import stage_lock

ROLES = {"node1": ["mon"], "node2": ["storage"], "node3": ["storage"]}
CHOSEN = Subject(ROLES, {"public_network": "10.0.0.0/24"}, {})
OPTS: dict = {}


@pytest.fixture
def stage(monkeypatch):
    """A stage of this process: its note, the functions of each job, and what minions answer; node3 answers nonsense."""
    run = SimpleNamespace(note={"jid": "1", "hosts": list(ROLES)}, asked=[], digest="same", runs=[], since=0.0)

    def ask(opts, asked, questions, timeout=60):
        run.asked.append(sorted(each.function for each in questions))
        told = {"host.facts": {"clock": [0, 0]}, parts.DIGEST.function: run.digest, "saltutil.running": run.runs}
        told |= {"host.since": run.since, "config.option": False}
        odd = Problem("node3", "answered [], expected dict")
        return {
            each.function: Replies(
                {name: told.get(each.function, True) for name in asked if name != "node3"}, [odd] * ("node3" in asked)
            )
            for each in questions
        }

    monkeypatch.setattr(jobs, "ask_apart", ask)
    monkeypatch.setattr(stage_lock, "own", lambda opts: run.note)
    monkeypatch.setattr(parts, "digest", lambda opts: "same")
    monkeypatch.setattr(facts, "_question", lambda opts, chosen: facts.Question(facts.ASKED, [run.now, *run.words]))
    run.now, run.words = time.time(), [{"names": "a"}]
    early.keep(OPTS, None)  # what another test's stage was told
    yield run
    early.keep(OPTS, None)


def begin(questions, changes=0):
    told = early.once(OPTS, ROLES, [*questions, stage_jobs.RUNNING], 15, changes)
    early.keep(OPTS, told)
    return told.replies[stage_jobs.RUNNING.function].answers


@pytest.mark.parametrize("refresh", [False, True])
def test_preps_first_job_tells_who_has_other_files_and_no_second_one_is_needed(stage, refresh):
    assert sorted(begin(parts.questions(refresh))) == ["node1", "node2"]
    assert parts.lacking(OPTS, ROLES, refresh) == (["node3"], [])
    assert len(stage.asked) == 1 and ("saltutil.refresh_pillar" in stage.asked[0]) is refresh
    stage.digest = "drifted"
    assert parts.lacking(OPTS, ROLES, refresh) == (["node1", "node2", "node3"], [])  # taken once, then asked anew
    assert len(stage.asked) == 2


def test_stages_that_run_as_one_ask_once_until_a_step_changes_anything(stage, monkeypatch):
    begin([*parts.questions(True), *look.QUESTIONS])
    assert parts.lacking(OPTS, ROLES, True)[0] == ["node3"]
    begin(look.QUESTIONS)  # the next stage
    assert early.taken(OPTS, ROLES, look.TRACES) and len(stage.asked) == 1
    assert early.told(OPTS, ["node1"], parts.REFRESH.function).answers == {"node1": True}
    assert early.told(OPTS, ["node1"], "test.ping") is None
    begin([], changes=1)
    begin([], changes=1)
    assert len(stage.asked) == 2 and early.told(OPTS, ["node1"], parts.REFRESH.function) is None
    early.keep(OPTS, None)  # somebody's job ran there meanwhile
    begin([], changes=1)
    assert len(stage.asked) == 3
    monkeypatch.setattr(early, "FRESH", -1)  # long ago
    begin([], changes=1)
    assert len(stage.asked) == 4


def test_who_was_not_asked_is_asked_and_not_taken_for_silent(stage):
    begin([])
    some = early.once(OPTS, ["node1"], [stage_jobs.RUNNING], 15, 0)
    assert not some.replies["saltutil.running"].problems and len(stage.asked) == 1
    more = early.once(OPTS, [*ROLES, "node4"], [stage_jobs.RUNNING], 15, 0)  # its key was accepted meanwhile
    assert "node4" in more.replies["saltutil.running"].answers and len(stage.asked) == 2


def test_what_was_asked_with_others_is_joined_as_one_job_answers_it(stage):
    begin(look.QUESTIONS)
    told = early.taken(OPTS, [*ROLES, "node4"], look.TRACES).replies
    replies = together(told, look.QUESTIONS)
    assert list(replies.answers) == ["node1", "node2"] and len(replies.answers["node1"]) == 4
    assert replies.problems == [Problem("node3", "answered [], expected dict"), Problem("node4", SILENT, True)]


def test_who_was_left_out_since_is_silent(stage):
    begin(parts.questions(True))
    stage.note["left"] = {"node2": "in maintenance"}
    assert parts.lacking(OPTS, ROLES, True) == (["node3"], [Problem("node2", SILENT, True)])


def test_a_stage_that_asked_nothing_early_asks_then(stage):
    begin([])
    assert parts.lacking(OPTS, ROLES, True)[0] == ["node3"] and len(stage.asked) == 2


def test_another_stages_answers_are_never_taken(stage):
    begin(parts.questions(True))
    stage.note["jid"] = "2"
    parts.lacking(OPTS, ROLES, True)
    assert len(stage.asked) == 2


def test_facts_are_told_with_who_answers(stage):
    begin([facts._question(OPTS, CHOSEN)])
    replies, took = facts.ask(OPTS, CHOSEN)
    assert list(replies.answers) == ["node1", "node2"] and [each.minion for each in replies.failed] == ["node3"]
    assert len(stage.asked) == 1 and list(took) == ["node1", "node2"] and 0 <= took["node1"] < facts.EARLY


def test_what_a_host_is_asked_behind_its_facts_does_not_hide_a_clock(stage):
    stage.now -= facts.EARLY + 1  # of a job that looks at much
    stage.since = facts.EARLY
    begin([facts._question(OPTS, CHOSEN), facts.SINCE])
    _, took = facts.ask(OPTS, CHOSEN)
    assert len(stage.asked) == 1 and 1 <= took["node1"] < 2


@pytest.mark.parametrize("why", ["another question", "a long job"])
def test_facts_are_asked_anew_where_they_would_say_less(stage, why):
    if why == "a long job":  # no clock is compared more closely than the job took
        stage.now -= facts.EARLY + 1
    begin([facts._question(OPTS, CHOSEN)])
    stage.now = time.time()
    stage.words = [{"names": "b"}] if why == "another question" else stage.words
    assert facts.ask(OPTS, CHOSEN)[1]["node1"] < facts.EARLY and len(stage.asked) == 2


def test_a_stage_behind_others_does_not_go_by_their_look_where_it_waited_for_a_host(stage, monkeypatch):
    """What it was told counts no more then, and what the stages before had seen still less."""
    members, look = {"all": list(ROLES), "master": ["node1"]}, {"groups": [[["ceph.cluster.osd"], None]], "pillar": {}}
    monkeypatch.setattr(stage_lock, "take", lambda *_: stage.note)
    monkeypatch.setattr(stage_lock, "note", lambda _, job: stage.note.update(job))
    monkeypatch.setattr(stage_lock, "whole", lambda _: None)
    monkeypatch.setattr(stage_begin, "_recorded", lambda _, job, note, __: {**job, **note, "log": ""})
    monkeypatch.setattr(minions, "addressed", lambda *_: list(ROLES))
    monkeypatch.setattr(minions, "members", lambda _: members)
    monkeypatch.setattr(minions, "pillar", lambda _: {"ceph": {"members": members, "services": {}}})
    monkeypatch.setattr(stage_begin.maintained, "known", lambda *_: (None, ""))
    monkeypatch.setattr(stage_jobs, "wait", lambda *_: {})
    monkeypatch.setattr(facts, "questions", lambda _: [])

    def begins(*stages):
        told = stage_begin.Told(stages[0], stages, "answering", None, (), None, (), look, 0)
        assert "error" not in stage_begin.begin(OPTS, told, 600, False)

    begins(*EVERY)
    assert stage_look.kept(OPTS)
    monkeypatch.setattr(early, "FRESH", -1)  # configure took its time
    stage.runs = [{"jid": "9", "fun": "state.apply", "pid": 1}]
    begins("deploy", "services")
    assert len(stage.asked) == 2 and stage_look.kept(OPTS) is None


LOOKED = {"groups": [[["ceph.cluster.osd"], ["node2"]]], "pillar": {}}
DISCOVERY, PREP = {each.function for each in look.QUESTIONS}, {parts.DIGEST.function, parts.REFRESH.function}
CONFIGURE, HOSTS = {keys.ASKED}, {each.function for each in stage_look.HOSTS}
CLUSTER, STATES, AWAY = stage_look.TOGETHER, stage_look.DIFFERING, stage_look.MAINTAINED
DEPLOY = {
    facts.ASKED,
    facts.SINCE.function,
    CLUSTER,
    STATES,
    *HOSTS,
    *(each.function for each in facts.BESIDE.values()),
}
SERVICES = {service_look.RUNNING, CLUSTER, STATES}
EVERY = ["prep", "discovery", "configure", "deploy", "services"]


@pytest.mark.parametrize(
    ("stages", "looked", "whole", "more"),
    [
        (["prep"], LOOKED, True, {*PREP, STATES, AWAY}),
        (["discovery"], None, True, {*DISCOVERY, AWAY}),
        (["configure"], None, True, {*CONFIGURE, AWAY}),
        (["deploy"], LOOKED, True, DEPLOY),
        (["services"], None, True, SERVICES),
        (["cephfs"], None, True, {AWAY}),
        (["all", *EVERY], LOOKED, True, {*PREP, *DISCOVERY, *CONFIGURE, *DEPLOY, *SERVICES}),
        (["all", *EVERY], None, False, {AWAY, facts.ASKED}),  # for some hosts only
    ],
)
@pytest.mark.parametrize("test", [False, True])
def test_each_stage_asks_first_what_its_steps_want_to_know(stage, monkeypatch, stages, looked, whole, more, test):
    members = {"all": list(ROLES), "master": ["node1"]}
    step = {"ports": {}, "parts": {"mds": ["node2"]}, "pools": {}, "cluster": {}}
    monkeypatch.setattr(minions, "members", lambda _: members)
    monkeypatch.setattr(minions, "pillar", lambda _: {"ceph": {"members": members, "services": {"cephfs": step}}})
    asked = stage_begin.questions(OPTS, stages, whole, test, None if test else looked)
    functions = [each.function for each in asked]
    assert len(functions) == len(set(functions))
    if not test:
        assert set(functions) == {"saltutil.running", "host_masters.active", "config.option", *more}
        assert not {"deploy"} & set(stages) or functions[0] == facts.ASKED  # they tell the time
        if looked and "prep" in stages:  # what is new is read before states are looked at
            assert functions.index(STATES) > functions.index(parts.REFRESH.function)
    else:  # the steps ask themselves, and nobody reads anything anew
        assert not {parts.REFRESH.function, STATES, CLUSTER, *DISCOVERY} & set(functions)


def test_services_look_at_the_hosts_of_their_own_and_ask_the_cluster_for_them(stage, monkeypatch):
    members = {"all": list(ROLES), "master": ["node1"]}
    step = {"ports": {}, "parts": {"mds": ["node2"]}, "pools": {}, "cluster": {}}
    monkeypatch.setattr(minions, "members", lambda _: members)
    monkeypatch.setattr(minions, "pillar", lambda _: {"ceph": {"members": members, "services": {"cephfs": step}}})
    asked = {each.function: each.arguments for each in stage_begin.questions(OPTS, EVERY, True, False, LOOKED)}
    own = [(["ceph.cluster.keys"], ["node1"]), (["ceph.service.mds"], ["node2"])]
    assert asked[STATES] == [[*LOOKED["groups"], *own], {}, False, True]
    assert asked[CLUSTER][0] == {**stage_look.CLUSTER, "cluster_cephfs.inspect": []}
    assert asked[keys.ASKED] == [True]  # deploy's: with what monitors know


def test_a_line_that_is_no_text_ends_no_look_at_all_hosts():
    """Of many hosts those with the same line share one: a mapping cannot be looked up."""
    told = Replies({f"node{number}": [{"odd": 1}] for number in range(11)}, [])
    (line,) = stage_look.Look({}, {stage_look.DIFFERING: told}).differing()
    assert line.startswith("node0, ") and line.endswith(": {'odd': 1}")
