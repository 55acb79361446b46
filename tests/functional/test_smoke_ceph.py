"""A smoke test's clients of RBD and CephFS, its key and its record, with programs and a binding that are played."""

import json
import stat
import sys

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

NAME = "halocline-smoke"
KEY = "AQBKeYxnAAAAABAAq0aBcDeFgHiJkLmNoPqRsw=="
# Pools, namespaces and images are files; a key reaches its namespaces alone.
RBD = r"""
echo "rbd $*" >>{0}/asked
[ ! -e {0}/broken ] || {{ echo "rbd: error opening pool" >&2; exit 2; }}
case "$*" in
    "namespace ls --pool "*) echo "[$([ -d {0}/pool/$4 ] && echo '{{"name": "halocline-smoke"}}')]" ;;
    "namespace create --pool "*) mkdir {0}/pool/$4 ;;
    "namespace remove --pool "*) rmdir {0}/pool/$4 ;;
    "ls --format json "*) echo "[$([ -e {0}/pool/${{4%/*}}/image ] && echo '"image"')]" ;;
    "rm "*) rm {0}/pool/$(echo $2 | cut -d/ -f1)/image ;;
    *"import - "*) [ -s $4 ] && cat >{0}/pool/$(echo $7 | cut -d/ -f1)/image ;;
    *"export "*) cat {0}/pool/$(echo $6 | cut -d/ -f1)/image ;;
    *"rm "*) rm {0}/pool/$(echo $6 | cut -d/ -f1)/image ;;
    *) echo "what is $*" >&2; exit 22 ;;
esac
"""
CEPH = r"""
echo "ceph $*" >>{0}/asked
shift 2
case "$*" in
    "auth get-or-create client.halocline-smoke "*) printf '[client.halocline-smoke]\n\tkey = {1}\n' ;;
    "auth rm client.halocline-smoke") ;;
    "osd pool ls detail"*) cat {0}/pools ;;
    "config-key dump"*)
        [ -e {0}/record ] || exec echo '{{}}'
        python3 -c 'import json; print(json.dumps({{"halocline/smoke": open("{0}/record").read()}}))' ;;
    "config-key set"*) printf '%s' "$4" >{0}/record ;;
    "config-key rm"*) rm -f {0}/record ;;
    "osd dump"*) echo '{{"flags": "sortbitwise,pausewr,purged_snapdirs"}}' ;;
    "health"*) echo '{{"checks": {{"POOL_FULL": {{"summary": {{"message": "1 pool(s) full"}}}}, "X": {{}}}}}}' ;;
    *) echo "what is $*" >&2; exit 22 ;;
esac
"""


@pytest.fixture
def host(tmp_path, monkeypatch, python_module):
    """A host with the admin's key, of a cluster with two pools of images, and one that is erasure-coded."""
    for name, text in (("rbd", RBD), ("ceph", CEPH)):
        (tmp_path / name).write_text("#!/bin/sh\n" + text.format(tmp_path, KEY))
        (tmp_path / name).chmod(0o755)
    (tmp_path / "pool").mkdir()
    kinds = {"a": (1, "rbd"), "b": (1, "rbd"), "ec": (3, "rbd"), "files": (1, "cephfs")}
    pools = [
        {"pool_name": name, "type": kind, "application_metadata": {use: {}}} for name, (kind, use) in kinds.items()
    ]
    (tmp_path / "pools").write_text(json.dumps(pools))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(python_module("smoke"), "KEYRING", tmp_path / "run/keyring")
    monkeypatch.setattr(python_module("smoke_rbd"), "WATCHED", 0)
    return tmp_path


@pytest.mark.slow
def test_images_are_written_and_read_in_each_pool_of_images_by_a_key_of_the_tests_own(modules, host):
    modules["smoke.begin"](["rbd"])
    assert modules["smoke_rbd.attempt"]() == {"passed": ["pool a", "pool b"], "failed": [], "skipped": []}
    asked = (host / "asked").read_text()
    assert f"osd profile rbd pool=a namespace={NAME}, profile rbd pool=b namespace={NAME}\n" in asked
    assert "pool ec" not in asked and "pool=ec" not in asked and "files" not in asked
    assert KEY not in asked
    assert stat.S_IMODE((host / "run/keyring").stat().st_mode) == 0o600 and KEY in (host / "run/keyring").read_text()
    assert modules["smoke_rbd.clean"]() == [f"RBD namespace a/{NAME}", f"RBD namespace b/{NAME}"]
    assert modules["smoke.end"]() and not (host / "run/keyring").exists() and not (host / "record").exists()
    assert modules["smoke_rbd.clean"]() == []


def test_what_a_killed_test_left_of_images_goes(modules, host):
    (host / "pool/a").mkdir()
    (host / "pool/a/image").write_text("left")
    assert modules["smoke_rbd.clean"]() == [f"RBD namespace a/{NAME}"]
    assert list((host / "pool").iterdir()) == []


