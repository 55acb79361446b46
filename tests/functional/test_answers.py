"""Runners answer, they do not raise: real `salt-run` processes, and the same table through `python -m proposals`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from saltmaster import Master

from proposals.reference import machines

CASES = yaml.safe_load((Path(__file__).parent.parent / "fixtures" / "answers.yaml").read_text())
BAD = [case for case in CASES if case.keys() & {"both", "salt"}]
GOOD = [case for case in CASES if case not in BAD]
# Not of the planner: what is typed, exit status, what is said.
OTHERS = [
    ("policy.show", 2, "policy.cfg"),
    ("proposal.show nme=apollo", 2, "did you mean 'name'?"),
    ("proposal.show apollo a b", 2, "too many positional arguments; expected name"),
    ("policy.show 1", 2, "too many positional arguments; expected no argument"),
]


@pytest.fixture(scope="module")
def master(tmp_path_factory):
    """A master that discovery has been run on: the reference deployment `apollo`."""
    made = Master(tmp_path_factory.mktemp("answers"))
    inventory = made.pillar / "ceph" / "inventory"
    inventory.mkdir(parents=True)
    for name, host in machines.inventory("apollo")["hosts"].items():
        (inventory / f"{name}.json").write_text(json.dumps(host))
        made.accept(name)
    return made


@pytest.fixture(scope="module")
def answers(master):
    """Every case's answer of salt-run, for a person and for a program; asked side by side."""
    good, bad = ([["proposal.peek", *case["words"]] for case in cases] for cases in (GOOD, BAD))
    json_too = [[*words, "--out", "json"] for words in (*good, bad[0])]
    asked = [good[0], *bad, *json_too, *(words.split() for words, _, _ in OTHERS)]
    return dict(zip((" ".join(words) for words in asked), master.run_all(asked), strict=True))


def planner(master, words):
    """The same words through the planner's own command line."""
    argv = [sys.executable, "-m", "proposals", "peek", master.pillar / "ceph" / "inventory", "--format", "json", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def text(case):
    return " ".join(["proposal.peek", *case["words"]])


@pytest.mark.parametrize("case", GOOD, ids=text)
def test_a_good_answer_is_the_planners(master, answers, case):
    done, own = answers[text(case) + " --out json"], planner(master, case.get("shell", case["words"]))
    assert (done.code, done.err, own.returncode) == (0, "", 0), (done, own.stderr)
    assert json.loads(done.out) == json.loads(own.stdout)


@pytest.mark.parametrize("case", BAD, ids=text)
def test_a_bad_answer_is_one_message_and_status_2(master, answers, case):
    done, own = answers[text(case)], planner(master, case["words"])
    assert (done.code, done.err) == (2, "")
    assert case.get("both", case.get("salt")) in done.out
    if "both" in case or "cli" in case:
        assert (own.returncode, own.stdout) == (2, "")
        assert case.get("both", case.get("cli")) in own.stderr
    if "both" in case:
        assert own.stderr == f"error: {done.out}"


def test_a_person_reads_a_table_and_a_program_json(answers):
    good = answers[text(GOOD[0])]
    assert (good.code, good.err) == (0, "") and "osdnode1" in good.out and not good.out.startswith("{")
    error = {"retcode": 2, "error": answers[text(BAD[0])].out.rstrip("\n")}
    assert json.loads(answers[text(BAD[0]) + " --out json"].out) == error


@pytest.mark.parametrize(("words", "status", "says"), OTHERS)
def test_wrong_words_are_one_message(answers, words, status, says):
    done = answers[words]
    assert (done.code, done.err) == (status, "")
    assert says in done.out and "Traceback" not in done.out


def test_what_salt_says_of_itself_is_in_the_log_file_alone(master):
    """The settings hide nothing for good: a broken runner's traceback is in the file."""
    folder = master.root / "broken"
    folder.mkdir()
    (folder / "broken.py").write_text("import nothing_of_that_name\n")
    (master.folder / "master.d" / "z.conf").write_text(f"runner_dirs: [{folder}]\n")
    done = master.run("broken.run")
    assert done.err == ""
    (folder / "broken.py").write_text("def run(:\n")
    assert master.run("broken.run").err == ""
    assert "broken" in (master.root / "master.log").read_text()
    assert master.run("-l", "warning", "broken.run").err != ""  # the test can find noise
