"""A lab's coming and going: killed half-way, made twice, from two checkouts, on bad input; and what is left then."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import settings
from lab.store import CHECKOUT

BIG = pytest.mark.big  # what is seen in one is not asked of all in `make test`
MINI = "tests/rig/mini.yaml"


def lab(*words: str, cwd: Path = CHECKOUT) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "lab", *words]
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)


def machine() -> dict[str, list[str]]:
    """What `mini` could leave on this machine. Other labs may come and go meanwhile, so only what bears its name."""

    def names(*argv: str) -> list[str]:
        said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        return sorted(line for line in said.splitlines() if "mini" in line)

    return {
        "loops": names("losetup", "-n", "-O", "BACK-FILE"),
        "containers": names("docker", "ps", "-a", "--format", "{{.Names}} {{.State}}"),
        "networks": names("docker", "network", "ls", "--format", "{{.Name}}"),
        "folders": names("ls", "/var/lib/halocline-lab/labs"),
    }


NOTHING = {"loops": [], "containers": [], "networks": [], "folders": []}


@pytest.fixture(autouse=True)
def gone() -> Iterator[None]:
    lab("down", "mini")
    assert machine() == NOTHING
    yield
    lab("down", "mini")
    assert machine() == NOTHING


@BIG
def test_up_twice_and_down() -> None:
    before = settings.snapshot()
    first = lab("up", MINI)
    assert first.returncode == 0, first.stderr
    there = machine()
    assert len(there["containers"]) == 2  # so a look that finds nothing afterwards can find something
    assert len(there["loops"]) == 1
    second = lab("up", MINI)
    assert (second.returncode, second.stderr) == (0, "mini is up: nothing to do.\n")
    assert machine() == there
    assert settings.changes(before, settings.snapshot()) == []


@pytest.mark.parametrize(
    "moment", ["boot", *(pytest.param(moment, marks=BIG) for moment in ("disks", "networks", "keys"))]
)
def test_killed_half_way_the_next_up_works(moment: str) -> None:
    signs = {
        "disks": lambda: machine()["loops"],
        "networks": lambda: machine()["networks"],
        "boot": lambda: machine()["containers"],
        "keys": lambda: len([line for line in machine()["containers"] if "running" in line]) == 2,
    }
    running = subprocess.Popen(
        [sys.executable, "-m", "lab", "up", MINI], cwd=CHECKOUT, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while not signs[moment]():
        assert running.poll() is None, "up ended before it could be killed"
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert machine() != NOTHING
    again = lab("up", MINI)
    assert again.returncode == 0, again.stderr
    assert "remove what is left of mini" in again.stderr
    assert json.loads(lab("exec", "--cluster", "mini", "saltmaster", "--", *PING).stdout) == {
        "node1": True,
        "saltmaster": True,
    }


PING = ("salt", "--static", "--out", "json", "*", "test.ping")


@BIG
def test_a_lab_whose_containers_died_is_made_anew() -> None:
    assert lab("up", MINI).returncode == 0
    subprocess.run("docker kill halocline-mini-saltmaster halocline-mini-node1", shell=True, check=True)
    assert lab("status", "mini").returncode == 1
    again = lab("up", MINI)
    assert again.returncode == 0, again.stderr
    assert "remove what is left of mini" in again.stderr


def copied(folder: Path) -> Path:
    """A checkout with all that the lab needs of one."""
    shutil.copytree(CHECKOUT / "lab", folder / "lab")
    for name in ("setup.cfg", "srv", "tests/rig"):
        copy = shutil.copytree if (CHECKOUT / name).is_dir() else shutil.copy
        copy(CHECKOUT / name, folder / name)
    return folder


@BIG
def test_a_checkout_that_was_removed_and_made_anew_is_told_of(tmp_path: Path) -> None:
    own = copied(tmp_path / "own")
    assert lab("up", MINI, cwd=own).returncode == 0
    shutil.rmtree(own)
    refused = lab("up", MINI, cwd=copied(own))
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert f"its master sees an empty folder: {own} was removed since, and made anew" in refused.stderr
    assert "`python -m lab down mini` ends it" in refused.stderr


@BIG
def test_another_checkout_is_refused_and_may_end_it(tmp_path: Path) -> None:
    copied(tmp_path)
    assert lab("up", MINI).returncode == 0
    refused = lab("up", str(CHECKOUT / MINI), cwd=tmp_path)
    assert refused.returncode == 1
    assert str(CHECKOUT) in refused.stderr
    assert "`python -m lab down mini` ends it" in refused.stderr
    assert lab("status", "mini", cwd=tmp_path).returncode == 0
    assert lab("down", "mini", cwd=tmp_path).returncode == 0
    assert machine() == NOTHING


@BIG
def test_keys_are_left_for_salt_key_where_asked() -> None:
    assert lab("up", MINI, "--no-accept").returncode == 0
    listed = lab("exec", "saltmaster", "--cluster", "mini", "--", "salt-key", "--out", "json").stdout
    assert json.loads(listed)["minions_pre"] == ["node1", "saltmaster"]
    assert json.loads(listed)["minions"] == []


def test_a_taken_subnet_is_refused() -> None:
    subprocess.run("ip link add mini0 type bridge && ip addr add 10.213.2.7/24 dev mini0", shell=True, check=True)
    try:
        done = lab("up", MINI)
    finally:
        subprocess.run("ip link del mini0", shell=True, check=True)
    assert done.returncode == 1
    assert "network cluster 10.213.2.0/24 overlaps 10.213.2.0/24 of mini0" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("shell", "node1", "--cluster", "mini"), "no lab named mini"),
        (("pull", "node1", "0", "--cluster", "mini"), "no lab named mini"),
    ],
)
def test_a_lab_that_is_not_there_is_one_message(words: tuple[str, ...], said: str) -> None:
    done = lab(*words)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
