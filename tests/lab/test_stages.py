"""How stages run, and what becomes of one that is interrupted, on the first cluster.

The site's own `ceph.host.packages` stands in place of the product's, so that prep's last step does what a test needs.
"""

import json
import shlex
import time
from collections.abc import Callable, Iterator

import pytest
from product import Product
from saltcli import salt_run

from lab.containers import Done
from lab.session import Session

STEP = "ceph-stage-prep-packages"
MINIONS = ("client1", "node1", "node2", "node3", "saltmaster")
SECRET = "AQBKeYxnAAAAABAAq0aBcDeFgHiJkLmNoPqRsw=="  # looks like a key of Ceph; nobody's
LOGS = "/var/log/halocline"
SITE = "/srv/own"
CONF = "/etc/salt/master.d/a-site.conf"
PING = "salt --out txt '*' test.ping"
PREP = "salt-run state.orch ceph.stage.prep"


class Master:
    """What an admin types on the lab's master."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def run(self, command: str, check: bool = True, limit: float = 300) -> Done:
        return self.session.run("saltmaster", command, check=check, limit=limit)

    def step(self, shell: str) -> None:
        """Let prep's last step run this on every minion."""
        sls = json.dumps({"own-step": {"cmd.run": [{"name": shell}]}})
        self.run(f"printf %s {shlex.quote(sls)} > {SITE}/ceph/host/packages/init.sls")

    def restart(self) -> None:
        """Restart salt-master, and wait until all minions answer it."""
        self.run("systemctl restart salt-master")
        until(lambda: self.run(PING, check=False).out.count("True") == len(MINIONS), 90)

    def start(self, command: str) -> None:
        """Start a command; its process id, output and status go to files under /tmp/typed."""
        words = f"echo $$ > /tmp/typed/pid; exec env --default-signal=INT {command} > /tmp/typed/out 2> /tmp/typed/err"
        kept = f"sh -c {shlex.quote(words)}; echo $? > /tmp/typed/draft; mv /tmp/typed/draft /tmp/typed/code"
        self.run(
            f"rm -rf /tmp/typed; mkdir /tmp/typed; setsid sh -c {shlex.quote(kept)} < /dev/null > /dev/null 2>&1 &"
        )

    def ended(self, limit: float = 120) -> Done:
        """Wait for what was started."""
        until(lambda: self.run("test -e /tmp/typed/code", check=False).code == 0, limit)
        code, out, err = (self.run(f"cat /tmp/typed/{name}").out for name in ("code", "out", "err"))
        return Done(int(code), out, err)

    def in_step(self) -> None:
        """Wait until the minions have got the job of prep's last step."""
        until(lambda: any(one["event"] == "job" and one["step"] == STEP for one in self.log()), 120)

    def kill(self, signal: str) -> None:
        self.run(f"kill -{signal} $(cat /tmp/typed/pid)")

    def log(self) -> list[dict]:
        """The records of the newest run."""
        lines = self.run(f"ls -t {LOGS}/*.jsonl | head -1 | xargs -r cat", check=False).out.splitlines()
        return [json.loads(line) for line in lines]

    def steps(self) -> set[str]:
        """What the newest run began."""
        return {one["step"] for one in self.log() if one["event"] == "step"}

    def last(self, event: str) -> dict:
        return next((one for one in reversed(self.log()) if one["event"] == event), {})


def until(what: Callable[[], object], limit: float) -> None:
    deadline = time.monotonic() + limit
    while not what():
        assert time.monotonic() < deadline, f"it did not come to that in {limit} s"
        time.sleep(0.3)


@pytest.fixture(scope="module")
def running(cluster: Product) -> Iterator[Master]:
    """The first cluster, prep with a site's own step; as it was afterwards."""
    made = Master(cluster.session)
    made.run(f"mkdir -p {SITE}/ceph/host/packages && echo 'file_roots: {{base: [{SITE}]}}' > {CONF}")
    made.step("true")
    made.restart()
    yield made
    made.run(f"rm -r {SITE} {CONF}")
    made.restart()


@pytest.fixture
def master(running: Master) -> Iterator[Master]:
    """That lab, with nothing left running on it before and after."""
    running.step("true")
    running.run(f"rm -f {LOGS}/*.jsonl")
    yield running
    running.run("salt-run stage.stop")
    running.step("true")


def test_the_console_is_clean_and_the_status_right(master: Master) -> None:
    good = master.run(PREP)
    assert good.err == "" and "unclosed" not in good.out and "updates.apply" in master.steps()
    program = master.run(f"{PREP} --out json")
    assert program.err == "" and json.loads(program.out)["retcode"] == 0
    master.step("test $(hostname) != node2")
    bad = master.run(PREP, check=False)
    assert (bad.code, bad.err) == (1, "")
    assert "Run failed on minions: node2" in bad.out
    assert "updates.apply" not in master.steps()  # it stands after the one that failed
    assert (
        "own-step" in master.run("grep ERROR /var/log/salt/master | tail -n 1").out
    )  # the log file has what the console has not


