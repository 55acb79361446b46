"""What runners answer for a thousand hosts is read on a screen, and ``--out json`` has all of it."""

from types import SimpleNamespace

import pytest

import runners.daemon
import runners.health
import runners.links
import runners.policy
import runners.tuning
import runners.updates
import runners.upgrade
from proposals.cluster import growth, maintenance, report
from proposals.cluster.health import judge
from proposals.cluster.health.findings import WRONG, Complaint
from proposals.cluster.removal.items import Item
from proposals.cluster.upgrade import hosts as upgraded
from proposals.stages.replies import Replies
from proposals.text import tables
from proposals.text.errors import PolicyError
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.cluster import ceph, health
from runners.engine.hosts import updating, upgrading
from runners.engine.runs import stage_lock

HOSTS = [f"osd{number:04}" for number in range(1000)]
OSDS = {host: [f"osd.{60 * number + slot}" for slot in range(60)] for number, host in enumerate(HOSTS)}
WIDE = 200  # characters of a line
OPTION = {"osd_memory_target": ["4294967296", "6442450944"]}
WAITING = {host: dict.fromkeys(names, OPTION) for host, names in OSDS.items()}
UNITS = {host: [name.replace("osd.", "ceph-osd@") for name in names] for host, names in OSDS.items()}


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    """Runners as Salt's loader leaves them, for whom nobody has to be asked."""
    for name in ("daemon", "health", "links", "policy", "tuning", "updates", "upgrade"):
        module = getattr(runners, name)
        monkeypatch.setattr(module, "__opts__", {"output": None}, raising=False)
    for name in ("own", "free", "keep", "kept"):
        monkeypatch.setattr(stage_lock, name, lambda *_: None)
    monkeypatch.setattr(taking_part, "among", lambda opts, hosts=HOSTS, **_: list(hosts))
    monkeypatch.setattr(minions, "ours", lambda opts: HOSTS)
    monkeypatch.setattr(minions, "master", lambda opts: "salt")
    monkeypatch.setattr(runners.daemon, "_looked", lambda: (WAITING, UNITS, []))
    monkeypatch.setattr(health, "plan", lambda opts: None)


def screen(answer):
    """The lines of an answer, which a screen holds."""
    lines = (answer.get("text") or answer["error"]).splitlines()
    assert len(lines) <= 15 and max(map(len, lines)) <= WIDE, lines
    return lines


def refused(monkeypatch):
    """A choice against which something stands of each host."""
    lines = [f"{host}: no inventory of this storage host: run ceph.stage.discovery again" for host in HOSTS]

    def build(choice):
        raise PolicyError("\n".join(["policy.cfg cannot be configured, nothing was changed:", *lines]))

    monkeypatch.setattr(runners.policy.generation, "build", build)
    monkeypatch.setattr(runners.policy.judging.problems, "unreadable", lambda _: lines)
    monkeypatch.setattr(runners.policy.judging.strays, "found", lambda _: [])
    choice = SimpleNamespace(roles=dict.fromkeys(HOSTS, ["storage"]), warnings=[])
    monkeypatch.setattr(runners.policy, "_chosen", lambda _: choice)
    monkeypatch.setattr(runners.policy.site, "site", lambda _: None)
    monkeypatch.setattr(runners.policy.generation_disk, "obstacles", lambda _: [])
    return lines


def test_what_stands_against_a_choice_is_told_with_a_command_that_names_each(monkeypatch):
    """``validate.show`` knows neither configure's checks nor what was not served yet."""
    lines = refused(monkeypatch)
    each = "and 990 more: 'salt-run policy.check --out json' names each  [configure]"
    told = runners.policy.check()
    assert f"error    {each}" in told["text"].splitlines() and "validate.show" not in told["text"]
    assert [finding["message"] for finding in runners.policy.check(__out="json")["findings"]] == lines
    first, second, *_, last = screen(runners.policy.push())
    assert first.endswith("nothing was changed:") and second == lines[0]
    assert last == "and 991 more: 'salt-run policy.check --out json' names each"


def test_files_that_nothing_reads_are_counted_by_configure_too(monkeypatch):
    """As a line of policy.cfg for a role's layouts selects them, of which there are none."""
    refused(monkeypatch)
    strays = [f"policy.cfg chooses role-x/{host}.yml, which is of no layer" for host in HOSTS]
    monkeypatch.setattr(runners.policy.judging.strays, "found", lambda _: strays)
    choice = SimpleNamespace(warnings=["line 3: 2 files are empty and skipped"], own={})
    lines = runners.policy._unread(choice)
    assert len(lines) == 12 and lines[-1] == "and 990 more: 'salt-run policy.check --out json' names each"


