"""What a word is looked up in: commands, pages, rows of their tables, sections."""

import pytest

from proposals.text import topics
from proposals.text.errors import ArgumentError
from proposals.text.topics import Topic
from runners.engine.master import documented

PAGE = """# The title

See [another](other.md#x).

| argument | default | meaning |
|---|---|---|
| `db-size`, `db` | 40g | at most &lt;N&gt; \\| none |

## Two parts

What they are.
"""


@pytest.fixture(scope="module")
def documented_topics():
    """Every topic of this product."""
    return [*documented.commands(), *documented.pages()]


def found(word, *known):
    return [(each.name, each.kind) for each in topics.find(word, known)]


def test_a_page_has_itself_its_rows_and_its_sections():
    page, size, db, section = topics.of_page("reference/odd", PAGE)
    assert (page.name, page.about) == ("odd", "The title") and "See another." in page.text
    assert (size.name, db.name) == ("db-size", "db")
    assert size.text == "db-size, db (reference/odd)\n  default: 40g\n  meaning: at most <N> | none"
    assert section.name == "Two parts" and section.text.endswith("(reference/odd)")
    assert [each.kind for each in topics.of_page("howto/odd", PAGE)] == [topics.PAGE, topics.SECTION]


def test_a_section_is_shown_where_nothing_else_has_the_word():
    page, _, _, section = topics.of_page("reference/odd", PAGE)
    other = Topic("two-parts", topics.COMMAND, "", "")
    assert found("TWO_parts", page, section) == [("Two parts", topics.SECTION)]
    assert found("two parts", page, section, other) == [("two-parts", topics.COMMAND)]


def test_of_a_misspelt_word_the_nearest_is_named():
    with pytest.raises(ArgumentError, match="no topic 'db_siez': did you mean 'db-size'?"):
        found("db_siez", *topics.of_page("reference/odd", PAGE))
    with pytest.raises(ArgumentError, match="'salt-run halocline.help' lists"):
        found("x\x1b", Topic("odd", topics.PAGE, "", ""))


@pytest.mark.parametrize(
    ("word", "kind"),
    [("osd.replace", "command"), ("validate.all", "command"), ("osd", "commands"), ("upgrade", "commands")]
    + [("replace-a-disk", "page"), ("safety", "page"), ("ratio", "row"), ("small_site", "section")]
    + [("mon_few", "row"), ("orphan", "row"), ("one disk's eight forms", None), ("stage.beginning", None)],
)
def test_words_of_this_product_are_found(documented_topics, word, kind):
    if kind is None:
        with pytest.raises(ArgumentError):
            topics.find(word, documented_topics)
    else:
        assert kind in {each.kind for each in topics.find(word, documented_topics)}
