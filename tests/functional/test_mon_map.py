"""The monitors' first map, as a host's own Ceph takes it; its programs are played."""

import pytest
from salt.exceptions import CommandExecutionError

MON = """#!/bin/sh
case "$1" in
    --version) echo 'ceph version {version} (618f440892089921c3e944a991122ddc44e60516) {name} (stable)' ;;
    --mkfs) mkdir -p "$5"/store.db; echo >"$5"/store.db/CURRENT ;;
esac
"""
KEYS = {"aes": "AQCh4AlrAAAAABAASbG7FZgHyrfRd3ZgFUVKuA==", "aes256k": "AgBO4QlrqBYyHyAANN71OdEdpgERgMXtsO5y5TrSmEs="}


@pytest.fixture
def made(python_module, with_pillar, tmp_path, monkeypatch):
    """A function: what `monmaptool` is told on a host of this version, by whose Ceph keys are of one cipher, where the
    master's are of another."""
    module = python_module("mon")
    monkeypatch.setattr(module, "STORES", tmp_path / "mon")
    monkeypatch.setattr(module.shutil, "chown", lambda *_: None)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def tell(version, cipher="aes", key="aes"):
        (tmp_path / "monmaptool").write_text(f'#!/bin/sh\necho "$*" >{tmp_path}/told\n')
        (tmp_path / "ceph-mon").write_text(MON.format(version=version, name="name"))
        (tmp_path / "ceph-authtool").write_text(f"#!/bin/sh\necho {KEYS[cipher]}\n")
        for name in ("monmaptool", "ceph-mon", "ceph-authtool"):
            (tmp_path / name).chmod(0o755)
        monitors = [{"name": "node1", "addrs": "[v2:192.0.2.1:3300,v1:192.0.2.1:6789]"}]
        secrets = {"mon": f'[mon.]\n\tkey = {KEYS[key]}\n\tcaps mon = "allow *"\n'}
        modules = with_pillar(fsid="f", ceph={"monitors": monitors}, ceph_secrets=secrets)
        assert modules["mon.create"]() is True
        return (tmp_path / "told").read_text()

    return tell


@pytest.mark.parametrize(
    ("version", "oldest"),
    [("16.2.15", "pacific"), ("18.2.7", "pacific"), ("19.2.6", "quincy"), ("20.2.4", "reef"), ("30.2.0", "name")],
)
def test_the_oldest_release_is_two_before_its_own(made, version, oldest):
    """Monitors of 20.2.4 stop where the map says pacific; older ones than these two may join while hosts differ."""
    assert f"--set-min-mon-release {oldest} " in made(version)


@pytest.mark.parametrize(
    ("cipher", "key", "both"), [("aes", "aes", False), ("aes256k", "aes", True), ("aes256k", "aes256k", False)]
)
def test_keys_of_the_older_cipher_are_let_in_where_the_master_has_such(made, cipher, key, both):
    assert ("--auth-allowed-ciphers aes,aes256k" in made("20.2.4", cipher, key)) is both


def test_a_version_that_is_none_is_said(made):
    with pytest.raises(Exception, match=r"expected 'ceph version N\.N\.N .*, found 'ceph version dev"):
        made("dev")


def test_what_is_left_of_a_store_is_said_and_stays(made, tmp_path):
    """As of one whose database somebody took away: no store, and no empty place for one."""
    left = tmp_path / "mon/ceph-node1/keyring"
    left.parent.mkdir(parents=True)
    left.write_text("mine")
    with pytest.raises(CommandExecutionError, match=rf"{left.parent}.*Directory not empty.*move .* away"):
        made("16.2.15")
    assert left.read_text() == "mine"


def test_a_monitor_whose_store_is_a_mount_runs_on_until_it_is_unmounted(
    python_module, with_pillar, tmp_path, monkeypatch
):
    """It would be stopped, and its store stay where it is: no folder that is a mount can be moved."""
    module, store = python_module("mon"), tmp_path / "ceph-node1"
    (store / "store.db").mkdir(parents=True)
    (tmp_path / "systemctl").write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/told\n')
    (tmp_path / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(module, "STORES", tmp_path)
    monkeypatch.setattr(type(store), "is_mount", lambda path: path == store)
    modules = with_pillar(roles=["storage"])
    with pytest.raises(CommandExecutionError, match=f"umount {store}.*run this again"):
        modules["mon.retire"]()
    assert not (tmp_path / "told").exists() and (store / "store.db").is_dir()


def test_a_store_that_is_a_link_to_another_disk_is_moved_aside(python_module, with_pillar, tmp_path, monkeypatch):
    """A site has put it on a faster disk: the link can be moved, and its target stays."""
    module, store, fast = python_module("mon"), tmp_path / "mon/ceph-node1", tmp_path / "fast"
    (fast / "store.db").mkdir(parents=True)
    store.parent.mkdir()
    store.symlink_to(fast)
    (tmp_path / "systemctl").write_text("#!/bin/sh\n")
    (tmp_path / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(module, "STORES", store.parent)
    monkeypatch.setattr(type(store), "is_mount", lambda path: path.resolve() == fast)  # as pathlib's: it follows links
    modules = with_pillar(roles=["storage"])
    assert ".ceph-node1.removed-" in modules["mon.retire"]()
    assert not store.is_symlink() and (fast / "store.db").is_dir()
