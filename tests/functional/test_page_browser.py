"""The page in a real browser, on a real master and salt-api: what is seen, by whom, and that nothing else is asked."""

import copy
import json
import subprocess

import pytest
from pageserver import apollo, enter, opened
from saltmaster import CHECKOUT, Typed

from proposals.reference import machines

pytestmark = [pytest.mark.processes, pytest.mark.big]
KEPT = CHECKOUT / "build/page"
NASTY = "<script>document.title='owned'</script><img src=//evil.example/x onerror=alert(1)>"
# Begin a stage, which takes the lock, and stay a while though nobody answers.
HOLDS = """
holds-lock:
  step.runner:
    - name: stage.begin
    - stage: deploy
    - members: [node1]
    - steps: [holds-lock, holds-on]
holds-on:
  step.runner:
    - name: test.sleep
    - s_time: 60
"""

# What is asked for "tardy" is answered two seconds late; `tardy` is true once the page has drawn what it draws of it.
TARDY = """
const asks = window.fetch;
window.fetch = async (path, told) => {
  const said = await asks(path, told);
  if (String(told && told.body).includes('"tardy"')) {
    await new Promise((done) => setTimeout(done, 2000));
    setTimeout(() => { window.tardy = true; }, 1000);
  }
  return said;
};
"""
CHOOSE = """
const select = document.querySelector(arguments[0]);
select.value = arguments[1];
select.dispatchEvent(new Event("change"));
"""


@pytest.fixture(scope="module")
def served(salt_factories):
    with apollo(salt_factories, "page", NASTY) as page:
        yield page


@pytest.fixture
def window(served):
    with opened(served) as made:
        yield made
        urls = made.asked_for()
        assert f"https://127.0.0.1:{served.port}/page.js" in urls
        assert [url for url in urls if not url.startswith((f"https://127.0.0.1:{served.port}/", "data:"))] == []
        assert made.run("return [document.cookie, localStorage.length, sessionStorage.length]") == ["", 0, 0]
        assert [line for line in made.console() if "Content Security Policy" in line] == []


def test_a_plan_answers_and_is_written(served, window):
    enter(window, "bob", "wrong")
    window.says("the user or the password is wrong")
    enter(window, "bob")
    window.says("Plan disks", "120 OSDs", "Nothing of this name is stored yet.")
    window.picture(KEPT / "plan.png")
    window.type("#argument-ratio", "9")
    window.says("215 OSDs")
    window.picture(KEPT / "ratio.png")
    window.type("#argument-ratio", "none")
    window.until("document.getElementById('wrong').textContent.includes('ratio')")
    window.type("#argument-ratio", "9")
    window.type("#argument-name", "apollo")
    window.says("proposal apollo")
    window.until("!document.getElementById('write').disabled")
    window.click("#write")
    window.until("document.getElementById('dialog').open")
    window.says("215 OSDs on 4 hosts")
    window.click("#dialog-yes")
    window.says("Nothing differs.")
    assert (served.master.pillar / "proposals/profile-apollo/proposal.json").exists()
    assert "owned" not in window.run("return document.title")
    assert "<script>" in window.run("return document.body.textContent")  # shown as what it is


def test_who_may_look_sees_all_and_changes_nothing(served, window):
    enter(window, "alice")
    window.says("Plan disks", "120 OSDs")
    hidden = "[...document.querySelectorAll('#write, #save, #look')].every((each) => each.hidden)"
    assert window.run(f"return {hidden}")
    window.click("a[href='#hosts']")
    window.says("hosts as discovery saw them", "8 hosts, 256 disks")
    window.picture(KEPT / "hosts.png")
    window.click("a[href='#policy']")
    window.says("What each line matches")
    assert window.run(f"return {hidden} && document.getElementById('policy-text').readOnly")
    window.click("a[href='#networks']")
    window.says("No network proposal is stored yet")
    window.click("a[href='#stages']")
    window.says("Typed on the master alone", "salt-run disk.wipe")
    assert window.run("return document.getElementById('look') === null")
    window.click("a[href='#health']")
    window.until("document.getElementById('wrong').textContent.includes('nothing is configured yet')")
    window.click("#leave")
    window.until("document.getElementById('login') !== null && document.getElementById('views').hidden")


