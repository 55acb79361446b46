"""Who holds the lock of stages, where the disk below it takes nothing."""

import contextlib
import os
import resource

import pytest

from proposals.text.errors import StoreError
from runners.engine.runs import one_at_a_time, stage_lock


@pytest.fixture
def opts(tmp_path):
    return {"cachedir": str(tmp_path)}


@contextlib.contextmanager
def full():
    """No file grows, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def own():
    return {"pid": os.getpid(), "born": stage_lock.born(os.getpid()), "stage": "deploy", "jid": "1"}


def test_a_first_note_that_cannot_be_written_is_one_message(opts, tmp_path):
    with full(), pytest.raises(StoreError, match=rf"^cannot write {tmp_path}/halocline/stage.json: File too large$"):
        stage_lock.note(opts, own())
    assert list((tmp_path / "halocline").iterdir()) == []


@pytest.mark.slow
def test_a_stage_goes_on_where_its_note_cannot_be_written_anew(opts, monkeypatch):
    stage_lock.note(opts, own())
    with full():
        stage_lock.keep(opts, "made", (1, 2))
        stage_lock.keep(opts, "other", True)
    assert (stage_lock.kept(opts, "made"), stage_lock.kept(opts, "other")) == ([1, 2], True)
    child = os.fork()
    if not child:  # another process reads what the disk has: who it is, and no more
        os._exit("made" in stage_lock.noted(opts) or stage_lock.noted(opts)["stage"] != "deploy")
    assert os.waitpid(child, 0)[1] == 0
    stage_lock.keep(opts, "third", 3)
    assert stage_lock._UNWRITTEN == {} and stage_lock.kept(opts, "made") == [1, 2]


@pytest.mark.parametrize(("spoiled", "verb"), [("halocline", "make"), ("halocline/stage.lock/x", "write")])
def test_a_lock_that_cannot_be_made_is_one_message(opts, tmp_path, spoiled, verb):
    (tmp_path / spoiled).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / spoiled).touch()
    with pytest.raises(StoreError, match=rf"^cannot {verb} {tmp_path}/halocline"):
        stage_lock._lock(opts)


def test_a_command_that_runs_alone_needs_no_room(opts, tmp_path):
    with full(), one_at_a_time.alone(opts, "osd.migrate"), pytest.raises(one_at_a_time.Busy, match="^osd.migrate is"):
        one_at_a_time.alone(opts, "osd.migrate").__enter__()
    (tmp_path / "halocline/smoke.test.lock").mkdir()
    with pytest.raises(StoreError, match="^cannot write .*/smoke.test.lock: Is a directory"):
        one_at_a_time.alone(opts, "smoke.test").__enter__()
