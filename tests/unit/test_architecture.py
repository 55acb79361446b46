"""What holds for the whole of ``proposals/`` beside the order of its rooms (test_layers.py)."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proposals.pillar import generation, problems
from proposals.policy.roles import ROLES
from proposals.services import clients
from proposals.text import names

CHECKOUT = Path(__file__).resolve().parents[2]
FILES = CHECKOUT / "proposals" / "files"
# What opens, makes, changes or removes a file or folder: methods of Path, functions of os and shutil.
TOUCHES = re.compile(
    r"(^|\.)(open|fdopen|(read|write)_(bytes|text)|touch|mkdir|makedirs|mkstemp|mkdtemp|[fl]?chmod|chown|unlink|rmdir|"
    r"rmtree|renames?|symlink(_to)?|link|hardlink_to|truncate|utime)$|^os\.(remove|replace)$|^shutil\."
)


def touched(text: str) -> Iterator[str]:
    """The calls in a program that touch a file themselves; what the room of files offers is asked by its module."""
    for call in calls(text):
        called = ast.unparse(call.func)
        asked = called.startswith(("atomic.", "tree.", "documents.")) or "os.devnull" in map(ast.unparse, call.args)
        renames = (
            called.endswith(".replace") and len(call.args) == 1 and not call.keywords
        )  # a path's; a text's has two
        if not asked and (renames or TOUCHES.search(called)):
            yield ast.unparse(call)


def calls(text: str) -> Iterator[ast.Call]:
    """Every call in a program."""
    return (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))


@pytest.mark.parametrize(
    "planted", ["open(path)", "path.read_text()", "os.remove(path)", "(folder / name).mkdir()", "a.replace(b)"]
)
def test_the_search_finds_what_touches_a_file(planted):
    assert list(touched(planted)) == [planted]


@pytest.mark.slow
def test_only_the_room_of_files_touches_files():
    paths = [path for path in (CHECKOUT / "proposals").rglob("*.py") if FILES not in path.parents]
    found = {str(path.relative_to(CHECKOUT)): list(touched(path.read_text())) for path in paths}
    assert {path: calls for path, calls in found.items() if calls} == {}


@pytest.mark.slow
def test_planning_imports_nothing_of_salt():
    script = (
        "import importlib, pkgutil, proposals, sys\n"
        "for module in pkgutil.walk_packages(proposals.__path__, 'proposals.'):\n"
        "    module.name.endswith('__main__') or importlib.import_module(module.name)\n"
        "{planted}\n"
        "print([name for name in sys.modules if name == 'salt' or name.startswith('salt.')])\n"
    )

    def imported(planted: str = "") -> str:
        words = [sys.executable, "-c", script.format(planted=planted)]
        return subprocess.run(words, capture_output=True, text=True, check=True, cwd=CHECKOUT).stdout.strip()

    assert "salt.version" in imported("import salt.version")  # it can find one
    assert imported() == "[]"


LABELS = st.text(st.sampled_from(names._IN_LABELS), max_size=40)
PATHS = st.text(st.sampled_from(names._IN_PATHS), min_size=1, max_size=40).map("/dev/".__add__)
ODD = st.sampled_from(["\t", "\n", "\0", "{", "é", "../", "/..", ": ", "..", "x" * 300, "/dev", " ", ""]) | st.text(
    max_size=3
)


@pytest.mark.slow
@given(
    PATHS, PATHS, st.lists(LABELS, min_size=6, max_size=6), st.none() | st.tuples(st.integers(0, 7), ODD, st.booleans())
)
def test_the_quick_check_of_a_line_is_that_of_its_texts(device, id_, labels, odd):
    """It refuses more, for the patterns to be asked: lines that are long as a whole, and any two dots."""
    texts = [device, id_, *labels]
    if odd:
        place, text, alone = odd
        texts[place] = text if alone else texts[place] + text
    line = "\t".join(texts)
    accepted = all(map(names.is_device, texts[:2])) and all(map(names.is_label, texts[2:]))
    unsure = len(line) > names.LONGEST or ".." in line
    assert names.plain(line) == (accepted and not unsure)


@pytest.mark.slow
def test_there_is_one_list_of_roles():
    """Nobody else lists them all, and whoever names some names known ones."""
    known = {*ROLES, "all"}
    assert {*problems.NEEDED, *generation.STAGES, *clients.ROLES} <= known
    for path in (CHECKOUT / "proposals").rglob("*.py"):
        text = path.read_text()
        asked = [call.args for call in calls(text) if ast.unparse(call.func).endswith(".members")]
        assert {word.value for words in asked for word in words if isinstance(word, ast.Constant)} <= known, path
        lists = [node.elts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Tuple | ast.List | ast.Set)]
        words = [{each.value for each in elements if isinstance(each, ast.Constant)} for elements in lists]
        assert [listed for listed in words if len(listed & ROLES.keys()) > len(known) / 2] == [], path


@pytest.mark.slow
def test_no_test_sets_the_clock_of_all_threads() -> None:
    """Event loops of other threads wait by it, and pytest then waits for them at its end."""
    sets = re.compile(r'setattr\(([\w.]+\.)?time, "monotonic"|setattr\("time\.monotonic')
    tests = (CHECKOUT / "tests").rglob("*.py")
    assert [str(path) for path in tests if path != Path(__file__) and sets.search(path.read_text())] == []
