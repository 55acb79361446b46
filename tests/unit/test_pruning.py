"""What the product itself leaves on a master: the newest are kept, what is served always."""

import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from proposals.files import pruning
from proposals.files.site import Site
from proposals.pillar import generation_disk
from proposals.text.errors import StoreError


def made(folder: Path, count: int) -> list[Path]:
    """Folders with a file each, the oldest first."""
    paths = [folder / f"{number:02}" for number in range(count)]
    for age, path in enumerate(paths):
        path.mkdir(parents=True)
        (path / "file").touch()
        os.utime(path, (age, age))
    return paths


def test_the_newest_stay(tmp_path: Path) -> None:
    paths = made(tmp_path, 5)
    (tmp_path / "log").touch()  # newer than all
    assert pruning.prune(tmp_path.iterdir(), 3) == [paths[2], paths[1], paths[0]]
    assert {path.name for path in tmp_path.iterdir()} == {"03", "04", "log"}


def test_an_interrupted_removal_leaves_no_half_folder_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = made(tmp_path, 2)

    def killed(folder: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(StoreError, match="cannot remove .*00: Input/output error"):
        pruning.prune(tmp_path.iterdir(), 1)
    assert not paths[0].exists() and paths[1].exists()


def test_what_a_killed_removal_left_is_in_nobodys_way(tmp_path: Path) -> None:
    """A generation is made again under the same name, and pruned again."""
    paths = made(tmp_path, 2)
    made(tmp_path / ".00.old", 1)
    assert pruning.prune(paths, 1) == [paths[0]]
    assert list(tmp_path.iterdir()) == [paths[1]]


def test_the_served_generation_stays_however_old_it_is(tmp_path: Path) -> None:
    site = Site(tmp_path, tmp_path)
    paths = made(site.generations, 6)
    site.current.symlink_to(paths[0])
    assert generation_disk.prune(site, keep=2) == ["03", "02", "01"]
    assert {path.name for path in site.generations.iterdir()} == {"00", "04", "05"}
    assert generation_disk.prune(site, keep=2) == []


def test_a_generation_that_is_no_longer_served_leads_to_no_secrets(tmp_path: Path) -> None:
    """Salt lists each file that a link leads to, for each pillar."""
    site = Site(tmp_path / "site", tmp_path / "shipped")
    (site.root / "stack/ceph").mkdir(parents=True)
    site.secrets.mkdir()
    generation = SimpleNamespace(name="01", files={"cluster/a.sls": "", "stack/default/ceph/minions/a.yml": ""})
    old = generation_disk.prepare(site, generation)
    links = {path for path in old.rglob("*") if path.is_symlink()}
    generation_disk.serve(site, generation_disk.prepare(site, SimpleNamespace(name="02", files=generation.files)))
    generation_disk.prune(site)
    assert {path.name for path in old.rglob("*") if path.is_symlink()} == {"assignment.cfg", "stack.cfg"}
    assert generation_disk.prepare(site, generation) == old
    assert {path for path in old.rglob("*") if path.is_symlink()} == links


@pytest.mark.parametrize(("hosts", "kept"), [(4, 20), (25, 20), (50, 10), (100, 5), (300, 1), (1000, 1), (0, 20)])
def test_fewer_generations_are_kept_where_they_have_many_files(hosts: int, kept: int) -> None:
    files = {f"cluster/{number}.sls": "" for number in range(2 * hosts)}
    assert generation_disk.kept(SimpleNamespace(files=files)) == kept


def test_the_generation_before_the_one_that_is_served_stays(tmp_path: Path) -> None:
    """Its links went last, so that the older one counted as newer: of two kept, the one to go back to was removed."""
    site = Site(tmp_path, tmp_path)
    for name in ("00", "01", "02"):
        folder = generation_disk.prepare(site, SimpleNamespace(name=name, files={"cluster/a.sls": ""}))
        time.sleep(0.02)  # a folder's time of change goes by the kernel's tick; configure compiles every pillar here
        generation_disk.serve(site, folder)
        generation_disk.prune(site, keep=1)
        time.sleep(0.02)
    assert sorted(path.name for path in site.generations.iterdir()) == ["01", "02"]
    assert [path.name for path in site.generations.iterdir() if (path / "secrets").is_symlink()] == ["02"]


def test_what_a_killed_configure_had_begun_goes(tmp_path: Path) -> None:
    """Salt would list its files for each pillar, and no generation ever has its name."""
    site = Site(tmp_path, tmp_path)
    served, old = made(site.generations, 2)
    site.current.symlink_to(served)
    killed = site.generations / ".0123.abcd"
    (killed / "cluster").mkdir(parents=True)
    (killed / "cluster/a.sls").touch()
    (site.generations / f".{killed.name}.old/cluster").mkdir(parents=True)
    assert generation_disk.prune(site, keep=1) == []
    assert sorted(site.generations.iterdir()) == [served, old]
