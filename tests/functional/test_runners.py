"""What Salt's loader makes of ``runners/``: the documented commands and nothing else."""

import ast
import re

import pytest
from saltmaster import CHECKOUT, Master

RUNNERS = CHECKOUT / "runners"
COMMANDS = CHECKOUT / "docs/reference/commands.md"
ASKING = {"ask": 2, "one": 2, "cluster": 1, "Question": 0, "_ask": 1, "_each": 1}  # where each takes a function's name


@pytest.fixture(scope="module")
def loaded(salt_factories):
    """A function: the names of all that Salt loads of a folder of runners."""
    master = salt_factories.salt_master_daemon("runners", factory_class=Master)

    def names(folder):
        nouns = {path.stem for path in folder.iterdir()}
        return {name for name in master.runners(runner_dirs=[str(folder)]) if name.partition(".")[0] in nouns}

    return names


@pytest.mark.slow
def test_salt_run_has_the_documented_commands_alone(loaded):
    documented = set(re.findall(r"^### (\S+)$", COMMANDS.read_text(), re.MULTILINE))
    assert loaded(RUNNERS) == documented


@pytest.mark.slow
def test_a_public_function_is_a_command_and_a_folder_without_init_holds_none(loaded, tmp_path):
    """The test above can find one."""
    (tmp_path / "runners/engine").mkdir(parents=True)
    (tmp_path / "runners/engine/ask.py").write_text("def ask():\n    pass\n")
    (tmp_path / "runners/planted.py").write_text("from shutil import copyfile\n\n\ndef helper():\n    pass\n")
    assert loaded(tmp_path / "runners") == {"planted.helper"}


def asked():
    """Every name of a minion's function in ``runners/``."""
    for path in RUNNERS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(), str(path))):
            place = ASKING.get(ast.unparse(node.func).rpartition(".")[2]) if isinstance(node, ast.Call) else None
            word = node.args[place] if place is not None and len(node.args) > place else None
            if isinstance(word, ast.Constant):
                yield word.value


@pytest.mark.slow
def test_what_runners_ask_of_minions_exists(modules):
    names = set(asked())
    assert {"disks_wipe.wipe", "links.report", "state.apply", "host_updates.boot", "cluster_osds.states"} <= names
    assert {name for name in names if name not in modules} == set()
