"""Runners ask real minions of a real master: answers, and one problem for each other, whatever went wrong."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from saltmaster import CHECKOUT, Master

from proposals.stages.replies import SILENT, SYNC, Problem
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs

pytestmark = pytest.mark.processes
# What a minion answers: one disk of a machine on file, and what one of another time or a broken one may answer.
DISK = {"device": "/dev/sda", "size": 6001175126016, "rotational": True, "transport": "sata", "in_use": []}
DISKS = "def inspect():\n    return {!r}\n"
ODD = """
from salt.exceptions import CommandExecutionError


def refuses():
    raise CommandExecutionError("the disk is locked: ask its owner\\nand come again")


def breaks():
    return {}["gone"]
"""
SAID = {"refuses": "the disk is locked: ask its owner\nand come again", "breaks": "odd.breaks: KeyError: 'gone'"}


@pytest.fixture(scope="module")
def master(salt_factories, tmp_path_factory):
    """A master with three minions of ours, the third one odd."""
    good = {"disks.py": DISKS.format({"ceph_disks_format": 1, "ceph_disks": [DISK]})}
    planted = {"node1": good, "node2": good, "node3": {"disks.py": DISKS.format({"ceph_disks": "x"}), "odd.py": ODD}}
    made = salt_factories.salt_master_daemon("asking", factory_class=Master)
    with ExitStack() as running:
        running.enter_context(made.started())
        for name, files in planted.items():
            folder = tmp_path_factory.mktemp(name)
            for file, text in files.items():
                (folder / file).write_text(text)
            overrides = {f"{kind}_dirs": [str(CHECKOUT / f"salt/_{kind}")] for kind in ("utils", "grains")}
            overrides["module_dirs"] = [str(folder), str(CHECKOUT / "_modules")]
            running.enter_context(made.salt_minion_daemon(name, overrides=overrides).started())
        yield made


@pytest.mark.parametrize("verb", SAID)
def test_errors_are_the_modules_words_asked_alone_or_together(master, verb):
    opts, minions = master.opts(), ["node1", "node3"]
    found = jobs.ask(opts, minions, f"odd.{verb}")
    assert found.answers == {} and [problem.minion for problem in found.problems] == minions
    missing, raised = (problem.text for problem in found.problems)
    assert missing == f"it has no odd.{verb}: {SYNC}" and raised.startswith(SAID[verb])
    for minion, text in (("node1", missing), ("node3", SAID[verb])):
        with pytest.raises(ProposalError) as error:
            jobs.one(opts, minion, f"odd.{verb}")
        assert text in str(error.value) and "Traceback" not in str(error.value)


def test_who_fails_in_one_of_several_questions_has_answered_the_others(master):
    questions = [jobs.Question("odd.refuses"), jobs.Question("test.ping", kind=bool), jobs.Question("test.echo", ["x"])]
    refused, pinged, echoed = jobs.ask_apart(master.opts(), ["node1", "node3"], questions).values()
    assert [problem.minion for problem in refused.problems] == ["node1", "node3"] and refused.answers == {}
    assert refused.problems[1].text.startswith(SAID["refuses"])
    assert pinged == ({"node1": True, "node3": True}, [])
    assert echoed.answers == {} and "answered x, expected" in echoed.problems[0].text
    assert jobs.ask_apart(master.opts(), [], questions)["test.ping"] == ({}, [])


def test_answers_are_of_the_type_that_was_asked_for(master):
    opts = master.opts()
    assert jobs.ask(opts, ["node2", "node1"], "test.ping", kind=bool) == ({"node1": True, "node2": True}, [])
    assert "answered True, expected list" in jobs.ask(opts, ["node1"], "test.ping", kind=list).problems[0].text
    states = jobs.ask(opts, ["node1"], "state.apply", ["nosuch"]).problems[0].text
    assert states == "No matching sls found for 'nosuch' in env 'base'"
    with pytest.raises(ProposalError, match="node7 is not managed by Halocline: managed are node1, node2, node3"):
        jobs.one(opts, "node7", "test.ping")


def test_a_minion_that_does_not_answer_is_silent(master):
    opts, key = master.opts(), master.accept("node4")
    opts.update(gather_job_timeout=1)
    found = jobs.ask(opts, ["node1", "node4"], "test.ping", kind=bool, timeout=1)
    key.unlink()
    assert found == ({"node1": True}, [Problem("node4", SILENT, silent=True)])


def test_where_no_key_of_them_is_accepted_nothing_stands_before_the_answer(master, capsys):
    """Salt prints that no minion matched the target: of --out json nobody could read the rest."""
    assert jobs.ask(master.opts(), ["gone"], "test.ping", kind=bool).silent == ["gone"]
    assert capsys.readouterr().out == ""


def test_a_master_whose_job_cache_takes_nothing_runs_and_is_not_said_to_be_gone(master):
    opts = master.opts()
    cache = Path(opts["cachedir"]) / "jobs"
    away = cache.rename(cache.with_name("away"))
    cache.write_text("as a full disk")
    try:
        with pytest.raises(ProposalError) as error:
            jobs.ask(opts, ["node1"], "test.ping", kind=bool)
    finally:
        cache.unlink()
        away.rename(cache)
    assert f"is the disk of {opts['cachedir']} full?" in str(error.value) and "running" not in str(error.value)


def test_a_minion_that_answers_nonsense_holds_back_only_itself(master):
    inventory = master.pillar / "inventory"
    done = master.typed("discovery.collect")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.stem for path in inventory.iterdir()) == ["node1", "node2"]
    (disk,) = json.loads((inventory / "node1.json").read_text())["ceph_disks"]
    assert disk["size"] == DISK["size"]
    lines = done.stdout.splitlines()
    (odd,) = (line for line in lines if line.startswith("node3: its answer is not of the form expected"))
    assert odd.endswith("; what was stored of it stays") and "inventory: stored node1, node2" in lines


def test_what_lies_in_the_inventory_does_not_keep_discovery_from_looking_again(master):
    """Taken away by hand, it asked whether discovery has run; broken, for its own file to be mended."""
    inventory = master.pillar / "inventory"
    inventory.mkdir(parents=True, exist_ok=True)
    for texts in ({}, {"node1": "", "node2": "[]", "old": "x"}):
        [path.unlink() for path in inventory.iterdir()]
        [(inventory / f"{name}.json").write_text(text) for name, text in texts.items()]
        done = master.typed("discovery.collect")
        assert (done.returncode, done.stderr) == (0, "") and "inventory: stored node1, node2" in done.stdout, done
    (inventory / "node3.json").write_text("{}")  # of one whose answer is not understood: nobody knows what it carries
    done = master.typed("discovery.collect")
    [(inventory / f"{name}.json").unlink() for name in ("old", "node3")]
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (2, "", 1), done
    assert done.stdout.startswith(f"{inventory}/node3.json is not what discovery stores, and node3 ")


def test_what_is_typed_behind_sudo_asks_by_the_masters_own_key(master, monkeypatch):
    """An orchestration has whoever typed it in its options, of whom the master knows no key."""
    monkeypatch.setenv("SUDO_USER", "alice")
    told = jobs.ask({**master.opts(), "user": "sudo_alice"}, ["node1"], "test.ping", kind=bool)
    assert told.answers == {"node1": True}
