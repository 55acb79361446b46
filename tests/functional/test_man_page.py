"""``man halocline``: read by groff without a complaint, of a size that is read, and with every noun and verb."""

import os
import subprocess
from pathlib import Path

import pytest

from docs.generate.functions import runners
from docs.generate.shells import _roff
from lab import daemon

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "srv/man/halocline.1"


@pytest.fixture(scope="module")
def printed():
    """The page as a terminal of 80 columns shows it, and what groff has to say of it."""
    daemon.install_missing({"groff": "groff-base"})
    words = ["groff", "-man", "-ww", "-Tutf8", "-P-c", "-P-b", "-P-u", "-K", "utf8", str(PAGE)]
    return subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})


@pytest.mark.slow
def test_it_is_read_without_a_complaint(printed):
    assert printed.stderr == "" and printed.stdout.startswith("HALOCLINE(1)")


@pytest.mark.slow
def test_every_noun_and_verb_stands_in_it_once_and_it_is_no_book(printed):
    words = printed.stdout.replace("‐\n", "").split()
    nouns = {each.name.partition(".")[0] for each in runners().values() if each.examples}
    assert len(nouns) > 30 and nouns <= set(words)
    assert {"peek", "populate", "explain", "halocline.doctor"} <= set(words)
    assert len(printed.stdout.splitlines()) < 350


@pytest.mark.slow
def test_man_finds_it_where_the_installer_puts_it(tmp_path):
    daemon.install_missing({"man": "man-db"})
    (tmp_path / "man1").mkdir()
    (tmp_path / "man1/halocline.1").write_text(PAGE.read_text())
    env = {"PATH": os.environ["PATH"], "MANPATH": str(tmp_path), "LC_ALL": "C.UTF-8", "MANPAGER": "cat"}
    done = subprocess.run(["man", "halocline"], env=env, capture_output=True, text=True, check=True)
    assert "plans and deploys Ceph with Salt" in done.stdout


@pytest.mark.parametrize("text", [".SH x", "'x", "a\\b", '"'])
def test_no_word_is_a_command_of_troff(text):
    made = _roff(text)
    assert not made.startswith((".", "'")) and "\\b" not in made.replace("\\eb", "") and not made.startswith('"')