def test_a_second_stage_names_the_first(master: Master) -> None:
    master.step("timeout 100 sh -c 'until rm /tmp/go-on; do sleep 0.2; done' 2>/dev/null")
    master.start(PREP)
    master.in_step()
    began = master.last("stage")
    for second, code in (("salt-run state.orch ceph.stage.1", 1), ("salt-run stage.run discovery", 2)):
        refused = master.run(second, check=False)
        assert (refused.code, refused.err) == (code, "")
        for word in ("stage prep is running", "by root", began["jid"], str(began["pid"]), "stage.stop"):
            assert word in refused.out
    for minion in MINIONS:
        master.session.run(minion, "touch /tmp/go-on")
    assert master.ended().code == 0
    assert master.run("salt-run state.orch ceph.stage.1").code == 0


@pytest.mark.big
@pytest.mark.parametrize(("signal", "code"), [("INT", 130), ("TERM", 143), ("KILL", 137)])
def test_an_interrupted_stage_is_waited_for_and_completed(master: Master, signal: str, code: int) -> None:
    master.step("sleep 12; echo $(cat /tmp/times 2>/dev/null)x > /tmp/times")
    master.session.run("node1", "rm -f /tmp/times")
    master.start(PREP)
    master.in_step()
    master.kill(signal)
    done = master.ended()
    assert done.code == code and "Traceback" not in done.out + done.err
    assert signal == "KILL" or done.err.startswith("stage prep: interrupted; ")
    again = master.run(PREP)
    assert (again.code, again.err) == (0, "")
    assert "waits up to 600 s for jobs of an interrupted run" in again.out
    assert "node1 (state.sls ceph.host.repo,ceph.host.packages" in again.out
    assert master.session.run("node1", "cat /tmp/times").out == "xx\n"  # the first was not cut off, the second ran
    logs = master.run(f"grep -l interrupted {LOGS}/*.jsonl").out
    assert len(logs.splitlines()) == 1


@pytest.mark.big
def test_the_wait_has_a_limit(master: Master) -> None:
    master.step("sleep 30")
    master.start(PREP)
    master.in_step()
    master.kill("KILL")
    over = master.run("salt-run stage.begin prep wait=3", check=False)
    assert (over.code, over.err) == (2, "")
    assert "node1 (state.sls" in over.out.partition("after 3 s these jobs of an interrupted run still run: ")[2]


@pytest.mark.big
def test_stage_run_shows_each_minion_and_ends_as_the_stage(master: Master) -> None:
    good = master.run("salt-run stage.run prep")
    assert (good.code, good.err) == (0, "")
    assert good.out.splitlines()[-1].startswith("stage prep: done, changed"), good.out  # by the test's own step
    assert f"\nstep 5 of 7: {STEP}\n" in good.out
    assert f"\nchanged: {STEP}: client1, node1 and 3 more\n" in good.out
    for minion in MINIONS:
        assert any(line.startswith("  done") and minion in line for line in good.out.splitlines())
    master.step(f"test $(hostname) != node2 || {{ echo key {SECRET}; false; }}")
    bad = master.run("salt-run stage.run 0", check=False)
    assert (bad.code, bad.err) == (1, "")
    assert "failed" in bad.out and "node2" in bad.out and "stage.run prep" in bad.out
    failed = [one for one in master.log() if one["event"] == "minion" and one["result"] == "failed"]
    assert [(one["minion"], one["step"]) for one in failed] == [("node2", STEP)]
    assert failed[0]["reason"] and failed[0]["start"] <= failed[0]["end"]


@pytest.mark.big
def test_stage_run_is_for_terminals_and_programs_too(master: Master) -> None:
    terminal = master.run("script -qec 'salt-run stage.run prep' /dev/null")
    assert "\x1b[" in terminal.out and "done" in terminal.out
    program = master.run("salt-run stage.run prep --out json")
    told = json.loads(program.out)
    assert (program.err, told["stage"], told["records"][-1]["result"]) == ("", "prep", "done")


@pytest.mark.big
def test_ctrl_c_on_stage_run_ends_the_orchestration(master: Master) -> None:
    master.step("sleep 12")
    master.start("salt-run stage.run prep")
    master.in_step()
    child = master.last("stage")["pid"]
    master.kill("INT")
    done = master.ended()
    assert done.code == 1 and "interrupted" in done.out and "Traceback" not in done.out + done.err
    assert master.run(f"kill -0 {child}", check=False).code != 0


@pytest.mark.big
def test_stop_ends_the_stage_and_its_jobs(master: Master) -> None:
    master.step("sleep 300")
    master.start("salt-run stage.run prep")
    master.in_step()
    until(lambda: master.session.run("node1", "pgrep -x sleep", check=False).out, 30)
    stopped = master.run("salt-run stage.stop")
    assert stopped.out.splitlines()[0] == "stage prep is stopped"
    assert sorted(stopped.out.splitlines()[1:]) == [f"{minion}: stopped in step {STEP}" for minion in MINIONS]
    assert master.ended().code != 0
    assert master.session.run("node1", "pgrep -x sleep", check=False).out == ""
    assert master.last("end")["result"] == "stopped"
    shown = master.run("salt-run stage.last", check=False)
    assert shown.code == 1 and "stopped by root" in shown.out
    assert "no stage is running" in master.run("salt-run stage.stop").out


