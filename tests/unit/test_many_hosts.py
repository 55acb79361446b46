"""What a thousand hosts say is read on a screen: those that say the same share a line, and none is a line by itself."""

import contextlib
import dataclasses
import json
import time
from fnmatch import fnmatchcase
from types import SimpleNamespace

import pytest

from proposals.adoption import found, serving, writing
from proposals.cluster import crush, failing
from proposals.cluster.purge import told as purge_told
from proposals.cluster.purge.disks import Disk
from proposals.cluster.purge.record import Record
from proposals.cluster.removal import told as removal_told
from proposals.cluster.removal.items import Item
from proposals.inventory import spares
from proposals.pillar import named
from proposals.services import client_keys, service_answers, table
from proposals.services.service import PlannedCluster
from proposals.stages import left_out, lines, orchestrations, plan_steps, presence, progress, replies, targets
from proposals.stages.replies import Problem
from proposals.text import names, notes, tables
from proposals.validation import check
from runners import targets as runner
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.cluster import adopting
from runners.engine.looks import early, facts
from runners.engine.removal import departure, leaving
from runners.engine.runs import stage_lock

HOSTS = [f"osd{number:04}" for number in range(1000)]
SAME = "osd0000, osd0001 and 998 more hosts"
WIDE = 200  # characters of a line
WORN = [
    failing.JudgedDisk(host, f"/dev/sd{slot}", "ST, serial X", failing.WARNS, "it is old", {}, f"/dev/sd{slot}")
    for host in HOSTS
    for slot in "abc"
]


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
        notes.by_name((host, [f"osd.{host}"], f"{host} is odd") for host in HOSTS),
        failing.text(WORN),
        [finding["message"] for finding in failing.findings(WORN)],
        (lines.line({"event": "result", "step": "a", "result": "done", "warnings": HOSTS}) or "").splitlines(),
        replies.lines(Problem(host, f"{host} is odd") for host in HOSTS),
        steps({host: [state(f"{host} is made")] for host in HOSTS}),
        presence.missing("prep", HOSTS[1:], HOSTS).splitlines(),
        orchestrations.named({host: [{"fun": "state.sls", "what": "x", "jid": "1"}] for host in HOSTS}).splitlines(),
        minions.listed(HOSTS).splitlines(),
        targets.began({"hosts": HOSTS, "left": {host: f"{host} is odd" for host in HOSTS}}, HOSTS, 0).splitlines(),
        targets.left_from_here({host: f"{host} is odd" for host in HOSTS}).splitlines(),
        tables.printed(
            tables.policy,
            {"lines": [], "targets": {f"cluster/{host}.sls": {f"role-a/cluster/{host}.sls": {}} for host in HOSTS}},
        ).splitlines(),
    ],
    ids=[
        "texts",
        "names",
        "disks",
        "disks warned of",
        "warnings",
        "problems",
        "plan",
        "silent",
        "left jobs",
        "managed",
        "left at first",
        "left later",
        "policy",
    ],
)
def test_no_answer_is_longer_than_a_screen(said):
    assert len(said) <= 15 and max(map(len, said)) <= WIDE, said


ODD = {"result": False, "__id__": "x", "changes": {}, "__run_num__": 0}
APPLIED = {host: {"a": {**ODD, "comment": f"{host} is odd", "warnings": [f"{host} is old"]}} for host in HOSTS}
CHANGED = {host: {"a": {**ODD, "result": True, "changes": {"a": 1}}} for host in HOSTS}
RUNS = {host: {"generation": f"g-{host}", "ports": [], "units": ["ceph-mds@a.service"]} for host in HOSTS}


@pytest.mark.parametrize(
    ("said", "most"),
    [
        (service_answers.applied("modules", APPLIED, []).text().splitlines(), 22),
        (service_answers.applied("modules", CHANGED, []).text().splitlines(), 1),
        (service_answers.applied("modules", CHANGED, [], test=True).text().splitlines(), 1),
        (service_answers.problems({}, RUNS, "g"), 11),
        (service_answers.left(table.named("cephfs"), {}, RUNS), 1),
    ],
    ids=["failed and warned", "changed", "would change", "pillars", "lost their role"],
)
def test_what_services_and_a_sync_say_of_many_hosts_is_counted(said, most):
    assert len(said) <= most and max(map(len, said)) <= WIDE, said[:3]


