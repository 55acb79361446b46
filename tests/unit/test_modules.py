"""What holds for all that minions run: ``_modules/``, ``salt/_states``, ``salt/_grains``, ``salt/_utils``.

The arrows between execution modules are strings (``__salt__["disks.inspect"]``), which no import linter sees.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
MODULES = {path.stem: path for path in (CHECKOUT / "_modules").glob("*.py")}
FOLDERS = ("_modules", "salt/_states", "salt/_grains", "salt/_utils", "salt/_output")
MINION = {str(path.relative_to(CHECKOUT)): path for folder in FOLDERS for path in (CHECKOUT / folder).glob("*.py")}
PRODUCT = ("_modules", "lab", "proposals", "runners", "salt", "srv")
NOUNS = ("benchmark", "cluster", "daemons", "disks", "ganesha", "host", "links", "osd", "smoke", "tunings")
ALONE = {"iscsi", "mon"}
# What looks and changes nothing stands on nothing that changes disks, OSDs or links.
READERS = {"disks", "disks_kernel", "disks_label", "disks_lvm", "osd_guard", "osd_names", "osd_plan", "osd_space"}
READERS |= {"links_kernel", "links_plan", "cluster_cephfs", "cluster_health", "cluster_monitoring", "cluster_osds"}
READERS |= {
    "disks_smart",
    "tunings",
    "tunings_hardware",
    "host",
    "host_ceph",
    "host_ceph_conf",
    "host_hardware",
    "host_iptables",
    "host_keys",
    "host_lldp",
    "host_nft",
    "host_nics",
    "host_parts",
    "host_raid",
    "host_time",
}
WRITERS = {"disks_wipe", "osd", "osd_raw", "osd_raw_parts", "osd_lvm", "osd_lvm_parts", "osd_register", "osd_retire"}
WRITERS |= {
    "osd_keyring",
    "osd_copy",
    "osd_migrate",
    "osd_purge",
    "osd_raw_slots",
    "osd_lvm_slots",
    "links",
    "links_files",
    "links_undo",
    "tunings_tuned",
}


def functions(path: Path) -> set[str]:
    """The functions that a module offers."""
    names = {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
    return {f"{path.stem}.{name}" for name in names if not name.startswith("_")}


OFFERED = {name: module for module, path in MODULES.items() for name in functions(path)}
OFFERED |= {name: name for name in MODULES if "_" in name}  # a program may complete it: f"{backend}.files"


def named(text: str) -> set[str]:
    """The execution modules that a program names, its docstrings aside."""
    tree = ast.parse(text)
    documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
    docs = {
        id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)
    }
    texts = {
        node.value.rstrip(".")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    }
    return {OFFERED[text] for text in texts & OFFERED.keys()}


ARROWS = {name: named(path.read_text()) - {name} for name, path in MODULES.items()}


def test_the_search_finds_what_a_module_names():
    program = '"""Not osd."""\nx = __salt__["disks.inspect"]()\ny = f"{\'osd_raw\'}.make", "osd"'
    assert named(program) == {"disks", "osd_raw"}
    assert ARROWS["osd"] >= {"osd_raw", "osd_lvm", "osd_guard", "disks_kernel"} and ARROWS["osd_names"] == set()


def test_modules_name_each_other_in_no_circle():
    tuple(TopologicalSorter(ARROWS).static_order())
    with pytest.raises(CycleError):
        tuple(TopologicalSorter(ARROWS | {"osd_names": {"osd"}}).static_order())


def below(name: str) -> set[str]:
    """Every module that one stands on."""
    return ARROWS[name].union(*map(below, ARROWS[name]))


def test_reading_stands_on_nothing_that_writes():
    assert READERS.isdisjoint(WRITERS) and MODULES.keys() >= READERS | WRITERS
    assert below("osd") & WRITERS >= {"osd_raw", "osd_lvm_parts"}
    assert {name: wrong for name in sorted(READERS) if (wrong := below(name) & WRITERS)} == {}


def test_every_module_carries_its_noun():
    assert {name for name in MODULES if name.split("_")[0] not in NOUNS} == ALONE


def bare(text: str) -> list[str]:
    """The states that let a module's error through: its words belong into their answer, no traceback."""
    states = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    kept = ("halocline.state", "halocline.cluster_state")
    return [state.name for state in states if not any(ast.unparse(word) in kept for word in state.decorator_list)]


@pytest.mark.slow
def test_every_state_that_asks_a_module_answers_with_its_error():
    texts = {path.stem: path.read_text() for path in (CHECKOUT / "salt/_states").glob("*.py")}
    asking = {name: text for name, text in texts.items() if named(text)}
    assert {"osd", "links", "cluster_config", "tunings"} <= asking.keys() and bare(texts["generation"]) == ["equal"]
    assert {name: states for name, text in asking.items() if (states := bare(text))} == {}


def used(text: str, *names: str) -> list[str]:
    """The imports and calls of these names in a program."""
    nodes = list(ast.walk(ast.parse(text)))
    imports = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    imports += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    calls = [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]
    return sorted({name for name in imports + calls if name in names})


def users(*names: str) -> dict[str, list[str]]:
    """The files that minions get which use these names."""
    return {name: uses for name, path in MINION.items() if (uses := used(path.read_text(), *names))}


@pytest.mark.slow
def test_one_place_runs_programs():
    assert used("from subprocess import run\nos.system('x')", "subprocess", "os.system") == ["os.system", "subprocess"]
    programs = users("subprocess", "os.system", "os.popen", "asyncio")
    assert programs == {"salt/_utils/halocline.py": ["subprocess"]}


@pytest.mark.slow
def test_one_place_waits():
    """But for partitions, whose names must be found several times in a row: that is no waiting for something."""
    waits = {"salt/_utils/halocline.py": ["time.sleep"], "_modules/osd_raw_parts.py": ["time.sleep"]}
    assert users("time.sleep") == waits


def test_no_product_file_looks_like_a_test():
    """Readers and pytest take ``*_test.py`` and ``test_*.py`` for tests."""
    files = [path for folder in PRODUCT for path in (CHECKOUT / folder).rglob("*.py")]
    assert len(files) > 200
    assert [str(path) for path in files if path.stem.startswith("test_") or path.stem.endswith("_test")] == []
