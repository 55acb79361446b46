"""Docs say what the code does: generated pages, and every command, file and path that docs and docstrings show."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from docs.generate import commands, examples, pages
from docs.generate.functions import ROOT
from proposals.cli import main
from proposals.disks import arguments, plan
from proposals.files.site import minion_file
from proposals.inventory import disk
from proposals.pillar import chosen
from proposals.policy import policy, populate_decision
from proposals.settings import reader

PLANTED = [
    ("salt-run proposal.peak name=a", "there is no function proposal.peak"),
    ("salt-run proposals.peek name=a", "there is no runner proposals.peek"),
    ("salt-run proposal.peek ration=9", "takes no ration"),
    ("salt-run osd.report 12", "too many positional arguments"),
    ("salt-run --out json disk.wipe node1 /dev/sdb sreial=A", "takes no sreial"),
    ("salt-run state.orch ceph.stage.deply", "there is no ceph.stage.deply"),
    ("salt-run manage.statsu", "there is no runner manage.statsu"),
    ("salt 'osd*' osd.reprot", "there is no function osd.reprot"),
    ("salt -C 'G@os:Debian' test.pong", "there is no execution function test.pong"),
    ("python -m proposals peek reference:apollo rato=9", "'rato' is not an argument"),
    ("python -m proposals peak reference:apollo", "'peak' is not a verb"),
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


@pytest.mark.slow
def test_generated_pages_are_what_the_code_says():
    assert [str(path) for path in pages.differing()] == [], "run 'python -m docs.generate'"


@pytest.mark.slow
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
    assert why in commands.problem(text)


@pytest.mark.parametrize("text", GOOD)
def test_an_example_that_can_be_typed_is_not(text):
    assert commands.problem(text) is None


def test_examples_are_found_in_code_and_pages():
    code = '"""Do it: ``salt-run a.b``.\n\nCLI Example:\n\n.. code-block:: bash\n\n    salt-run c.d e=1\n"""'
    assert {"salt-run c.d e=1", "salt-run a.b"} <= {each.text for each in examples.of_code("x.py", code)}
    assert [each.text for each in examples.of_code("x.py", "raise Error(f'{x}: run salt-run g.h')")] == ["salt-run g.h"]
    code = "raise Error(f\"{x}: 'salt-run disk.wipe {a} {b} sreial={c}', then salt-run i.j\")"
    (first, second) = examples.of_code("x.py", code)
    assert first.text == "salt-run disk.wipe … … sreial=…" and second.text == "salt-run i.j"
    assert "takes no sreial" in str(commands.problem(first.text, first.whole))
    page = "`salt-run a.b`\n```\nsalt-run c.d\n```\n```yaml\na: salt-run e.f\n```\n"
    assert [each.text for each in examples.of_page("x.md", page)] == ["salt-run a.b", "salt-run c.d"]


@pytest.mark.slow
def test_every_example_can_be_typed():
    assert [f"{each.place}: {each.text}: {why}" for each, why in examples.wrong()] == []


@pytest.mark.slow
def test_what_needs_no_cluster_is_run(subtests, tmp_path, capsys):
    asked = re.compile("-m proposals .*reference:")
    planned = [each for each in examples.everywhere() if each.whole and asked.search(each.text)]
    assert planned
    for each in planned:
        with subtests.test(each.place):
            words = shlex.split(each.text.replace("ROOT", str(tmp_path)), comments=True)
            assert main(words[words.index("proposals") + 1 :]) == 0, capsys.readouterr().err


PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SELECTS = re.compile(r"^(cluster|role|profile|network|config)[-/]\S+/\S+", re.MULTILINE)
WRITTEN = r"proposals/(cluster|role|profile|network|config|adopted|policy\.cfg|fragments\.yml)"
OF_A_SITE = re.compile(rf"{WRITTEN}|.*\.json$|.*[A-Z]{{4}}")


def blocks(*languages: str) -> list:
    """The code blocks of all pages in these languages, as parameters of a test."""
    parameters = []
    for page in PAGES:
        for block in re.finditer(r"^( *)```(\w*)\n(.*?)^ *```$", page.read_text(), re.MULTILINE | re.DOTALL):
            if block[2] in languages:
                text = "".join(line.removeprefix(block[1]) for line in block[3].splitlines(keepends=True))
                line = page.read_text()[: block.start()].count("\n") + 1
                parameters.append(pytest.param(text, id=f"{page.relative_to(ROOT)}:{line}"))
    return parameters


@pytest.mark.slow
@pytest.mark.parametrize("text", [each for each in blocks("") if "-m proposals reference" in each.values[0]])
def test_commands_that_need_no_cluster_are_run_as_they_stand(text, tmp_path):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-ec", text], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("text", blocks("yaml"))
def test_yaml_is_read_by_its_reader(text):
    content = yaml.load(text, yaml.CSafeLoader)
    if isinstance(content, list):
        disks = [disk.parse({"device": "/dev/sda", "size": 1 << 40, "rotational": False, "osds": content})]
        assert disks[0].reason is None and len(disks[0].residents) == len(content)
    elif "hosts" in content:
        assert plan.peek(content, arguments.parse([])).as_dict()["summary"]["osds"] == 1
    elif "osds" in (content.get("ceph") or {}).get("storage", {}):
        fragment = minion_file("osdnode1")
        assert chosen.osds({fragment: content})["osdnode1"]
    elif "schedule" in content:
        for job in content["schedule"].values():
            words = " ".join(f"{key}={value}" for key, value in job["kwargs"].items())
            assert commands.problem(f"salt-run {job['function']} {words}") is None
    else:
        assert reader.read(content).lines() + reader.misspelt(content) + reader.unread(content) == []
        assert set(content) <= set(reader.KEYS)


@pytest.mark.parametrize("text", blocks("json"))
def test_json_has_its_form(text):
    content = json.loads(text)
    assert set(content) == {"targets", "lines"} or populate_decision.check_stored(content, "here")


@pytest.mark.slow
def test_lines_of_a_policy_are_understood():
    found = [each.values[0] for each in blocks("", "text") if SELECTS.search(each.values[0])]
    lines = [line for text in found for line in policy.parse(text)]
    assert len(found) >= 3 and len(lines) >= 20


@pytest.mark.parametrize("guide", ["apollo", "apollo-slice"])
def test_the_way_to_the_reference_cluster_is_the_guide_that_the_lab_types(guide):
    typed = yaml.load((ROOT / "lab" / "guides" / f"{guide}.yaml").read_text(), yaml.CSafeLoader)
    page = (ROOT / "docs" / "howto" / "reference-cluster.md").read_text()
    places = [page.find(f"\n{command}\n") for command in typed["commands"] if command != "policy.cfg"]
    assert -1 not in places and places == sorted(places)
    assert f"```text\n{typed['policy']}```" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_lead_somewhere(page):
    text = page.read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
    paths = re.findall(r"`((?:proposals|runners|_modules|salt|pillar|srv|lab|tests|docs)/[\w./-]+)`", text)
    assert [path for path in paths if not OF_A_SITE.match(path) and not (ROOT / path).exists()] == []


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives a page's headings, and the site those of three levels."""
    prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found: Counter[str] = Counter()
    for heading in re.findall(r"^#{1,3} (.+?) *$", prose, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found[re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")] += 1
    return {name if not number else f"{name}-{number}" for name, count in found.items() for number in range(count)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_anchors_of_links_are_headings(page):
    links = re.findall(r"\]\(((?:[\w./-]+\.md)?)#([^)]+)\)", page.read_text())
    pages_ = {name: page.parent / name if name else page for name, _ in links}
    assert [f"{name}#{anchor}" for name, anchor in links if anchor not in anchors(pages_[name].read_text())] == []


def test_an_anchor_is_made_of_a_heading():
    text = "# A `b.c`: d\n```\n# no\n```\n## D_e's\n## D_e's\n### ceph.conf\n"
    assert anchors(text) == {"a-bc-d", "d_es", "d_es-1", "cephconf"}


@pytest.mark.slow
def test_code_cites_only_pages_that_are_there():
    files = [path for folder in examples.CODE for path in (ROOT / folder).rglob("*.py")]
    cited = {name for path in files for name in re.findall(r"docs/[\w/-]+\.md", path.read_text())}
    assert len(cited) > 5 and [name for name in sorted(cited) if not (ROOT / name).is_file()] == []
