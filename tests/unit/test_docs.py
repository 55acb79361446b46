"""Docs say what the code does: generated pages, and every command that docs and docstrings show."""

import re
import shlex

import pytest

from docs.generate import examples, pages
from docs.generate.examples import Example
from proposals.cli import main

PLANTED = [
    ("salt-run proposal.peak name=a", "there is no function proposal.peak"),
    ("salt-run proposals.peek name=a", "there is no runner proposals.peek"),
    ("salt-run proposal.peek ration=9", "takes no ration"),
    ("salt-run osd.replace", None),  # a mention
    ("salt-run osd.replace 12 13", "too many positional arguments"),
    ("salt-run --out json disk.wipe node1 /dev/sdb sreial=A", "takes no sreial"),
    ("salt-run state.orch ceph.stage.deply", "there is no ceph.stage.deply"),
    ("salt-run manage.statsu", "there is no runner manage.statsu"),
    ("salt 'osd*' osd.reprot", "there is no function osd.reprot"),
    ("salt -C 'G@os:Debian' test.pong", "there is no execution function test.pong"),
    ("python -m proposals peek reference:apollo rato=9", "'rato' is not an argument"),
    ("python -m proposals peak reference:apollo", "invalid choice: 'peak'"),
    ("python -m lab upp tiny", "invalid choice: 'upp'"),
    ("make tset", "no target tset"),
]
GOOD = [
    "salt-run manage.status",
    "salt-run proposal.peek name=apollo ratio=9 wal=740-770 target='osd*' db-size=40g",
    "salt-run networks.switch apollo as=nx-os",
    "salt 'node1' disks.inspect",
    "salt-call --local test.ping",
    "sudo make demo CLUSTER=tiny",
    ".venv/bin/python -m lab exec node1 -- lsblk --json",
]


def test_generated_pages_are_what_the_code_says():
    assert [str(path) for path in pages.differing()] == [], "run 'python -m docs.generate'"


def test_a_page_that_was_edited_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    for path, text in pages.rendered().items():
        path.write_text(text)
    assert pages.differing() == []
    page = tmp_path / "planner-arguments.md"
    page.write_text(page.read_text().replace("| 5 |", "| 6 |", 1))
    assert pages.differing() == [page]


@pytest.mark.parametrize(("text", "why"), PLANTED)
def test_an_example_that_cannot_be_typed_is_named(text, why):
    assert why is None or why in examples.problem(Example("here", text, True))


@pytest.mark.parametrize("text", GOOD)
def test_an_example_that_can_be_typed_is_not(text):
    assert examples.problem(Example("here", text, True)) is None


def test_examples_are_found_in_code_and_pages():
    code = '"""Do it: ``salt-run a.b``.\n\nCLI Example:\n\n.. code-block:: bash\n\n    salt-run c.d e=1\n"""'
    assert [each.text for each in examples.of_code("x.py", code)] == ["salt-run c.d e=1", "salt-run a.b"]
    page = "`salt-run a.b`\n```\nsalt-run c.d\n```\n```yaml\na: salt-run e.f\n```\n"
    assert [each.text for each in examples.of_page("x.md", page)] == ["salt-run a.b", "salt-run c.d"]


def test_every_example_can_be_typed():
    assert [f"{each.place}: {each.text}: {why}" for each, why in examples.wrong()] == []


PLANNED = [each for each in examples.everywhere() if each.whole and re.search("-m proposals .*reference:", each.text)]


@pytest.mark.parametrize("example", PLANNED, ids=lambda each: each.place)
def test_what_needs_no_cluster_is_run(example, tmp_path, capsys):
    words = shlex.split(example.text.replace("ROOT", str(tmp_path)), comments=True)
    assert main(words[words.index("proposals") + 1 :]) == 0, capsys.readouterr().err