def test_a_part_names_few_hosts_that_changed():
    few = dict(list(CHANGED.items())[:10])
    assert service_answers.applied("modules", few, []).text() == f"modules: {', '.join(HOSTS[:10])} changed"


def test_what_was_left_out_is_counted_where_no_summary_is_made(monkeypatch):
    """As ``stage.plan deploy`` shows it."""
    note = {"left": {host: f"failed in x: {host} is odd" for host in HOSTS}, "failed": HOSTS}
    monkeypatch.setattr(stage_lock, "own", lambda _: note)
    monkeypatch.setattr(runner, "__opts__", {}, raising=False)
    said = runner.left(test=True)
    assert len(said["text"].splitlines()) == 11 and said["text"].endswith("\n990 more hosts: left out too")
    assert len(said["findings"]) == 1000


def test_few_hosts_are_told_one_by_one():
    few = HOSTS[:10]
    assert notes.by_host((host, "storage") for host in few) == [f"{host}: storage" for host in few]
    assert replies.lines(Problem(host, "x") for host in few) == [f"{', '.join(few)}: x"]
    assert steps({host: [state("is made")] for host in few})[1:] == [f"  would  {host}: x: is made" for host in few]


def test_each_disk_that_fails_is_named_as_long_as_they_are_few():
    disks = WORN[::3]
    fails = [dataclasses.replace(disk, state=failing.FAILS) for disk in disks[:12]]
    told = failing.findings([*fails, *disks[:10]])
    assert [len(finding["hosts"]) for finding in told] == [1] * 10 + [2] + [1] * 10
    assert len(failing.findings(WORN[:30])) == 30  # of ten hosts
    assert told[10]["message"] == "2 more disks fail" and "disk.health --out json" in told[10]["fix"]
    assert failing.text(WORN)[0].startswith(f"{SAME}: 3000 disks warn: it is old\n")


def test_of_warnings_some_of_every_kind_are_told():
    warnings = [*(f"{host} is odd; mend it" for host in HOSTS), "a; b"]
    said = lines.line({"event": "result", "step": "s", "result": "done", "warnings": warnings}).splitlines()
    assert said[3:] == ["s: warning: a; b", "s: warning: and 997 more, which the run log names"]
    warnings = warnings[:50]
    assert len(lines.line({"event": "result", "step": "s", "result": "done", "warnings": warnings}).splitlines()) == 50


def test_findings_of_a_check_that_have_no_line_are_counted():
    findings = [check.Finding("facts", "error", (host,), f"{host} is odd", "mend it") for host in HOSTS]
    assert len(check.text(findings[:10] * 2, "all").splitlines()) == 41  # of ten hosts
    said = check.text([*findings, check.Finding("mtu", "error", (), "x", "y")], "all").splitlines()
    assert len(said) == 24 and said[21] == "error    x  [mtu]"
    assert said[20] == "error    and 990 more hosts: 'salt-run validate.show facts --out json' names each  [facts]"


class Seen(dict):
    """Of each host something; how often a value of it was read."""

    reads = 0

    def get(self, *words):
        self.reads += 1
        return super().get(*words)

    def values(self):
        self.reads += len(self)
        return super().values()


def test_an_osd_that_is_made_costs_as_much_whatever_the_number_of_hosts():
    """A stage's watcher is told of each: of 2,000 hosts of 54 OSDs it read 200 million numbers."""
    seen, of = progress.Progress(), {"made": 0, "failed": 0, "of": 2}
    seen.osds = Seen()
    for made in (0, 1, 2):
        for host in HOSTS:
            told = seen.take({"event": "osd", "minion": host, **of, "made": made})
    assert told == ["  osd0999 2 of 2 OSDs; of 1000 hosts 2000 of 2000 OSDs"] and seen.osds.reads <= 3000
    assert "2000 of 2000 OSDs" in seen.text(0) and seen.share() == 1
    seen.take({"event": "step", "step": "next", "time": "2026-01-02T03:04:05+0000"})
    assert "OSDs" not in seen.text(0)


