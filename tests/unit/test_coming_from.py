"""Migration guides: whatever the right-hand column of a row names is there to be typed or set."""

import re
from collections.abc import Iterator

import pytest

from docs.generate import commands
from docs.generate.functions import ROOT, runners
from proposals.disks import arguments
from proposals.policy.roles import ROLES
from proposals.settings import reader

GUIDES = ("from-deepsea", "from-ceph-ansible", "from-cephadm")
KEPT = (ROOT / "docs/reference/files.md").read_text()
WORDS = {*arguments.ARGUMENTS, "only", "slice", "re"}  # arguments, of which the last are a stage's and policy.cfg's


def right(page: str) -> Iterator[tuple[int, str]]:
    """The backticked words of each row's last column, with their lines."""
    for number, line in enumerate(page.splitlines(), 1):
        cells = re.split(r"(?<!\\)\|", line.strip())
        if len(cells) > 2 and not cells[0] and set(cells[-2].strip()) - {"-"}:
            yield from ((number, word) for word in re.findall(r"`([^`]+)`", cells[-2]))


def unknown(word: str) -> str | None:
    """What is wrong with a word of the right-hand column; None where it names something that is there."""
    if word.startswith(("salt-run ", "salt ", "python -m ")):
        return commands.problem(word)
    if word.startswith("ceph.stage."):
        return commands.problem(f"salt-run state.orch {word}")
    key, _, value = word.partition("=")
    if key in WORDS or key in arguments.LAYOUTS:
        return arguments.parse([word]) and None if value else None
    key = re.split(r"[:=]", word)[0]
    if {word, key} & {*runners(), *reader.KEYS, *ROLES} or word in KEPT or word in ("/srv/salt", "grafana: true"):
        return None
    return "is no command, stage, setting, role, argument or file"


@pytest.mark.slow
@pytest.mark.parametrize("guide", GUIDES)
def test_the_right_hand_column_names_what_is_there(guide: str) -> None:
    found = list(right((ROOT / f"docs/howto/{guide}.md").read_text()))
    assert len(found) > 60
    assert [f"{line}: {word} {why}" for line, word in found if (why := unknown(word))] == []


@pytest.mark.parametrize(
    "word",
    ["osd.reprot", "ceph.stage.deply", "salt-run osd.replace osd=1", "dashbord", "roless", "rations=9", "profile.cfg"],
)
def test_what_is_not_there_is_named(word: str) -> None:
    page = f"| theirs | ours |\n|---|---|\n| `no.thing` | {word} or `{word}` |\n"
    assert [unknown(found) is not None for _, found in right(page)] == [True]
