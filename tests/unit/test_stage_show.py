"""What a person sees of a stage's run, on a terminal and in a pipe."""

import io
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from runners.engine import answer
from runners.engine.runs import stage_show

ANSI = re.compile(r"\x1b\[[0-9?;]*[A-Za-z]")
LIVE = re.compile(r". ━{10}╺━{9} step 2 of 3: 0 of 100, 5 of 9 OSDs.*…")
HOSTS = [f"osdnode{number}" for number in range(1, 101)]
RECORDS = [
    {"event": "stage", "stage": "deploy", "user": "root", "jid": "1", "steps": ["stage.begin", "osd", "pools"]},
    {"event": "step", "step": "osd"},
    {"event": "job", "minions": HOSTS},
    {"event": "osd", "minion": "osdnode1", "made": 5, "failed": 0, "of": 9},
    {"event": "result", "step": "osd", "result": "failed", "reason": "\x1b[2Jno [bold]space"},
    {"event": "end", "result": "failed", "reason": "in step osd"},
]


@pytest.fixture
def log(tmp_path):
    """A run's log from noon on, a record a second."""
    path = tmp_path / "deploy.jsonl"
    stamp = "2026-11-22T12:00:{:02}+0000"
    lines = [json.dumps({"time": stamp.format(at), **record}) + "\n" for at, record in enumerate(RECORDS)]
    path.write_text("".join(lines[:4]))
    return SimpleNamespace(path=path, more=lambda: path.write_text("".join(lines)))


@pytest.fixture
def clock(monkeypatch, log):
    """A clock that only sleeping moves; the log's last records come 100 seconds after its first."""
    now = SimpleNamespace(time=1795348804.0)  # 2026-11-22 12:00:04 UTC

    def sleep(seconds):
        now.time += 5
        if now.time > 1795348900:
            log.more()

    monkeypatch.setattr(
        stage_show, "time", SimpleNamespace(time=lambda: now.time, monotonic=lambda: now.time, sleep=sleep)
    )


def test_in_a_pipe_there_are_plain_lines_and_few(log, clock, capsys):
    end = stage_show.follow(log.path, lambda: False)
    assert end["event"] == "end"
    waits = "osdnode1 (5 of 9), osdnode10 and 98 more hosts"
    assert capsys.readouterr().out.splitlines() == [
        "deploy: begun by root, job 1",
        "step 2 of 3: osd",
        "  osdnode1 5 of 9 OSDs",
        f"  … 0 of 100, 5 of 9 OSDs, 33 s, waits for {waits}",
        f"  … 0 of 100, 5 of 9 OSDs, 63 s, waits for {waits}",
        f"  … 0 of 100, 5 of 9 OSDs, 93 s, waits for {waits}",
        r"osd: \x1b[2Jno [bold]space",
    ]


def test_whoever_looks_in_late_is_told_once_and_not_for_each_half_minute(log, clock, capsys, monkeypatch):
    begun = stage_show.time.time()
    monkeypatch.setattr(stage_show.time, "time", lambda: begun + 3600)
    looks = iter([False, False, True, *[True] * 100])
    assert stage_show.follow(log.path, lambda: next(looks)) is None
    assert capsys.readouterr().out.count("… 0 of 100, 5 of 9 OSDs, 3603 s") == 1


@pytest.mark.slow
def test_on_a_terminal_a_bar_lives_below_the_lines(log, clock, monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(
        stage_show, "Console", lambda **more: Console(file=shown, force_terminal=True, width=60, **more)
    )
    monkeypatch.setattr(stage_show.sys, "stdout", SimpleNamespace(isatty=lambda: True))
    seen = []
    tick = stage_show._Terminal.tick

    def ticked(view, progress, now):
        tick(view, progress, now)
        task = view.bar.tasks[0]
        seen.append((task.total, round(task.completed, 2)))
        view.bar.refresh()

    monkeypatch.setattr(stage_show._Terminal, "tick", ticked)
    stage_show.follow(log.path, lambda: False)
    assert set(seen) == {(3, 1.56)}  # the first step, and of the second 5 of 9
    live = re.findall(r".*step 2 of 3: 0 of.*", ANSI.sub("", shown.getvalue()).replace("\r", "\n"))
    assert live and all(LIVE.fullmatch(line) and len(line) == 60 for line in live), live
    said = ANSI.sub("", shown.getvalue())
    assert "  osdnode1 5 of 9 OSDs\n" in said and "osd: \\x1b[2Jno [bold]space\n" in said


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_no_character_ends_what_is_shown(log, clock, monkeypatch, encoding, terminal):
    """The locale's encoding lacks most of them: a traceback ended the display, and the stage went on unwatched."""
    raw = io.BytesIO()
    stdout = io.TextIOWrapper(raw, encoding=encoding)
    stdout.isatty = lambda: terminal
    monkeypatch.setattr(stage_show.sys, "stdout", stdout)
    monkeypatch.setattr(stage_show, "Console", lambda **more: Console(force_terminal=terminal, width=60, **more))
    log.path.write_text(log.path.read_text().replace("osdnode100", "osdnode\u014d"))

    @answer.answers
    def shown():
        print("\u014d")
        return {"text": stage_show.follow(log.path, lambda: False)["event"]}

    assert shown()["text"] == "end"
    stdout.flush()
    said = raw.getvalue().decode(encoding)
    assert "osd: \\x1b[2Jno [bold]space" in said and ("\u014d\n" if encoding == "utf-8" else "\\u014d\n") in said
    if not terminal:
        assert f"  {'…' if encoding == 'utf-8' else '...'} 0 of 100" in said


def test_a_program_is_shown_nothing(log, clock, capsys):
    assert stage_show.follow(log.path, lambda: False, quiet=True)["result"] == "failed"
    assert Path(log.path).exists() and capsys.readouterr().out == ""
