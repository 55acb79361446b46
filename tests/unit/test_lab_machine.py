"""What the lab reads of the machine: settings, a dead daemon's pid file, what a cluster needs."""

import os
from pathlib import Path

import pytest

from lab import capacity, daemon, settings
from lab.cluster import parse, read
from lab.errors import LabError


def test_a_changed_setting_is_named_and_a_counter_is_not(tmp_path: Path) -> None:
    for name, value in (("vm/swappiness", "60"), ("fs/file-nr", "1"), ("kernel/pid_max", "7")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{value}\n")
    before = settings.snapshot(tmp_path)
    assert before == {"vm/swappiness": "60", "kernel/pid_max": "7"}
    (tmp_path / "vm/swappiness").write_text("10\n")
    (tmp_path / "fs/file-nr").write_text("2\n")
    assert settings.changes(before, settings.snapshot(tmp_path)) == ["vm/swappiness: 60 -> 10"]


@pytest.mark.parametrize("text", [str(os.getpid()), "4194000", "nonsense", None], ids=["other", "gone", "odd", "none"])
def test_only_a_pid_file_of_no_dockerd_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    file = tmp_path / "docker.pid"
    monkeypatch.setattr(daemon, "PID_FILE", file)
    if text is not None:
        file.write_text(text)
    daemon.forget_dead()
    assert file.exists() == (text == "nonsense")


def test_a_cluster_that_is_too_big_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = parse(*read("apollo"))
    needed, _ = capacity.needs(cluster)
    assert needed < 24 * 1024
    monkeypatch.setattr(capacity, "_free_memory", lambda: needed - 1)
    with pytest.raises(LabError, match=f"apollo needs {needed} MiB of memory; {needed - 1} MiB are free"):
        capacity.check_capacity(cluster)
