"""The install command on a master that runs as another user than root, as Salt's own packages set it up."""

import os
import pwd
from pathlib import Path

import pytest
from test_install import install, main, typed

__all__ = ["install", "main", "typed"]  # fixtures
USER = "nobody"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def told(tmp_path):
    """The site's configuration of that master; its pillar root and logs are below tmp_path."""
    text = f"user: {USER}\npillar_roots: {{base: [{tmp_path}/pillar]}}\nhalocline_log_dir: {tmp_path}/log/halocline\n"
    (tmp_path / "etc/master.d").mkdir(parents=True, exist_ok=True)
    (tmp_path / "etc/master").write_text(text)


def owner(path):
    return pwd.getpwuid(path.lstat().st_uid).pw_name


@pytest.mark.slow
def test_where_the_master_writes_is_its_users(typed, told, tmp_path):
    typed(tmp_path / "checkout")
    made = {
        path: (owner(path), path.stat().st_mode & 0o777) for path in (tmp_path / "pillar/ceph", *tmp_path.glob("log/*"))
    }
    assert made == {tmp_path / "pillar/ceph": (USER, 0o755), tmp_path / "log/halocline": (USER, 0o750)}
    assert {owner(tmp_path / name) for name in ("pillar", "log", "home/README.md", "etc/master")} == {"root"}


@pytest.mark.slow
def test_what_lies_there_is_given_with_its_mode_and_nothing_beyond(typed, told, tmp_path):
    ceph = tmp_path / "pillar/ceph"
    (ceph / "keys").mkdir(parents=True, mode=0o700)
    (ceph / "keys/keys.json").touch(0o600)
    (ceph / "theirs").touch()
    os.chown(ceph / "theirs", 1, 1)
    beyond = tmp_path / "beyond"
    (beyond / "folder").mkdir(parents=True)
    for name in ("file", "folder/file"):
        (beyond / name).touch()
    (ceph / "link").symlink_to(beyond / "file")
    (ceph / "folder").symlink_to(beyond / "folder")
    (ceph / "hard").hardlink_to(beyond / "file")
    os.mkfifo(ceph / "pipe")
    typed(tmp_path / "checkout")
    assert {owner(path) for path in (ceph / "keys", ceph / "keys/keys.json")} == {USER}
    assert [path.stat().st_mode & 0o777 for path in (ceph / "keys", ceph / "keys/keys.json")] == [0o700, 0o600]
    assert (ceph / "theirs").stat().st_uid == 1
    assert {owner(path) for path in (beyond, *beyond.rglob("*"), ceph / "pipe")} == {"root"}


@pytest.mark.slow
def test_a_folder_that_is_a_link_or_is_not_ours_by_its_name_is_named_and_left(typed, told, tmp_path, capsys):
    (tmp_path / "else").mkdir()
    (tmp_path / "pillar").mkdir()
    (tmp_path / "pillar/ceph").symlink_to(tmp_path / "else")
    config = tmp_path / "etc/master"
    config.write_text(config.read_text().replace("/log/halocline", "/log"))
    typed(tmp_path / "checkout")
    said = capsys.readouterr().out
    assert all(f"not touched: {tmp_path}/{name}; the master runs as {USER}" in said for name in ("pillar/ceph", "log"))
    assert owner(tmp_path / "else") == "root" and not (tmp_path / "log").exists()


@pytest.mark.slow
def test_a_user_that_is_none_is_refused_before_anything_is_written(typed, told, install, tmp_path):
    config = tmp_path / "etc/master"
    config.write_text(config.read_text().replace(USER, "no-such-user"))
    with pytest.raises(install[0].InstallError, match="this host has no such user"):
        typed(tmp_path / "checkout")
    assert not (tmp_path / "home").exists()


@pytest.mark.slow
def test_a_master_of_roots_makes_nothing(typed, told, tmp_path):
    config = tmp_path / "etc/master"
    config.write_text(config.read_text().replace(f"user: {USER}\n", ""))
    typed(tmp_path / "checkout")
    assert not Path(tmp_path / "pillar").exists() and not Path(tmp_path / "log").exists()
