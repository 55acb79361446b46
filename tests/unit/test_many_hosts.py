"""What a thousand hosts say is read on a screen: those that say the same share a line, and none is a line by itself."""

import contextlib
import json

import pytest

from proposals.stages import orchestrations, plan_steps, presence, replies
from proposals.stages.replies import Problem
from proposals.text import notes, tables
from runners.engine import jobs, minions

HOSTS = [f"osd{number:04}" for number in range(1000)]
SAME = "osd0000, osd0001 and 998 more hosts"
WIDE = 200  # characters of a line


def steps(states):
    return list(plan_steps.lines({"step": "s", "comment": "c", "fails": False, "minions": states}))


def state(comment, fails=False):
    return {"state": "x", "comment": comment, "fails": fails}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (notes.by_host((host, "storage") for host in HOSTS), [f"{SAME}: storage"]),
        (replies.lines(Problem(host, "no answer") for host in HOSTS), [f"{SAME}: no answer"]),
        (steps({host: [state("is made"), state("no space", fails=True)] for host in HOSTS}),
         ["s", f"  fails  {SAME}: x: no space", f"  would  {SAME}: x: is made"]),
    ],
    ids=["roles", "problems", "plan"],
)  # fmt: skip
def test_hosts_that_say_the_same_share_a_line(said, expected):
    assert said == expected


def test_a_state_whose_module_a_host_lacks_is_planned_by_its_name():
    comment = "State 'host_time.rendered' was not found in SLS 'a'\nReason: 'host_time' __virtual__ returned False\n"
    states = {"a": {"result": False, "name": "/etc/x", "changes": {}, "comment": comment, "__run_num__": 0}}
    assert steps(plan_steps.by_minion({"node1": states})) == [
        "s",
        f"  fails  node1: /etc/x: it has no state host_time.rendered: {replies.SYNC}",
    ]


@pytest.mark.parametrize(
    "said",
    [
        notes.by_host((host, f"{host} is odd") for host in HOSTS),
        replies.lines(Problem(host, f"{host} is odd") for host in HOSTS),
        steps({host: [state(f"{host} is made")] for host in HOSTS}),
        presence.missing("prep", HOSTS[1:], HOSTS).splitlines(),
        orchestrations.named({host: [{"fun": "state.sls", "what": "x", "jid": "1"}] for host in HOSTS}).splitlines(),
        minions.listed(HOSTS).splitlines(),
        tables.printed(
            tables.policy,
            {"lines": [], "targets": {f"cluster/{host}.sls": {f"role-a/cluster/{host}.sls": {}} for host in HOSTS}},
        ).splitlines(),
    ],
    ids=["texts", "problems", "plan", "silent", "left jobs", "managed", "policy"],
)
def test_no_answer_is_longer_than_a_screen(said):
    assert len(said) <= 15 and max(map(len, said)) <= WIDE, said


def test_few_hosts_are_told_one_by_one():
    few = HOSTS[:10]
    assert notes.by_host((host, "storage") for host in few) == [f"{host}: storage" for host in few]
    assert replies.lines(Problem(host, "x") for host in few) == [f"{', '.join(few)}: x"]
    assert steps({host: [state("is made")] for host in few})[1:] == [f"  would  {host}: x: is made" for host in few]


def test_lines_that_are_left_out_are_counted():
    *_, last = notes.by_host((host, f"{host} is odd") for host in HOSTS)
    assert last == "and 990 more lines of 990 hosts"


@pytest.mark.parametrize(
    ("functions", "count", "seconds"),
    [
        ("test.ping", 1000, 30),
        (["disks.inspect", "grains.item"], 1000, 30),
        ("saltutil.refresh_pillar", 100, 30),
        (["saltutil.refresh_pillar"], 1000, 200),
        ("state.apply", 300, 60),
    ],
)
def test_who_fetches_a_pillar_beside_many_others_is_given_time(functions, count, seconds):
    assert jobs.patience({"gather_job_timeout": 30}, functions, count) == seconds


@pytest.mark.parametrize(
    ("functions", "count", "processors", "shares"),
    [
        ("saltutil.refresh_pillar", 400, 2, 1),
        (["saltutil.refresh_pillar"], 1000, 2, 3),
        ("state.apply", 1000, 64, 1),  # worker_threads: 5
        ("state.apply", 0, 2, 1),
        ("disks.inspect", 5000, 1, 1),
    ],
)
def test_a_job_goes_to_as_many_as_the_master_has_pillars_for_before_they_ask_again(
    functions, count, processors, shares, monkeypatch
):
    monkeypatch.setattr(jobs.os, "cpu_count", lambda: processors)
    hosts = [f"osd{number:04}" for number in range(count)]
    made = jobs.shares({"worker_threads": 5}, functions, hosts)
    assert len(made) == shares and sorted(host for share in made for host in share) == hosts
    assert max(map(len, made)) - min(map(len, made)) <= 1


def test_what_several_jobs_return_is_one_answer(monkeypatch):
    asked = []

    class Client:
        def cmd(self, share, functions, arguments, **waits):
            asked.append((len(share), waits["gather_job_timeout"]))
            return {host: {"ret": {functions[0]: True}, "retcode": {functions[0]: 0}} for host in share[1:]}

    monkeypatch.setattr(jobs.os, "cpu_count", lambda: 1)
    monkeypatch.setattr(jobs.salt.client, "get_local_client", lambda **_: contextlib.nullcontext(Client()))
    monkeypatch.setattr(jobs.taking_part, "among", lambda _, hosts, **__: list(hosts))
    hosts = [f"osd{number:04}" for number in range(600)]
    opts = {"worker_threads": 5, "gather_job_timeout": 30, "user": "root"}
    replies = jobs.ask(opts, hosts, "saltutil.refresh_pillar", kind=bool)
    assert asked == [(200, 40)] * 3
    assert len(replies.answers) == 597 and replies.silent == ["osd0000", "osd0001", "osd0002"]


@pytest.mark.parametrize("count", [1, 20, 1000, 2000])
def test_a_job_says_to_hosts_what_is_theirs_and_little_of_others(count, monkeypatch):
    """All of a job's hosts get its arguments, and Salt repeats them in the return of each."""
    osds, sent = ["6b0c8f3e-1d7a-4c53-9f2e-5d1f0c9ab001"] * 60, []
    said = {f"osd{number:04}": {"osds": osds} for number in range(count)}

    def ask(opts, asked, function, arguments, kind, timeout):
        sent.append(len(asked) * len(json.dumps(arguments)))
        wrong = [Problem(host, "no") for host in asked[:1]]
        return replies.Replies({host: arguments[0][host] for host in asked[1:]}, wrong)

    monkeypatch.setattr(jobs, "ask", ask)
    told = jobs.ask_own({}, dict(reversed(said.items())), "daemons_retire.left", lambda own: [own])
    assert sum(sent) < count * 70_000
    assert sorted({*told.answers, *(problem.minion for problem in told.problems)}) == sorted(said)
    assert list(told.answers) == sorted(told.answers) and told.problems == sorted(told.problems)
    assert all(answer == said[host] for host, answer in told.answers.items())


def test_where_nobody_is_told_anything_nobody_answers(monkeypatch):
    monkeypatch.setattr(jobs.taking_part, "among", lambda _, hosts, **__: list(hosts))
    assert jobs.ask_own({}, {}, "daemons_retire.left", lambda own: [own]) == ({}, [])