@pytest.mark.big
def test_plan_touches_nothing(master: Master) -> None:
    master.step("touch /tmp/touched")
    everyone = "salt --out txt '*' file.file_exists /tmp/touched"
    planned = master.run("salt-run stage.plan prep")
    assert planned.err == "" and "would  node1: own-step" in planned.out
    assert "True" not in master.run(everyone).out
    assert master.log() == []
    master.run(PREP)
    assert master.run(everyone).out.count("True") == len(MINIONS)  # it is what the stage itself does
    master.run("salt '*' file.remove /tmp/touched")


@pytest.mark.big
def test_a_silent_minion_is_named(master: Master) -> None:
    master.run("salt-run state.orch ceph.stage.discovery")
    master.session.verb("kill-minion", "node3")
    try:
        looked = master.run("salt-run stage.run discovery", limit=180)
        assert looked.code == 0
        assert "node3: does not answer" in master.run("salt-run stage.begin discovery needs=answering").out
        refused = master.run(PREP, check=False)
        assert refused.code == 1 and f"1 of {len(MINIONS)} minions do not answer: node3" in refused.out
        assert master.run("salt-run stage.run prep only='node[12]'").code == 0
        for must, code in (("node1", 0), ("node3", 2)):
            begun = master.run(f"salt-run stage.begin deploy needs=answering must='[{must}]'", check=False)
            assert begun.code == code and "node3" in begun.out
    finally:
        master.session.verb("mend", "node3")


@pytest.mark.big
def test_a_minion_killed_in_a_step_is_named_and_a_second_run_completes(master: Master) -> None:
    master.step("sleep 10")
    master.start(PREP)
    master.in_step()
    master.session.verb("kill-minion", "node2")
    done = master.ended(180)
    assert done.code == 1 and "node2" in done.out
    assert "node2" in master.last("result")["reason"]
    master.session.verb("mend", "node2")
    until(lambda: "True" in master.run("salt --out txt node2 test.ping", check=False).out, 60)
    assert master.run(PREP).code == 0


@pytest.mark.big
def test_a_killed_master_ends_the_stage_and_a_second_run_completes(master: Master) -> None:
    master.step("sleep 10")
    master.start(PREP)
    master.in_step()
    master.run("systemctl kill --signal=KILL salt-master; systemctl stop salt-master")
    try:
        done = master.ended(300)
        down = master.run("salt-run stage.run prep", check=False)
    finally:
        master.run("systemctl start salt-master")
    assert done.code != 0 and "is salt-master running?" in done.out + done.err and "Traceback" not in done.err
    assert (down.code, down.err) == (2, "") and "is salt-master running?" in down.out
    until(lambda: master.run(PING, check=False).out.count("True") == len(MINIONS), 90)
    assert master.run(PREP).code == 0


@pytest.mark.big
def test_logs_and_support_hold_no_secret(master: Master) -> None:
    master.step(f"echo {SECRET}; test $(hostname) != node2")
    shown = master.run(f"{PREP} pillar='{{own: {SECRET}}}'", check=False)
    assert shown.code == 1 and SECRET in shown.out  # the test can find it: cmd.run shows what it ran
    assert master.run(f"cat {LOGS}/*.jsonl").out.count(SECRET) == 0
    assert "pillar=['own']" in master.last("stage")["arguments"]
    modes = master.run(f"stat -c %a {LOGS} {LOGS}/*.jsonl").out.split()
    assert set(modes) == {"750", "640"}
    master.run(f"echo 'planted {SECRET}' >> /var/log/salt/master; echo '# {SECRET}' > /srv/pillar/ceph/proposals/x.sls")
    master.run("mkdir -p /srv/pillar/ceph/keys && ln -sf /etc/shadow /srv/pillar/ceph/proposals/shadow.sls")
    packed = salt_run(master.session, "support.collect").data
    assert master.run(f"stat -c %a {packed['file']}").out == "600\n"
    master.run(f"rm -rf /tmp/support && mkdir /tmp/support && tar -C /tmp/support -xzf {packed['file']}")
    assert master.run(f"grep -rl {SECRET} /tmp/support", check=False).out == ""
    assert "planted **********" in master.run("cat /tmp/support/*/salt-master.log").out
    assert master.run("grep -rl root:. /tmp/support --include=shadow*", check=False).out == ""
    assert "versions.json" in packed["files"] and any(name.startswith("runs/prep-") for name in packed["files"])
    master.run("rm -f /srv/pillar/ceph/proposals/x.sls /srv/pillar/ceph/proposals/shadow.sls")
