"""The table of site settings: its rows hold what they say, its reader names everything that is wrong, once."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from planning import FIXTURES

from proposals.settings import reader, table

CASES = yaml.load((FIXTURES / "settings.yaml").read_text(), yaml.CSafeLoader)
ROWS = dict(table.rows())
# What YAML can hold: the reader meets all of it.
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | st.text(max_size=5)
WORDS = st.sampled_from(sorted({path.rpartition(": ")[2] for path in ROWS})) | st.text(max_size=5) | st.integers()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=12
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_a_site_writes(case):
    found = reader.read(case["written"])
    assert found.lines() == case.get("wrong", [])
    assert {key: found.values[key] for key in case.get("reads", {})} == case.get("reads", {})


@pytest.mark.parametrize("path", ROWS)
def test_a_row(path):
    row = ROWS[path]
    assert row.meaning and "\n" not in row.meaning and not row.meaning.endswith(".")
    assert bool(row.place) == (path == row.key)
    if row.default is not None:
        assert row.kind.read(row.key, row.default)[1] == []


def test_every_path_is_there_once():
    paths = [path for path, _ in table.rows()]
    assert len(paths) == len(set(paths))
    nested = {"rgw_frontend: port", "iscsi_targets: TARGET: initiators: INITIATOR: user", "ceph: storage: method"}
    assert nested <= set(paths)


@pytest.mark.slow
@given(st.sampled_from([row.key for row in table.SETTINGS]), VALUES)
def test_whatever_stands_there(key, value):
    """Nothing raises; what was read is read again as it is, and what is wrong begins with its key."""
    found = reader.read({key: value})
    assert all(line.startswith(key) for line in found.lines())
    if not found.problems:
        again = reader.read({key: found.values[key]})
        assert (again.values[key], again.problems) == (found.values[key], {})


@pytest.mark.parametrize(
    ("key", "error", "warning"),
    [
        ("rgw_frontent", "rgw_frontent: no such setting: did you mean 'rgw_frontend'?", ""),
        ("small-site", "small-site: no such setting: did you mean 'small_site'?", ""),
        ("rgw_frontend", "", ""),
        ("rgw_zonegroups", "", "rgw_zonegroups: no such setting, nothing reads it"),
        ("apache", "", ""),
        (7, "", ""),
    ],
)
def test_keys_that_nothing_reads(key, error, warning):
    assert "".join(reader.misspelt({key: 1})) == error
    assert "".join(reader.unread({key: 1})) == warning
