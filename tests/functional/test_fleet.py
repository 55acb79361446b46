"""Stages for twenty simulated minions of a real master (``tests/fleet``): jobs, words, and odd ones among them."""

import sys
import tempfile
from pathlib import Path

import pytest
import salt.payload

sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))
import hosts
from master import Master, remove

from proposals.policy import unwritten

pytestmark = pytest.mark.processes
SIZES = (8, 20)
COMMANDS = ("stage.run discovery", "proposal.populate", "stage.run configure", "stage.plan deploy")
ODD = {"osd0002": "silent", "osd0004": "lying", "osd0006": "slow"}
SHORT = {"timeout": 5, "gather_job_timeout": 30}  # seconds; a slow one takes 8


def jobs(master):
    """What the master asked minions, from its job cache; ``find_job`` is Salt's own asking."""
    cache = master.root / "var/cache/salt/master/jobs"
    asked = [salt.payload.loads(path.read_bytes())["fun"] for path in cache.rglob(".load.p")]
    return [fun for fun in asked if fun != "saltutil.find_job" and not str(fun).startswith("runner.")]


@pytest.fixture(scope="module", params=SIZES, ids=str)
def fleet(request):
    """A master with so many minions, and what each command on it ended with: status, output, jobs."""
    root = Path(tempfile.mkdtemp(prefix="fleet"))  # pytest's own folder is too long for Salt's sockets
    ran = {}
    with Master(root / "m", hosts.names(request.param), SHORT) as master:
        if request.param == SIZES[0]:  # as above 200 hosts
            (master.pillar / "proposals").mkdir(parents=True)
            (master.pillar / "proposals" / unwritten.NAME).write_text("folders: []\nhosts: []\n")
        master.start(slow=8)
        for name in COMMANDS if request.param == SIZES[-1] else COMMANDS[:-1]:
            if name == "stage.run configure":
                (master.pillar / "proposals/policy.cfg").write_text(hosts.POLICY)
            before = len(jobs(master))
            done = master.typed(*name.split())
            ran[name] = (done, len(jobs(master)) - before)
        yield request.param, master, ran
    remove(root)


COUNTS = {}


def test_every_command_ends_well_and_costs_as_many_jobs_whatever_their_number(fleet):
    count, _, ran = fleet
    assert {(done.code, done.err) for done, _ in ran.values()} == {(0, "")}, ran
    COUNTS[count] = {name: made for name, (_, made) in ran.items() if name in COMMANDS[:-1]}
    first = next(iter(COUNTS.values()))
    assert first["stage.run discovery"] and COUNTS[count] == first


def test_what_was_seen_is_stored_and_what_is_served_is_each_ones_own(fleet):
    count, master, ran = fleet
    assert len(list((master.pillar / "inventory").glob("*.json"))) == count
    assert len(list((master.pillar / "current/cluster").glob("*.sls"))) == count
    monitors = [
        path.stem for path in (master.pillar / "current/cluster").glob("*.sls") if "- mon\n" in path.read_text()
    ]
    assert sorted(monitors) == list(hosts.MONITORS)
    files = list((master.pillar / "proposals").glob("role-*/cluster/*.sls"))
    assert (files == []) == (count == SIZES[0])
    if COMMANDS[-1] in ran:
        assert "errors 0, warnings 0" in ran[COMMANDS[-1]][0].out


def test_no_answer_grows_with_the_number_of_minions(fleet):
    for done, _ in fleet[2].values():
        lines = done.out.splitlines()
        assert len(lines) < 40 and max(map(len, lines)) < 160, done.out


@pytest.mark.parametrize("fleet", SIZES[-1:], indirect=True, ids=str)
def test_silent_and_lying_ones_are_named_and_hold_back_only_themselves(fleet):
    count, master, _ = fleet
    master.behave(ODD)
    done = master.typed("stage.run", "discovery")
    assert (done.code, done.err) == (0, ""), done
    assert "osd0002: left out: does not answer" in done.out
    (lie,) = (line for line in done.out.splitlines() if "osd0004: " in line)
    assert "what was stored of it stays" in lie and "\x1b" not in lie and len(lie) < 3000
    assert "osd0006" not in done.out and "Traceback" not in done.out
    assert len(list((master.pillar / "inventory").glob("*.json"))) == count