def test_a_late_answer_replaces_no_newer_one(served, window):
    runners = served.master.runners()
    for name in ("soon", "tardy"):
        confirm = runners["operate.populate"](name=name)["confirm"]
        assert "error" not in runners["operate.populate"](name=name, confirm=confirm)
        assert "error" not in runners["networks.populate"](name=name)
    enter(window, "alice")
    window.says("Plan disks", "120 OSDs")
    window.run(TARDY)
    for view, chosen in (("proposals", "#choose-Proposal"), ("networks", "#network")):
        window.click(f"a[href='#{view}']")
        window.until(f"document.querySelector('{chosen}') && document.querySelector('.picture')")
        for name in ("tardy", "soon"):
            window.run(CHOOSE, chosen, name)
        window.until("window.tardy")
        window.run("window.tardy = false")
        window.until("document.querySelector('.picture h2').textContent.endsWith(' soon')")


def test_policy_is_saved_after_what_changes_was_seen(served, window):
    path = served.master.pillar / "proposals/policy.cfg"
    path.write_text("none/cluster/*\n")
    enter(window, "bob")
    window.says("Plan disks")
    window.click("a[href='#policy']")
    window.says("matches no file")
    (path.parent / "own/cluster").mkdir(parents=True)
    (path.parent / "own/cluster/node1.sls").write_text("roles: [mon]\n")
    window.type("#policy-text", "own/cluster/*.sls\n")
    window.click("#save")
    window.until("document.getElementById('dialog').open")
    window.says("-none/cluster/*", "+own/cluster/*.sls")
    window.click("#dialog-no")
    assert path.read_text() == "none/cluster/*\n"
    window.click("#save")
    window.until("document.getElementById('dialog').open")
    window.click("#dialog-yes")
    window.until("document.getElementById('status').textContent === 'policy.cfg is saved'")
    assert path.read_text() == "own/cluster/*.sls\n"
    path.unlink()


def test_a_stage_that_fails_is_shown_as_such(served, window):
    enter(window, "bob")
    window.says("Plan disks")
    window.click("a[href='#stages']")
    window.says("Run a stage")
    window.run("document.getElementById('stage').value = 'discovery'")
    window.click("#look")
    window.until("document.getElementById('dialog').open")
    window.says("Run stage discovery?", "no minion answers, of 8", "Its dry run failed")
    assert window.run("return document.activeElement.id") == "dialog-no"
    window.picture(KEPT / "dry-run.png")
    window.click("#dialog-yes")
    window.says("stage discovery, begun by sudo_bob: failed")
    window.picture(KEPT / "failed.png")
    assert window.run("return document.querySelectorAll('#live .failed').length") > 0


def test_a_stage_begun_on_the_command_line_is_seen_live(served, window):
    enter(window, "alice")
    window.says("Plan disks")
    window.click("a[href='#stages']")
    window.says("Who ran what")
    (served.master.root / "salt/holds.sls").write_text(HOLDS)
    words = served.master.salt_run_cli(factory_class=Typed).cmdline("state.orch", "holds")
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as stage:
        window.says("stage deploy, begun by", "▶ runs")
        window.picture(KEPT / "live.png")
        stage.kill()
    window.says("interrupted")