def test_metadata_servers_of_an_adopted_cluster_are_looked_for_once(monkeypatch):
    """For each host anew, of all hosts: 2 s for 2,000 that have none."""
    looked, hosts = [], [found.Host(host, host, None, False, {"mds": [host]}, {}, (), (), ()) for host in HOSTS[:20]]
    cluster = found.Cluster("f", "reef", {}, (), {}, HOSTS, (), {"mds.osd0001": "k"}, {}, (), (), "")
    monkeypatch.setattr(serving, "servers", lambda *_: looked.append(1) or ["osd0001"])
    assert writing.taken_keys(hosts, cluster) == {"mds.osd0001": "k"} and len(looked) == 1


def test_hosts_of_an_adopted_cluster_with_another_ceph_conf_are_counted(monkeypatch):
    monkeypatch.setattr(adopting.conf, "differing", lambda *_: HOSTS)
    (said,) = adopting._confs([], "osd0000")
    assert said.startswith(f"{SAME}: ceph.conf differs") and len(said) < WIDE
    assert f"{SAME} do not answer" in adopting._no_monitor([], HOSTS)


def test_hosts_that_keep_keyrings_of_a_client_share_a_line():
    """As configure tells them, once ceph_keys gives a client's key to none of them any more."""
    had = {
        host: {"hostname": host, "osds": [], "parts": {"client-keys": {"clients": ["client.app"]}}} for host in HOSTS
    }
    (said,) = named.keyrings(had, {host: {"hostname": host, "osds": [], "parts": {}} for host in HOSTS})
    assert said.startswith(f"{SAME}: keyrings that ceph_keys gives it no more, left alone: client.app; see")


