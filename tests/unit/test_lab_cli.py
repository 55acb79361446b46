"""Bad words and bad cluster files at the lab's command line: one message each, before anything is made."""

import errno
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from docker.errors import APIError

from lab import cli
from lab.cli import main
from lab.errors import LabError

MINI = "tests/rig/mini.yaml"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("disks: {hdd: 1}", "dsiks: {hdd: 1}"), "unknown key 'dsiks': did you mean disks?"),
        (("first: 31", "first: 20"), "address given twice"),
    ],
)
def test_a_bad_cluster_file_is_refused(checkout: Path, tmp_path: Path, change: tuple[str, str], said: str) -> None:
    text = (checkout / MINI).read_text()
    assert change[0] in text
    (tmp_path / "mini.yaml").write_text(text.replace(*change))
    with pytest.raises(LabError, match=".") as refused:
        main(["up", str(tmp_path / "mini.yaml")])
    assert said in str(refused.value)


def test_a_command_without_words_is_refused() -> None:
    with pytest.raises(LabError, match="no command given"):
        main(["exec", "node1", "--cluster", "mini"])


def test_a_machine_without_dockers_client_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.daemon, "needed", lambda: None)
    monkeypatch.setattr(cli, "find", lambda name: name)
    monkeypatch.setattr(cli.containers, "find", lambda *_: SimpleNamespace(status="running", name="mini-node1"))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LabError, match="there is no program `docker`: install Docker's client"):
        main(["exec", "node1", "--cluster", "mini", "--", "true"])


@pytest.mark.parametrize("rate", ["0", "21", "nan"])
def test_a_load_that_the_machine_could_not_bear_is_refused(rate: str) -> None:
    with pytest.raises(LabError, match="expected a number from 0.1 to 20 turns a second"):
        main(["load", "start", "--rate", rate])


@pytest.mark.parametrize("names", ["nfs", "rados,Rbd", "rados, ,rdb"])
def test_a_load_of_unknown_clients_is_refused_before_a_lab_is_looked_for(names: str) -> None:
    with pytest.raises(LabError, match="there is no client '(nfs|Rbd|rdb)'; expected one or more of rados,rbd,cephfs"):
        main(["load", "start", "--clients", names, "--cluster", "nosuch"])


@pytest.mark.slow
def test_a_refusal_is_one_message(checkout: Path) -> None:
    argv = [sys.executable, "-m", "lab", "up", "nosuch"]
    done = subprocess.run(argv, cwd=checkout, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("lab: no cluster 'nosuch': expected one of apollo") and done.stderr.count("\n") == 1


def test_a_docker_daemon_that_fails_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(words: object) -> None:
        raise APIError("500 Server Error", explanation="no time for that")

    monkeypatch.setattr(cli, "main", down)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("lab", run_name="__main__")
    said = str(ended.value)
    assert said.startswith("lab: Docker: ") and "no time for that" in said and "Run the same again" in said


def test_a_full_disk_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(words: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/var/lib/halocline-lab/labs/tiny/lab.json.new")

    monkeypatch.setattr(cli, "main", full)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("lab", run_name="__main__")
    assert str(ended.value) == (
        "lab: [Errno 28] No space left on device: '/var/lib/halocline-lab/labs/tiny/lab.json.new'"
    )