def test_keys_reach_every_disk_and_it_is_dark_and_small(served, window):
    enter(window, "alice")
    window.says("120 OSDs")
    window.run("document.querySelectorAll('#drawing svg[tabindex]')[1].focus()")
    svg = "#drawing section:nth-of-type(2) svg[tabindex]"
    window.type(svg, "\ue014", clear=False)  # to the right: the first DB device
    window.says("5 OSDs, 30.0 TB fall with it")
    assert window.run(f"return document.querySelectorAll({json.dumps(svg + ' .falls')}).length") == 6
    window.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", svg)
    window.picture(KEPT / "drawing.png")
    fields = "[...document.querySelectorAll('input, select, textarea')]"
    assert window.run(f"return {fields}.filter((each) => !each.labels?.length && !each.ariaLabel).length") == 0
    window.run("scrollTo(0, 0)")
    window.emulate("prefers-color-scheme", "dark")
    window.size(420, 900)
    window.picture(KEPT / "small-dark.png")
    assert window.run("return document.documentElement.scrollWidth <= innerWidth")
    assert window.run("return getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"


@pytest.mark.parametrize("alike", [True, False])
def test_a_thousand_hosts_are_drawn(served, window, alike):
    """Asked and drawn within the browser's patience; where no two are alike they come as one scrolls."""
    folder = served.master.pillar / "inventory"
    kept = {path: path.read_text() for path in folder.iterdir()}
    keys = []
    one = machines.inventory("apollo")["hosts"]["osdnode2"]
    try:
        for path in kept:
            path.unlink()
        for number in range(1000):
            keys.append(served.master.accept(f"node{number}"))
            host = copy.deepcopy(one) | ({} if alike else {"memory": (64 + number) << 30})
            (folder / f"node{number}.json").write_text(json.dumps(renamed(host, number)))
        enter(window, "alice")
        window.says("1000 hosts, 30000 OSDs")
        window.click("a[href='#hosts']")
        window.says("1000 hosts, 62000 disks")
        window.until("document.querySelectorAll('.box').length > 60")
        window.picture(KEPT / f"thousand-{'alike' if alike else 'different'}.png")
        counted = "['section.hosts', '.box'].map((each) => document.querySelectorAll(each).length)"
        shown = window.run(f"return {counted}")
        assert shown[0] == (1 if alike else shown[0]) and shown[1] < 5000
    finally:
        for path in (*folder.iterdir(), *keys):
            path.unlink()
        for path, text in kept.items():
            path.write_text(text)


def renamed(host, number):
    """A host with disks of its own: no two hosts may name the same one."""
    return json.loads(json.dumps(host).replace("0x5000c5", f"0x5{number:05x}").replace('"S000', f'"S{number:04}-'))


def test_a_run_is_told_host_by_host_and_osd_by_osd(served, window):
    """Of a log as a deploy leaves it; what a host says is text."""
    now = {"time": "2026-01-01T00:00:00+0000"}
    step = "ceph-stage-deploy-osds"
    records = [
        {
            "event": "stage",
            "stage": "deploy",
            "user": "root",
            "jid": "1",
            "arguments": [],
            "steps": [step, "targets.left"],
        },
        {"event": "step", "step": step, "what": "ceph.cluster.osd"},
        {"event": "job", "step": step, "job": "2", "minions": ["node1", "node2"]},
        {"event": "osd", "minion": "node1", "made": 2, "failed": 0, "of": 2},
        {"event": "osd", "minion": "node2", "made": 1, "failed": 1, "of": 2},
        {"event": "minion", "step": step, "minion": "node1", "result": "done", "changes": 1},
        {"event": "minion", "step": step, "minion": "node2", "result": "failed", "changes": 0, "reason": NASTY},
        {"event": "result", "step": step, "result": "failed", "seconds": 3.2, "changed": True, "reason": "on node2"},
        {"event": "end", "result": "failed", "changed": True, "reason": "in step", "summary": ["node3: left out"]},
    ]
    path = served.master.root / "run-logs/deploy-20260101T000000.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps({**now, **each}) + "\n" for each in records))
    enter(window, "alice")
    window.says("Plan disks")
    window.click("a[href='#stages']")
    window.says("Who ran what")
    window.run("const run = document.getElementById('run'); run.value = arguments[0]; run.onchange?.();"
               "run.dispatchEvent(new Event('change'))", path.stem)  # fmt: skip
    window.says("stage deploy, begun by root: failed: in step", "2 of 2 OSDs", "1 of 2 OSDs, 1 failed", "3 of 4 OSDs")
    window.says("2 of 2 hosts", "on node2", "node3: left out", "○ waits targets.left", NASTY)
    window.picture(KEPT / "osds.png")
    path.unlink()
