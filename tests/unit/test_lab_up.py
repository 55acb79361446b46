"""What `up` puts into a node before it starts, and what a bare machine makes while Docker is installed."""

import io
import tarfile
from contextlib import nullcontext
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from lab import base, clean, containers, daemon, disks, fixtures, image, loops, salt, store, up
from lab.cluster import parse, read
from lab.errors import LabError
from lab.store import CHECKOUT, Lab

TINY = parse("tiny", read("tiny")[1])
WANTED = "etc/systemd/system/multi-user.target.wants"


@pytest.mark.parametrize(
    ("host", "units"), [("saltmaster", ["salt-master", "salt-minion"]), ("node1", ["salt-minion"])]
)
def test_a_nodes_salt_starts_with_it(host: str, units: list[str]) -> None:
    archives: list[bytes] = []
    container: Any = SimpleNamespace(put_archive=lambda _, archive: archives.append(archive))
    node = TINY.host(host)
    containers.put(container, {**salt.files(TINY, node), **salt.units(node)})
    with tarfile.open(fileobj=io.BytesIO(archives[0])) as tar:
        links = {entry.name: entry.linkname for entry in tar if entry.issym()}
        minion = tar.extractfile("etc/salt/minion_id")
        assert minion and minion.read() == host.encode()
    assert links == {f"{WANTED}/{unit}.service": f"/etc/systemd/system/{unit}.service" for unit in units}


def test_no_name_is_not_all_labs(monkeypatch: pytest.MonkeyPatch) -> None:
    """``lab down "$NAME"`` without a value takes none away."""
    removed: list[str] = []
    monkeypatch.setattr(up, "locked", nullcontext)
    monkeypatch.setattr(daemon, "running", lambda: "client")
    monkeypatch.setattr(up, "labs", list)
    monkeypatch.setattr(up.clean, "left", lambda _: {"tiny"})
    monkeypatch.setattr(up.clean, "remove", lambda _, lab: removed.append(lab))
    with pytest.raises(LabError, match="no lab named '' .there are: tiny"):
        up.down("")
    assert removed == []


@pytest.mark.parametrize("docker", [None, "/usr/sbin/dockerd"])
def test_only_a_machine_without_docker_makes_a_base_system_and_wheels_ahead(
    monkeypatch: pytest.MonkeyPatch, docker: str | None
) -> None:
    meanwhile, done = Event(), []

    def made(what: str) -> None:
        assert meanwhile.wait(10), "what is ahead was waited for"
        done.append(what)

    monkeypatch.setattr(image.shutil, "which", lambda _: docker)
    monkeypatch.setattr(daemon, "install_missing", lambda programs: done.append(*programs))
    monkeypatch.setattr(base, "make", lambda: made("system"))
    monkeypatch.setattr(image, "wheelhouse", lambda: made("wheels"))
    with image.ahead():
        meanwhile.set()
    assert sorted(done) == ([] if docker else ["mmdebstrap", "system", "wheels"])


def test_what_cannot_be_made_ahead_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> Path:
        raise LabError("no wheels")

    monkeypatch.setattr(image.shutil, "which", lambda _: None)
    monkeypatch.setattr(daemon, "install_missing", lambda _: None)
    monkeypatch.setattr(base, "make", lambda: None)
    monkeypatch.setattr(image, "wheelhouse", fails)
    with pytest.raises(LabError, match="no wheels"), image.ahead():
        pass


@pytest.mark.parametrize(("checkout", "may"), [(str(CHECKOUT), True), ("/", False), ("/removed/since", True)])
def test_tests_end_no_lab_that_another_checkout_works_with(
    monkeypatch: pytest.MonkeyPatch, checkout: str, may: bool
) -> None:
    monkeypatch.setattr(fixtures, "labs", lambda: [Lab("tiny", checkout, ""), Lab("apollo", "/", "")])
    assert fixtures.ours("tiny") is may and fixtures.ours("nosuch")


def test_the_labs_folder_has_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set apart in one place is set apart in all: no loop device of a running lab is let go of."""
    (tmp_path / "labs/mini").mkdir(parents=True)
    monkeypatch.setattr(store, "LABS", tmp_path / "labs")
    monkeypatch.setattr(loops, "attached", lambda below: {below / "mini/disks/n/0.img": "loopX"})
    let_go: list[str] = []
    monkeypatch.setattr(loops, "detach", let_go.append)
    client: Any = SimpleNamespace(
        containers=SimpleNamespace(list=lambda **_: []), networks=SimpleNamespace(list=lambda **_: [])
    )
    assert clean.left(client) == {"mini"}
    assert (disks.remove_all(frozenset({"mini"})), disks.remove_all(frozenset())) == ([], ["loopX"])
    assert let_go == ["loopX"]
