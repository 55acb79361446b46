"""Messages that users see: read from the code that says them, each on its page, found again by what was printed."""

import re

import pytest

from docs.generate import messages
from docs.generate.functions import ROOT
from proposals.text import topics
from proposals.validation import table
from runners.engine.master import documented

PAGE = (ROOT / "docs/reference/messages.md").read_text()
CODE = '''"""Give a disk away: ``x``."""
NEXT = "run it again"

def one(disk):
    raise PlanError(f"{disk} is in use: {why(disk)}{disk}; " + NEXT)

def two(found):
    if found:
        raise StoreError("; ".join(found))
    raise StoreError(f"{found}: no")
    yield f"{found}: no other one is there"
    return ["the last one of", other]
'''


@pytest.fixture(scope="module")
def pages() -> list[topics.Topic]:
    """Every topic of the pages."""
    return list(documented.pages())


def test_a_message_is_what_its_statement_says() -> None:
    about = "Give a disk away: `x`."
    assert list(messages.of_code(CODE)) == [
        ("PlanError", messages.Message("… is in use: …; run it again", about)),
    ]
    against = {message.text for name, message in messages.of_code(CODE, against=True) if name == "against"}
    assert against == {"…: no other one is there", "the last one of"}


@pytest.mark.slow
def test_every_kind_says_what_it_means_and_what_to_do() -> None:
    kinds = messages.kinds()
    assert sum(len(kind.messages) for kind in kinds) > 400
    for kind in kinds:
        assert kind.means.endswith(".") and kind.to_do.endswith(".") and kind.messages, kind.means
        assert all(message.part for message in kind.messages), kind.means


@pytest.mark.slow
def test_every_check_and_every_message_has_an_anchor() -> None:
    anchors = set(re.findall(r"^### `(.*)`$", PAGE, re.MULTILINE))
    wanted = {row.id for row in table.CHECKS} | {each.text for kind in messages.kinds() for each in kind.messages}
    assert wanted <= anchors


@pytest.mark.parametrize(
    ("printed", "named"),
    [
        ("no other manager runs: start one first", "mgr.…: no other manager runs: start one first"),
        ("mgr.node1: no other manager runs: start one first, or give another host the role mgr", "mgr.…: no other"),
        ("error    monitors: 1, expected 3 or more; the loss of one would stop the cluster  [mon_few]", "monitors: …"),
        ("ceph.purge: left=x: no host of this cluster is called so", "left=…: no host of this cluster is called so"),
        ("nothing is configured yet: run 'salt-run state.orch ceph.stage.configure' first", "nothing is configured"),
    ],
)
def test_a_message_is_found_by_what_was_printed(pages: list[topics.Topic], printed: str, named: str) -> None:
    found = topics.find(printed, pages)
    assert any(each.kind == topics.MESSAGE and each.name.startswith(named) for each in found), found
    assert len(found) < 4, [each.name for each in found]
