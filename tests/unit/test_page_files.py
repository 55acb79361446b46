"""The page's files: no markup is made of text, nothing is loaded from elsewhere, only what may be asked is asked."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from runners.engine.page import page_rights

PAGE = Path(__file__).parents[2] / "srv/page"
SCRIPTS = {path.name: path.read_text() for path in sorted(PAGE.glob("*.js"))}
# What makes markup or code of text, and what keeps something in the browser.
NEVER = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|createContextualFragment|\beval\b|"
    r"\bFunction\(|setTimeout\(\s*[\"'`]|javascript:|localStorage|sessionStorage|document\.cookie|indexedDB"
)
ELSEWHERE = re.compile(r"(https?:)?//[\w.]+\.\w+")
SPACE = "http://www.w3.org/2000/svg"  # a name, which nobody asks
ASKED = re.compile(r'"((?:view|operate|page|stage|proposal)\.\w+)"')


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize(
    "planted", ["a.innerHTML = b", "eval(x)", "new Function(x)", "setTimeout('x', 1)", "document.cookie"]
)
def test_the_search_finds_what_makes_markup_or_code(planted):
    assert NEVER.search(planted)


def test_no_script_makes_markup_or_code_of_text_or_keeps_anything():
    assert len(SCRIPTS) > 5
    assert {name: NEVER.findall(text) for name, text in SCRIPTS.items() if NEVER.search(text)} == {}


def test_nothing_is_loaded_from_elsewhere():
    assert ELSEWHERE.search("url(//evil.example/x)") and ELSEWHERE.search("https://evil.example")
    for path in PAGE.iterdir():
        assert not ELSEWHERE.search(path.read_text().replace(SPACE, "")), path
        assert "@import" not in path.read_text() and "url(" not in path.read_text(), path


def test_the_page_itself_has_no_script_or_style_in_it():
    tags = Tags((PAGE / "index.html").read_text()).found
    assert not [tag for tag, told in tags if tag == "style" or "style" in told or any(key[:2] == "on" for key in told)]
    assert all(told.get("src") for tag, told in tags if tag == "script")
    named = [told.get("src") or told.get("href") for tag, told in tags if tag in ("script", "link")]
    assert named and all((PAGE / name).is_file() for name in named)
    labelled = {told["for"] for tag, told in tags if tag == "label"}
    assert {told["id"] for tag, told in tags if tag == "input"} <= labelled
    assert ("html", {"lang": "en"}) in tags


def test_it_asks_what_may_be_asked_and_all_of_it():
    asked = {function for text in SCRIPTS.values() for function in ASKED.findall(text)}
    assert asked == set(page_rights.FUNCTIONS)


def test_scripts_import_what_is_there():
    for name, text in SCRIPTS.items():
        for other in re.findall(r'from "\./([\w.]+)"', text):
            assert other in SCRIPTS, (name, other)