@pytest.mark.slow
def test_what_waits_for_a_restart(monkeypatch):
    told = runners.daemon.pending()
    who, what = "osd0000, osd0001 and 998 more hosts", "osd.0, osd.1 and 59998 more"
    assert screen(told) == [
        f"{who}: {what}: osd_memory_target is 4294967296, would be 6442450944",
        "'salt-run state.orch ceph.stage.restart' restarts them, host by host",
        f"{who}: down: ceph-osd@0, ceph-osd@1 and 59998 more; see 'systemctl status' there",
        "'salt-run daemon.pending --out json' names each",
    ]
    assert [finding["message"] for finding in told["findings"]] == [screen(told)[2]]
    assert told["daemons"] == WAITING and told["down"] == UNITS
    dry = runners.daemon.restart(test=True)
    assert screen(dry)[0] == f"would restart {what} of {who}" and dry["changes"]["osd0999"] == OSDS["osd0999"]
    few = {host: {"mon.a": OPTION} for host in HOSTS[:10]}
    monkeypatch.setattr(runners.daemon, "_looked", lambda: (few, {}, []))
    assert len(runners.daemon.pending()["text"].splitlines()) == 11


def down(hosts):
    return judge.Verdict(
        tuple(Complaint(f"osd down {osd}", WRONG, osd, "down", where=host) for host in hosts for osd in OSDS[host][:3])
    )


@pytest.mark.slow
def test_osds_that_are_down(monkeypatch):
    monkeypatch.setattr(health, "look", lambda *_: {})
    monkeypatch.setattr(runners.health.judge, "judge", lambda *_, **__: down(HOSTS))
    monkeypatch.setattr(runners.health, "_excused", set)
    first, *_, last = screen(runners.health.show())
    assert first == "wrong  osd.0, osd.1 and 2998 others of osd0000, osd0001 and 998 more hosts: down"
    assert last == "'salt-run health.show --out json' names each"
    told = runners.health.show(__out="json")["wrong"]
    assert len(told) == 1000 and told[0] == "osd.0, osd.1, osd.2 of osd0000: down"
    assert len("; ".join(judge.lines(down(HOSTS).wrong))) < WIDE
    assert len(judge.lines(down(HOSTS[:10]).wrong)) == 10


def test_hosts_that_lack_osds_share_a_line():
    lacking = [Complaint(f"osd made {host}", WRONG, host, f"{number % 60 + 1} OSDs fewer than planned")
               for number, host in enumerate(HOSTS)]  # fmt: skip
    assert judge.lines(lacking) == ["osd0000, osd0001 and 998 others: 1 to 60 OSDs fewer than planned"]
    assert judge.lines(lacking[:2]) == ["osd0000: 1 OSDs fewer than planned", "osd0001: 2 OSDs fewer than planned"]


def newer(host, then="2"):
    packages = {"ceph-common": ["1", then]}
    return {"host": host, "packages": packages, "daemons": {name: ["osd", True] for name in OSDS[host]}, "leveldb": []}


def look(then=lambda number: "2"):
    every = upgraded.read({host: newer(host, then(number)) for number, host in enumerate(HOSTS)})
    seen = {"manager": "a", "systems": [], "paused": None}
    return upgrading.Look(every, every, HOSTS, seen, None)


@pytest.mark.slow
def test_an_upgrade(monkeypatch):
    monkeypatch.setattr(upgrading, "at", lambda opts, refresh, whole=True: look())
    monkeypatch.setattr(upgrading, "against", lambda opts, look: [])
    screen(runners.upgrade.check())
    text = screen(runners.upgrade.status())
    assert "osd0000, osd0001 and 998 more hosts: to begin anew: osd.0, osd.1 and 59998 more" in text
    data = runners.upgrade.status(__out="json")
    assert data["hosts"]["osd0999"]["anew"] == sorted(OSDS["osd0999"]) and data["left"] == HOSTS
    monkeypatch.setattr(stage_lock, "own", lambda opts: {"stage": "upgrade"})
    made = {host: ["packages 2", f"restarted {', '.join(names)}"] for host, names in OSDS.items()}
    monkeypatch.setattr(upgrading, "carry_out", lambda opts, look, done, tell: done.update(made) or [])
    done = runners.upgrade.carry_out()
    assert screen(done)[:2] == [
        "osd0000, osd0001 and 998 more hosts: packages 2",
        "osd0000, osd0001 and 998 more hosts: restarted osd.0, osd.1 and 59998 more",
    ]
    assert done["changes"] == made


@pytest.mark.slow
def test_sources_that_differ():
    found = upgraded.targets(look(lambda number: str(2 + number % 2)).hosts)
    assert len(upgraded.several(found)) < 2 * WIDE


def updated(ceph=()):
    return {"pending": ["a", *ceph], "ceph": list(ceph), "reboot": "kernel", "daemons": ["osd.1"], "units": [],
            "foreign": [], "asks": False, "host": "a"}  # fmt: skip


@pytest.mark.parametrize(("ceph", "test"), [([], True), (["ceph-common"], True), (["ceph-common"], False)])
def test_updates(monkeypatch, ceph, test):
    every = Replies({host: updated(ceph) for host in HOSTS}, [])
    monkeypatch.setattr(updating, "looked_at", lambda *_, **__: every)
    monkeypatch.setattr(maintenance, "wanted", lambda *_: dict.fromkeys(HOSTS, maintenance.Allowed(True, True)))
    monkeypatch.setattr(minions, "pillar", lambda opts: {"ready_timeout": 600})
    told = runners.updates.apply(test=test)
    assert any("osd0000, osd0001 and 998 more hosts: update" in line for line in screen(told))
    assert len(runners.updates.status(__out="json")["due"]) == 1000
    assert screen(runners.updates.status())[-1] == "'salt-run updates.status --out json' names each"