class Id(str):
    """A host's id; how often one is compared with another one."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Id.compared += 1
        return str.__eq__(self, other)


def test_replies_of_many_hosts_are_not_looked_for_host_by_host(monkeypatch):
    hosts, again = (list(map(Id, HOSTS)) for _ in range(2))
    replied = replies.Replies(dict.fromkeys(hosts[:500], {}), [Problem(host, "x") for host in hosts[500:]])
    told = early.Told({"a.b": replied}, [], time.time())
    monkeypatch.setattr(early, "ask", lambda *_: told)
    monkeypatch.setattr(stage_lock, "own", lambda _: {"jid": "many"})
    early.keep({}, None)
    Id.compared = 0
    assert replied.of(again) == replied and early.once({}, again, [], 1, 0).replies == {"a.b": replied}
    early.keep({}, None)
    assert Id.compared < 20_000


def looked_for(hosts, again):
    """Where a step looks up each of some hosts among as many others."""
    note, keys = {"hosts": hosts}, {"hosts": ["*"], "caps": {}, "user": "root", "group": "root", "mode": "0600"}
    cluster = PlannedCluster(dict.fromkeys(hosts, ["mgr"]), {}, {"ceph_keys": {"client.app": keys}}, frozenset())
    members = {"master": again[:1], "all": again, "storage": hosts, "networks": hosts}
    return {
        "left at first": lambda: taking_part.left_at_first({**note, "silent": again, "maintenance": {}}, ()),
        "wanted": lambda: targets.named_by(note, again),
        "failed": lambda: taking_part.leave({}, "step", hosts, dict.fromkeys(again[1:], {"a": {"result": True}})),
        "keyrings": lambda: client_keys.plan(cluster),
        "facts": lambda: facts.questions({"members": members}),
    }


@pytest.mark.parametrize("at", looked_for([], []))
def test_no_host_is_looked_for_among_all_others(at, monkeypatch):
    hosts, again = (list(map(Id, HOSTS)) for _ in range(2))
    monkeypatch.setattr(stage_lock, "own", lambda _: {})
    monkeypatch.setattr(minions, "members", lambda opts: opts["members"])
    monkeypatch.setattr(minions, "pillar", lambda opts: {})
    monkeypatch.setattr(facts, "_question", lambda opts, chosen: chosen)
    Id.compared = 0
    looked_for(hosts, again)[at]()
    assert Id.compared < 20_000


def test_hosts_with_a_line_each_in_the_sites_settings_are_looked_up(monkeypatch):
    """As spares, which are named by their serials, and places of hosts whose names follow no pattern."""
    hosts, compared = {host: {"ceph_disks": [{"id": f"/dev/{host}", "serial": host}]} for host in HOSTS}, []
    monkeypatch.setattr(names, "fnmatchcase", lambda *words: compared.append(words) or fnmatchcase(*words))
    kept = spares.reserve(hosts, {**{host: [host] for host in HOSTS}, "osd000[0-4]": ["other"]})
    assert all(host["ceph_disks"][0]["in_use"] for host in kept.values())
    assert spares.notes(hosts, {host: [host] for host in HOSTS}) == []
    places = crush.locations({host: {"rack": f"r-{host}"} for host in HOSTS}, {host: f"h-{host}" for host in HOSTS})
    assert places["h-osd0999"] == {"rack": "r-osd0999"} and len(places) == len(compared) == 1000


def test_those_that_failed_are_read_once():
    class Failed(list):
        reads = 0

        def __iter__(self):
            Failed.reads += 1
            return super().__iter__()

    assert len(left_out.judged(dict.fromkeys(HOSTS, "x"), Failed(HOSTS), None)) == 1 and Failed.reads == 1


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
        ("state.sls", 300, 60),
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
        ("state.sls", 1000, 2, 3),
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


def leave(count, given_up=False):
    """Three OSDs and a monitor of each of some hosts."""
    osds = [Item("osd", f"osd.{3 * at + slot}", HOSTS[at], f"f{at}-{slot}", given_up and not at)
            for at in range(count) for slot in range(3)]  # fmt: skip
    return [*osds, *(Item("mon", f"mon.{host}", host) for host in HOSTS[:count])]


def done(count):
    """What a removal did."""
    did = {"back": [f"reweight osd.{at} 5.5" for at in range(1000)]}
    for item in leave(count):
        did.setdefault(f"{item.kind} of {item.minion}", []).append(item.name)
    return did | {"key": ["client.app"]}


def whole_purge(count, wipe=True):
    """What would go of a cluster of so many hosts, with what stays."""
    said = {}
    for at, host in enumerate(HOSTS[:count]):
        osds = [{"id": 3 * at + slot, "fsid": f"f{at}-{slot}", "cluster": "ours"} for slot in range(3)]
        units = {"mon": [f"ceph-mon@{host}"], "crash": [f"ceph-crash@{host}"], "rgw": [f"ceph-radosgw@rgw.{host}"]}
        seen = {"osds": osds, "units": units, "cluster": "ours", "files": ["/etc/ceph/ceph.conf", f"/var/{host}"]}
        notes = [f"osd.9{at}: nothing says of which cluster it is: neither stopped nor wiped", f"/dev/x{at}: {at}: odd"]
        parts = dict.fromkeys(units, {})
        said[host] = purge_told.plan({"parts": parts}, {**seen, "others": [f"/o/{host}"]}, DISKS[host], notes, wipe)
    return said


DISKS = {host: tuple(Disk(f"/dev/{host}{slot}", "/dev/sda", f"S{at}{slot}", 1, ("f",), (), 1) for slot in "abc")
         for at, host in enumerate(HOSTS)}  # fmt: skip
RECORD = Record("ours", "now", "root", "wipe", dict.fromkeys(HOSTS, {}), (), DISKS)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (removal_told.listed(leave(1000)),
         [f"  {SAME}: 3000 OSDs: osd.0, osd.1 and 2998 more",
          f"  {SAME}: 1000 mons: mon.osd0000, mon.osd0001 and 998 more"]),
        (removal_told.listed(leave(11, given_up=True))[:2],
         ["  osd0001, osd0002 and 8 more hosts: 30 OSDs: osd.3, osd.4 and 28 more",
          "  osd0000: 3 OSDs: osd.0, osd.1, osd.2 (its host is given up)"]),
        (removal_told.past([item for item in leave(1000) if item.kind == "osd"]),
         [f"{SAME}: has left already, by hand, and the stage removal forgets it: 3 OSDs"]),
        (removal_told.past(leave(1000)), ["and 990 more lines of 990 hosts"]),
        (removal_told.held_back(leave(1000), HOSTS),
         [f"{SAME}: do not answer, or are in maintenance: osd.0, osd.1 and 3998 more stay; start their "
          "salt-minion, or end their maintenance; where one is gone for good: gone=MINION"]),
        (removal_told.weights(dict.fromkeys(map(str, range(99)), 5.5), "{osds}: {weight}"),
         ["osd.0, osd.1 and 97 more OSDs: 5.5"]),
        (removal_told.each({"gone": "a"}, leave(11)),
         ["each of them by its name: salt-run removal.check gone='a' --out json"]),
        (departure.lines(done(1000)),
         ["back: reweight osd.0 5.5, reweight osd.1 5.5 and 998 more", f"osd of {SAME}: osd.0, osd.1 and 2998 more",
          f"mon of {SAME}: mon.osd0000, mon.osd0001 and 998 more", "key: client.app", removal_told.CHANGES]),
        (purge_told.disks(RECORD, "/p.json"),
         [f"{SAME}: 3000 disks: /dev/osd0000a serial S0a, /dev/osd0000b serial S0b and 2998 more: would be wiped",
          "each of them stands in /p.json"]),
        (purge_told.lines(whole_purge(1000)),
         [f"{SAME}: would stop 2000 units (mon): ceph-crash@osd0000, ceph-mon@osd0000 and 1998 more",
          f"{SAME}: would stop 3000 OSDs: osd.0, osd.1 and 2998 more",
          f"{SAME}: 3000 disks: /dev/osd0000a serial S0a, /dev/osd0000b serial S0b and 2998 more: would be wiped",
          f"{SAME}: osd.90, osd.91 and 998 more: nothing says of which cluster it is: neither stopped nor wiped",
          "and 991 more notes of 991 hosts", purge_told.EACH]),
    ],
    ids=["leaves", "given up", "past", "past apart", "silent", "weights", "where", "has left", "disks", "purge"],
)  # fmt: skip
def test_many_things_that_go_are_counted(said, expected):
    assert [line for line in expected if line not in said] == [] and len(said) <= 25, said
    assert max(map(len, said)) <= WIDE


def test_hosts_with_an_older_pillar_hold_a_removal_back_in_one_line(monkeypatch):
    """As where a configure was interrupted before they fetched theirs."""
    listed = tuple(Item("rgw", f"rgw.{host}", host) for host in HOSTS)
    look = SimpleNamespace(generations=dict.fromkeys(HOSTS, "old"), items=listed, seen={}, osds=())
    monkeypatch.setattr(leaving, "served_name", lambda _: "new")
    monkeypatch.setattr(leaving.roles, "against", lambda *_: [])
    monkeypatch.setattr(leaving, "_targets", lambda *_: [])
    monkeypatch.setattr(minions, "members", lambda _: {})
    assert leaving.against({}, look) == [
        f"{SAME}: its pillar is of generation old, served is new: run ceph.stage.configure again"
    ]


def test_few_things_that_go_are_named():
    assert len(removal_told.listed(leave(10))) == 20 and removal_told.each({}, leave(10)) == []
    assert departure.lines({"osd of a": ["osd.1"], "key": ["x"]}) == ["osd of a: osd.1", "key: x"]
    few = purge_told.lines(whole_purge(10, wipe=False))
    assert "osd0000: would stop ceph-crash@osd0000, ceph-mon@osd0000" in few and len(few) == 110
    assert "osd0001: /dev/osd0001a serial S1a, 1 OSDs: would stay as it is (wipe=true wipes it)" in few
    told = purge_told.data(whole_purge(1000))["hosts"]
    assert sum(map(len, told.values())) == 11_000 and "would stop osd.0, osd.1, osd.2" in told["osd0000"]
