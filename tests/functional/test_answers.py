"""Runners answer, they do not raise: real `salt-run` processes, and the same table through `python -m proposals`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from saltmaster import Master, side_by_side

from proposals.reference import machines

pytestmark = pytest.mark.processes
CASES = yaml.load((Path(__file__).parent.parent / "fixtures" / "answers.yaml").read_text(), yaml.CSafeLoader)
BAD = [case for case in CASES if case.keys() & {"both", "salt"}]
GOOD = [case for case in CASES if case not in BAD]
# Not of the planner: what is typed, exit status, what is said.
OTHERS = [
    ("policy.show", 2, "policy.cfg"),
    ("proposal.show nme=apollo", 2, "did you mean 'name'?"),
    ("proposal.show apollo a b c", 2, "too many positional arguments; expected name"),
    ("ceph.purge fsid=yes", 2, "expected the cluster's fsid, as 'ceph fsid' prints it"),
    ("ceph.purge", 2, "missing a required argument: 'fsid'"),
    ("networks.iperf seconds=many", 2, "seconds=many: a whole number of at least 1 was expected"),
    ("networks.iperf streams=0", 2, "streams=0: a whole number of at least 1 was expected"),
    ("networks.jumbo mtu=large", 2, "mtu=large: a whole number of at least 1 was expected"),
    ("networks.page ports=5", 2, "cannot read 5: No such file or directory"),
    ("osd.replace 12 test=true test=false", 2, "test is given twice: once is enough"),
    ("policy.push only=None", 2, "only=None: it would count as not typed (YAML): leave it out"),
    ("osd.remove 1:30", 2, "1:30: YAML makes another number of it (90)"),
    ("mon.remove name=0x10", 2, "quote it twice where it is a name: \"'0x10'\""),
    ("mon.remove '0x10'", 2, "nothing is configured yet"),
    ("crush.move hosts=node1", 2, "move: hosts are typed without 'hosts=', with blanks between"),
    ("proposal.peek apollo", 2, "peek: too many positional arguments; expected KEY=VALUE"),
    ("policy.show 1", 2, "too many positional arguments; expected no argument"),
]


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master that discovery has been run on: the reference deployment `apollo`."""
    made = salt_factories.salt_master_daemon("answers", factory_class=Master)
    inventory = made.pillar / "inventory"
    inventory.mkdir(parents=True)
    for name, host in machines.inventory("apollo")["hosts"].items():
        (inventory / f"{name}.json").write_text(json.dumps(host))
        made.accept(name)
    return made


@pytest.fixture(scope="module")
def answers(master):
    """Every case's answer of salt-run for a person, but for all good ones save the first."""
    words = [["proposal.peek", *case["words"]] for case in (GOOD[0], *BAD)] + [words.split() for words, _, _ in OTHERS]
    return dict(zip(map(" ".join, words), side_by_side(master.typed, words), strict=True))


@pytest.fixture(scope="module")
def data(master):
    """Every good case's answer for a program, and that of the first bad one."""
    words = [["proposal.peek", *case["words"]] for case in (*GOOD, BAD[0])]
    return dict(zip(map(" ".join, words), side_by_side(master.asked, words), strict=True))


def planner(master, words):
    """The same words through the planner's own command line."""
    argv = [sys.executable, "-m", "proposals", "peek", master.pillar / "inventory", "--format", "json", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def text(case):
    return " ".join(["proposal.peek", *case["words"]])


@pytest.mark.parametrize("case", GOOD, ids=text)
def test_a_good_answer_is_the_planners(master, data, case):
    done, own = data[text(case)], planner(master, case.get("shell", case["words"]))
    assert (done.returncode, done.stderr, own.returncode) == (0, "", 0), (done, own.stderr)
    assert done.data == json.loads(own.stdout)


@pytest.mark.parametrize("case", BAD, ids=text)
def test_a_bad_answer_is_one_message_and_status_2(master, answers, case):
    done, own = answers[text(case)], planner(master, case["words"])
    assert (done.returncode, done.stderr) == (2, "")
    assert case.get("both", case.get("salt")) in done.stdout
    if "both" in case or "cli" in case:
        assert (own.returncode, own.stdout) == (2, "")
        assert case.get("both", case.get("cli")) in own.stderr
    if "both" in case:
        assert own.stderr == f"error: {done.stdout}"


def test_a_person_reads_a_table_and_a_program_json(answers, data):
    good = answers[text(GOOD[0])]
    assert (good.returncode, good.stderr) == (0, "") and "osdnode1" in good.stdout and not good.stdout.startswith("{")
    assert data[text(BAD[0])].data == {"retcode": 2, "error": answers[text(BAD[0])].stdout.rstrip("\n")}


@pytest.mark.parametrize(("words", "status", "says"), OTHERS)
def test_wrong_words_are_one_message(answers, words, status, says):
    done = answers[words]
    assert (done.returncode, done.stderr) == (status, "")
    assert says in done.stdout and "Traceback" not in done.stdout


def test_what_salt_says_of_itself_is_in_the_log_file_alone(master):
    """The settings hide nothing for good: a broken runner's traceback is in the file."""
    folder = master.root / "broken"
    folder.mkdir()
    (folder / "broken.py").write_text("import nothing_of_that_name\n")
    (Path(master.config_dir) / "master.d/z.conf").write_text(f"runner_dirs: [{folder}]\n")
    assert master.typed("broken.run").stderr == ""
    (folder / "broken.py").write_text("def run(:\n")
    assert master.typed("broken.run").stderr == ""
    assert "broken" in Path(master.config["log_file"]).read_text()
    assert master.typed("-l", "warning", "broken.run").stderr != ""  # the test can find noise
