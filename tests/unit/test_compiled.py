"""Pillars are looked at side by side in forked processes: the first wrong one is told, whoever found it."""

import os
import signal

import pytest

from proposals.text.errors import PolicyError
from runners.engine.master import compiled

MINIONS = [f"osd{number:03}" for number in range(100)]


@pytest.fixture(params=[1, 3, 64])
def processors(request, monkeypatch):
    """So many processors."""
    monkeypatch.setattr(os, "cpu_count", lambda: request.param)


@pytest.mark.slow
@pytest.mark.parametrize("minions", [[], MINIONS[:5], MINIONS])
def test_nothing_is_wrong(processors, minions):
    assert compiled.first(lambda _: "", minions) == ""


@pytest.mark.slow
@pytest.mark.parametrize("odd", [{"osd000"}, {"osd099"}, {"osd041", "osd042", "osd077"}])
def test_the_first_by_name_is_told_whoever_finds_it(processors, odd):
    told = compiled.first(lambda minion: f"{minion}: is odd" if minion in odd else "", MINIONS)
    assert told == f"{min(odd)}: is odd"


@pytest.mark.slow
def test_each_is_looked_at_once(processors, tmp_path):
    compiled.first(lambda minion: (tmp_path / minion).open("x").close() or "", MINIONS)
    assert sorted(path.name for path in tmp_path.iterdir()) == MINIONS


@pytest.mark.slow
@pytest.mark.parametrize("breaks", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: {}["gone"]])
def test_a_process_that_breaks_off_is_no_good_answer(breaks, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    with pytest.raises(PolicyError, match="a process that compiled pillars broke off"):
        compiled.first(lambda minion: breaks() if minion == "osd050" else "", MINIONS)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
