"""None of our files hides one of Salt's: a runner, module, state, grain or outputter of the installed Salt."""

import re
from pathlib import Path

import pytest

import salt

SALT = Path(salt.__file__).parent
VIRTUAL = re.compile(r"^__virtualname__ = [\"'](\w+)[\"']", re.MULTILINE)
# Our folder, Salt's of the same kind.
KINDS = [
    ("_modules", "modules"),
    ("runners", "runners"),
    ("salt/_states", "states"),
    ("salt/_grains", "grains"),
    ("salt/_output", "output"),
    ("salt/_utils", "utils"),
]


def theirs(kind: str) -> set[str]:
    """The names that Salt's loader may give to files of a kind: the file's, and the one that it asks for."""
    files = [path for path in (SALT / kind).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    texts = (path.read_text() for path in files if path.is_file())
    return {path.stem for path in files} | {name for text in texts for name in VIRTUAL.findall(text)}


@pytest.mark.parametrize(("folder", "kind"), KINDS)
def test_no_name_of_ours_is_one_of_salts(checkout, folder, kind):
    ours = {path.stem for path in (checkout / folder).glob("*.py")}
    assert ours and ours & theirs(kind) == set()


@pytest.mark.slow
def test_the_search_finds_salts_names():
    assert {"network", "cluster"} <= theirs("runners")  # the runner of wol; what runners of ours were called once
    assert {"service", "x509", "pkg"} <= theirs("modules")
    assert "core" in theirs("grains") and "nested" in theirs("output") and "args" in theirs("utils")