def test_nobody_who_may_ask(monkeypatch):
    with pytest.raises(Exception, match="osd0000, osd0001 and 998 more hosts: daemons of Ceph are here"):
        updating.asks({}, {host: updated() for host in HOSTS})


def osds(differ=lambda number: True):
    return [
        {"id": None, "host": host, "data": f"/dev/disk/by-id/{name}", "data_size": 1, "db": None, "wal": None,
         "problems": ["is not known: its host did not answer"] * differ(number), "waits": []}
        for number, (host, names) in enumerate(OSDS.items()) for name in names
    ]  # fmt: skip


@pytest.mark.slow
def test_osds_beside_their_plan():
    who = "osd0000, osd0001 and 998 more hosts"
    assert report.lines(osds()) == [
        f"{who}: /dev/disk/by-id/osd.0, /dev/disk/by-id/osd.1 and 59998 more: is not known: its host did not answer",
        report.EACH,
    ]
    assert report.lines(osds(lambda number: False)) == [report.EACH]
    one, _ = report.lines(osds(lambda number: not number))
    assert one.startswith("osd0000: /dev/disk/by-id/osd.0, /dev/disk/by-id/osd.1 and 58 more: is not known")
    assert len(report.lines(osds(), every=True)) == 60000 and len(report.lines(osds()[:600])) == 600


@pytest.mark.slow
def test_osds_that_wait_for_data():
    items = [Item("osd", name, host, name) for host, names in OSDS.items() for name in names]
    assert growth.listed(items) == ["  osd0000, osd0001 and 998 more hosts: 60000 OSDs: osd.0, osd.1 and 59998 more"]
    assert growth.listed(items[:1]) == ["  osd0000: 1 OSD: osd.0"]


SETTING = {"id": "swappiness", "on": "vm.swappiness", "found": 60, "wanted": 10, "why": ""}


@pytest.mark.parametrize(
    "odd", [[], [{**SETTING, "state": "left", "why": "no such disk"}, {**SETTING, "state": "drift"}]]
)
def test_kernel_settings(monkeypatch, odd):
    checked = {"tunings.wanted": "throughput", "tunings.check": [*odd, {"state": "ok"}]}
    monkeypatch.setattr(jobs, "ask_several", lambda *_: Replies(dict.fromkeys(HOSTS, checked), []))
    who = "osd0000, osd0001 and 998 more hosts"
    settings = [f"  {who}: DRIFT: swappiness: is 60, wanted 10 (vm.swappiness)",
                f"  {who}: left out: swappiness: no such disk (vm.swappiness)"]  # fmt: skip
    assert screen(runners.tuning.check()) == [
        f"{who}: throughput, 1 of {1 + len(odd)} settings hold", *settings[: len(odd)], runners.tuning.EACH,
    ]  # fmt: skip
    assert len(runners.tuning.check(__out="json")) >= 1000
    monkeypatch.setattr(jobs, "ask_several", lambda *_: Replies(dict.fromkeys(HOSTS[:10], checked), []))
    assert len(runners.tuning.check()["text"].splitlines()) == 10 * (1 + len(odd))


def test_commands_for_the_cluster(monkeypatch):
    commands = [["osd", "crush", "add-bucket", f"r{n}", "rack"] for n in range(1000)]
    told = ceph.run({}, commands, True, "")
    assert screen(told)[-1] == "and 990 more, 990 of 'ceph osd crush add-bucket': --out json has each"
    assert len(told["changes"]["ceph"]) == 1000
    refused = ceph.change({}, commands, [], ["too full"], False)
    assert screen(refused)[-1] == "too full"
    assert len(ceph.change({}, commands, [], [], True)["changes"]["ceph"]) == 1000
    assert len(ceph.run({}, commands[:50], True, "")["text"].splitlines()) == 51


@pytest.mark.parametrize("problems", [[], ["eno2 has no link"]])
def test_links(monkeypatch, problems):
    told = {"changes": {"bond0": "would be made"}, "problems": problems, "daemons": [], "host": "a", "undone": ""}
    monkeypatch.setattr(runners.links, "_reports", lambda hosts: Replies(dict.fromkeys(hosts, told), []))
    said = "eno2 has no link" if problems else "bond0 would be made"
    assert screen(runners.links.deploy(HOSTS, test=True))[0] == f"osd0000, osd0001 and 998 more hosts: {said}"


@pytest.mark.slow
def test_files_that_are_kept():
    kept = [f"profile-a/cluster/{host}.sls" for host in HOSTS]
    answer = {"written": [], "removed": [], "kept": kept, "messages": [f"{path} was edited" for path in kept]}
    text = tables.printed(tables.report, answer)
    assert text.startswith("kept     profile-a/cluster/: 1000 files\n")
    assert screen({"text": text})[-1] == "and 990 more: --all tells each (with salt-run: all=true)"
    assert len(tables.printed(tables.report, answer, True).splitlines()) == 2000