@pytest.mark.slow
def test_a_pool_that_fails_is_named_and_no_key_is(modules, host):
    (host / "pool/b").touch()  # no namespace can be made there
    told = modules["smoke_rbd.attempt"]()
    assert told["passed"] == ["pool a"] and told["failed"][0].startswith("pool b: 'rbd namespace create")
    (host / "broken").touch()
    with pytest.raises(CommandExecutionError, match="error opening pool") as err:
        modules["smoke_rbd.attempt"]()
    assert KEY not in str(err.value)


@pytest.mark.slow
def test_a_pool_whose_operations_wait_is_named_after_a_limit(modules, host, python_module, monkeypatch):
    monkeypatch.setattr(python_module("smoke_rbd"), "LIMIT", 0.5)
    (host / "rbd").write_text("#!/bin/sh\ncase $* in *create*) exec sleep 60 ;; esac\necho '[]'\n")
    told = modules["smoke_rbd.attempt"]()
    assert told["passed"] == [] and len(told["failed"]) == 2
    assert "did not end within 0.5 s: its operations wait" in told["failed"][0]


@pytest.mark.slow
def test_the_record_holds_what_both_runs_tried(modules, host):
    assert modules["smoke.left"]() == []
    modules["smoke.begin"](["s3"])
    modules["smoke.begin"](["rbd"])
    assert modules["smoke.left"]() == ["rbd", "s3"]


def test_a_paused_and_a_full_cluster_are_named(modules, host):
    assert modules["smoke.standing"]() == [
        "the flag pausewr is set: writes wait ('ceph osd dump')",
        "POOL_FULL: 1 pool(s) full",
    ]


# Ceph's binding as far as the program of smoke_cephfs goes: a file system is a folder.
CEPHFS = """
import os
from pathlib import Path

TOP = Path(os.environ["TOP"])


class ObjectExists(Exception):
    pass


class ObjectNotFound(Exception):
    pass


class LibCephFS:
    def __init__(self, conffile, auth_id):
        self.user = auth_id

    def conf_set(self, key, value):
        assert key != "keyring" or value == "/run/keyring"

    def mount(self, root, system):
        (TOP / "asked").open("a").write(f"{self.user} {root.decode()} {system.decode()}\\n")
        self.root = TOP / system.decode() / root.decode().strip("/")
        if not self.root.exists():
            raise ObjectNotFound("error calling ceph_mount: No such file or directory [Errno 2]")

    def path(self, path):
        return self.root / path.decode().strip("/")

    def mkdir(self, path, mode):
        if self.path(path).exists():
            raise ObjectExists
        self.path(path).mkdir()

    def rmdir(self, path):
        if not self.path(path).exists():
            raise ObjectNotFound
        self.path(path).rmdir()

    def unlink(self, path):
        if not self.path(path).exists():
            raise ObjectNotFound
        self.path(path).unlink()

    def open(self, path, flags, mode=0):
        return os.open(self.path(path), flags, mode)

    def write(self, file, text, offset):
        return os.pwrite(file, text, offset)

    def read(self, file, offset, length):
        return os.pread(file, length, offset)[len(os.environ.get("LOST", "")):]

    def fsync(self, file, data_only):
        os.fsync(file)

    def close(self, file):
        os.close(file)

    def shutdown(self):
        pass
"""


@pytest.fixture
def file_systems(tmp_path, monkeypatch, python_module):
    """Two file systems that are played, and the module that tries them."""
    (tmp_path / "cephfs.py").write_text(CEPHFS)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("TOP", str(tmp_path))
    module, keys = python_module("smoke_cephfs"), []
    salt = {"cluster_cli.ask": lambda words: [{"name": "one"}, {"name": "two"}]}
    salt["smoke.make_key"] = lambda caps: keys.append(caps) or "/run/keyring"
    with LoaderModuleMock({module: {"__salt__": salt, "PYTHON": sys.executable}}):
        yield module, keys, tmp_path


@pytest.mark.slow
def test_a_file_that_one_client_writes_another_reads_in_each_file_system(file_systems):
    module, keys, folder = file_systems
    assert module.attempt() == {"passed": ["file system one", "file system two"], "failed": []}
    assert f"{NAME} /{NAME} two\n{NAME} /{NAME} two\n" in (folder / "asked").read_text()
    assert keys[0]["mds"] == f"allow rw fsname=one path=/{NAME}, allow rw fsname=two path=/{NAME}"
    assert module.clean() == [f"directory /{NAME} of file system {name}" for name in ("one", "two")]
    assert module.clean() == [] and list((folder / "one").iterdir()) == []


@pytest.mark.slow
def test_a_file_system_that_fails_is_named_in_one_line(file_systems, monkeypatch):
    module, _, folder = file_systems
    (folder / "two").rmdir()
    told = module.attempt()
    assert told["passed"] == ["file system one"] and "\n" not in told["failed"][0]
    assert told["failed"][0].startswith("file system two: ") and "ObjectNotFound: error calling" in told["failed"][0]
    (folder / "two").mkdir()
    monkeypatch.setenv("LOST", "x")
    assert "what one client read is not what another one wrote" in module.attempt()["failed"][0]
