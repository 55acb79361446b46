"""``salt-run master.*`` by Salt's own loader of runners: a real age, a site of its own, monitors that are played."""

import dataclasses
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
from saltmaster import Master

from lab import daemon
from proposals.files.site import site
from proposals.pillar import backup as backups
from proposals.pillar import secrets
from runners.engine.master import backing_up, restoring
from runners.engine.page import page_config
from runners.engine.runs import one_at_a_time, stage_lock

FSID = "5d71d314-c738-8774-a70a-295e4ecab6c8"
MONITORS = "[v2:192.0.2.1:3300,v1:192.0.2.1:6789]"
NAMES = ("mon.", "client.admin", "client.bootstrap-osd", "client.a", "mgr.node1")
KEYS = {name: secrets.new_key() for name in NAMES} | {"dashboard.admin": "a-password-of-some-length"}
# What a monitor answers: it reads the key that it is asked with, and refuses one that is not the cluster's.
CEPH = """#!/bin/sh
set -eu
[ -z "${SILENT-}" ] || { echo 'x [errno 110] RADOS timed out (error connecting to the cluster)' >&2; exit 1; }
while [ "$1" != --keyring ]; do shift; done
grep -qF "$(cat FOLDER/mon)" "$2" || { echo '[errno 13] RADOS permission denied' >&2; exit 13; }
case "$*" in *fsid) cat FOLDER/fsid;; *"auth ls") cat FOLDER/auth;; *) exit 22;; esac
"""


def keygen(path):
    subprocess.run(["age-keygen", "-o", path], check=True, capture_output=True)
    return subprocess.run(["age-keygen", "-y", path], check=True, capture_output=True, text=True).stdout.strip()


class Place:
    """A master with a site, Salt's keys and a folder for archives; the monitors of its cluster."""

    def __init__(self, master, folder, monkeypatch):
        self.root, self.opts, self.folder = master.root, master.opts(), folder
        self.runners = master.runners()
        self.paths = site(self.opts)
        self.pki, self.etc = Path(self.opts["pki_dir"]), folder / "etc-ceph"
        self.archives = folder / "archives"
        self.archives.mkdir()
        self.private = folder / "backup.key"
        self.public = keygen(self.private)
        monkeypatch.setattr(backing_up, "here", self.here)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        (folder / "ceph").write_text(CEPH.replace("FOLDER", str(folder)))
        (folder / "ceph").chmod(0o755)
        self.cluster(KEYS)

    def here(self, opts):
        """As the runner has it, /etc/ceph apart."""
        made = HERE(opts)
        made.folders["ceph"] = made.folders["ceph"]._replace(path=self.etc)
        return made

    def cluster(self, keys, fsid=FSID):
        """What the monitors hold."""
        entries = [{"entity": name, "key": key} for name, key in keys.items() if "." in name and name != "mon."]
        entries = [each for each in entries if secrets.is_entity(each["entity"])]
        (self.folder / "auth").write_text(json.dumps({"auth_dump": entries}))
        (self.folder / "fsid").write_text(json.dumps({"fsid": fsid}))
        (self.folder / "mon").write_text(keys["mon."])

    def fill(self):
        """A site as configure leaves it."""
        paths = self.paths
        for folder in (paths.keys.parent, paths.given, paths.secrets, paths.inventory, paths.proposals, self.etc):
            folder.mkdir(parents=True, exist_ok=True)
        served = paths.generations / "0123456789abcdef"
        (served / "stack/default/ceph").mkdir(parents=True)
        (served / "cluster").mkdir()
        (served / "stack/default/ceph/cluster.yml").write_text(yaml.safe_dump({"fsid": FSID}))
        (served / "stack/default/ceph/derived.yml").write_text(yaml.safe_dump({"ceph": {"mon_host": MONITORS}}))
        (served / "stack.cfg").symlink_to(paths.shipped / "stack.cfg")
        (served / "secrets").symlink_to(paths.secrets)
        paths.current.symlink_to(served)
        (paths.root / "cluster").symlink_to(paths.current / "cluster")
        (paths.proposals / "policy.cfg").write_text("cluster-ceph/cluster/*.sls\n")
        os.utime(paths.proposals / "policy.cfg", (1_700_000_000, 1_700_000_000))
        (paths.inventory / "node1.json").write_text("{}")
        paths.keys.write_text(json.dumps(KEYS))
        (paths.given / "hook").write_text("a-hook\n")
        told = {"ceph_secrets": {"keyring/client.a": f"[client.a]\n\tkey = {KEYS['client.a']}\n"}}
        (paths.secrets / "client1.yml").write_text(yaml.safe_dump(told))
        for path in (paths.keys, paths.given / "hook", paths.secrets / "client1.yml"):
            path.chmod(0o600)
        for folder in (paths.keys.parent, paths.given, paths.secrets):
            folder.chmod(0o700)
        (self.root / "salt/site").mkdir(parents=True, exist_ok=True)
        (self.root / "salt/site/own.sls").write_text("{}\n")
        (self.pki / "minions").mkdir(parents=True, exist_ok=True)
        (self.pki / "master.pem").write_text("the old master's private key\n")
        (self.pki / "minions/node1").write_text("node1's key\n")
        (self.etc / "ceph.conf").write_text("[global]\n")

    def lose(self):
        """The host is gone: a fresh one has the product, and keys of Salt's that it made itself."""
        for path in (self.paths.root, self.root / "salt/site", self.etc, self.pki):
            shutil.rmtree(path, ignore_errors=True)
        for path in self.pki.parent.glob(f"{self.pki.name}.before-restore.*"):
            shutil.rmtree(path)
        self.pki.mkdir(parents=True)
        (self.pki / "master.pem").write_text("a fresh private key\n")

    def backup(self, **named):
        words = {"recipient": self.public, "folder": str(self.archives)} | named
        return self.runners["master.backup"](**words)

    def made(self, **named):
        done = self.backup(**named)
        assert "error" not in done, done
        return max(self.archives.iterdir(), key=lambda path: path.stat().st_mtime_ns)

    def restore(self, archive, **named):
        words = {"archive": str(archive), "identity": str(self.private)} | named
        return self.runners["master.restore"](**words)

    def state(self):
        """All that a restore could write: what lies where, with content, mode and time."""
        found = {}
        for top in (self.root / "pillar", self.root / "salt", self.etc, self.pki.parent / self.pki.name):
            for path in [top, *sorted(top.rglob("*"))]:
                if os.path.lexists(path) and ".before-restore." not in str(path):
                    about = path.lstat()
                    file = path.is_file() and not path.is_symlink()
                    content = path.read_bytes() if file else str(path.readlink()) if path.is_symlink() else None
                    found[str(path)] = (content, about.st_mode, about.st_mtime_ns if file else None)
        return found

    def refused(self, archive, *said, **named):
        """A restore says no, by name, and nothing was written anywhere."""
        before = self.state()
        done = self.restore(archive, **named)
        assert done.get("retcode") == 2, done
        for word in said:
            assert word in done["error"], done
        assert not [key for key in KEYS.values() if key in json.dumps(done)]
        assert self.state() == before

    def forged(self, change, content=b"x"):
        """An archive made by another hand, its manifest changed."""
        made = self.here(self.opts)
        told = backups.manifest(made, "now", {"fsid": FSID, "mon_host": MONITORS}, [], [])
        told["entries"] = change(told) or told["entries"]
        path = self.folder / "forged.age"
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            add(archive, "manifest.json", json.dumps(told).encode())
            for entry in told["entries"]:
                member = tarfile.TarInfo(entry["path"])
                kinds = {"folder": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}
                member.type, member.linkname = kinds.get(entry["kind"], tarfile.REGTYPE), entry.get("target", "")
                member.size = len(content) if entry["kind"] == "file" else 0
                archive.addfile(member, io.BytesIO(content))
        subprocess.run(["age", "-r", self.public, "-o", path], input=packed.getvalue(), check=True)
        return path


HERE = backing_up.here


def add(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


@pytest.fixture(scope="module")
def master(salt_factories):
    daemon.install_missing({"age": "age", "age-keygen": "age"})
    return salt_factories.salt_master_daemon("backup", factory_class=Master)


@pytest.fixture
def place(master, tmp_path, monkeypatch):
    made = Place(master, tmp_path, monkeypatch)
    made.lose()
    made.fill()
    return made


@pytest.mark.slow
def test_a_lost_master_is_brought_back_as_it_was(place):
    before = place.state()
    archive = place.made()
    assert archive.stat().st_mode & 0o777 == 0o600
    packed = archive.read_bytes()
    assert KEYS["mon."].encode() not in packed and b"policy.cfg" not in packed
    place.lose()
    fresh = place.state()
    told = place.restore(archive, test=True)["text"]
    assert "would put in place: " in told and "pillar/ceph" in told and place.state() == fresh
    done = place.restore(archive)
    # The drop-in of a fresh host's installer hides what the old master's own file says.
    then = "python3 /srv/halocline/srv/install && systemctl enable --now salt-master salt-minion"
    assert f"restored; take the private key away, then: {then}" in done["text"], done
    assert place.state() == before
    (aside,) = place.pki.parent.glob(f"{place.pki.name}.before-restore.*")
    assert (aside / "master.pem").read_text() == "a fresh private key\n" and str(aside) in done["text"]
    assert not list(place.root.rglob(".restore.*"))
    assert "nothing to restore" in place.restore(archive)["text"]


@pytest.mark.slow
def test_no_key_is_told_and_none_is_an_argument(place, monkeypatch):
    seen = []
    started = subprocess.Popen.__init__

    def noted(self, words, *more, **named):
        seen.append(json.dumps([list(words), dict(named.get("env") or os.environ)], default=str))
        started(self, words, *more, **named)

    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    archive = place.made()
    place.lose()
    done = place.restore(archive)
    private = next(line for line in place.private.read_text().splitlines() if line.startswith("AGE-SECRET"))
    logs = "".join(path.read_text() for path in (place.root / "run-logs").glob("master.*.jsonl"))
    assert any('"age"' in words for words in seen) and any('"ceph"' in words for words in seen)
    told = [*seen, json.dumps(done), logs]
    assert not [text for text in told for key in (private, "AGE-SECRET", *KEYS.values()) if key in text]


@pytest.mark.slow
def test_as_many_as_asked_are_kept_and_no_other_file(place):
    name = place.opts["id"].removesuffix("_master")
    other = place.archives / f"halocline-{name}-2-20200101T000000.tar.gz.age"  # of the master NAME-2
    other.touch()
    for day in range(4):
        old = place.archives / f"halocline-{name}-2020010{day}T000000.tar.gz.age"
        old.touch()
        os.utime(old, (day, day))
    newest = place.made(keep=2)
    kept = sorted(path.name for path in place.archives.iterdir())
    assert kept == sorted([other.name, newest.name, f"halocline-{name}-20200103T000000.tar.gz.age"])


@pytest.mark.slow
def test_what_was_just_written_stays_whatever_a_wrong_clock_gave_the_others(place):
    name = place.opts["id"].removesuffix("_master")
    for day in (1, 2):
        old = place.archives / f"halocline-{name}-2090010{day}T000000.tar.gz.age"
        old.touch()
        os.utime(old, (4_000_000_000 + day,) * 2)
    done = place.backup(keep=2)
    kept = sorted(path.name for path in place.archives.iterdir())
    assert kept == [Path(next(iter(done["text"].split(": ")))).name, f"halocline-{name}-20900102T000000.tar.gz.age"]


@pytest.mark.slow
@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}"])
def test_without_the_clusters_keys_there_is_no_backup(place, text):
    """Or the good ones would go, one after the other, for archives that bring no master back."""
    good = place.made()
    place.paths.keys.unlink() if text is None else place.paths.keys.write_text(text)
    for done in (place.backup(keep=1), place.backup(test=True)):
        assert done["retcode"] == 2 and str(place.paths.keys) in done["error"], done
    assert list(place.archives.iterdir()) == [good]
    rotated = place.runners["secret.rotate"]("client.a")
    assert rotated["retcode"] == 2, rotated


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["stack/ceph/cluster.yml", "stack/global.yml"])
def test_the_sites_own_files_have_the_last_word_on_the_fsid(place, layer):
    own = FSID.replace("5", "7")
    served = place.paths.current / ("site" if layer == "stack/global.yml" else "stack/ceph")
    served.symlink_to((place.paths.root / layer).parent)
    (place.paths.root / layer).parent.mkdir(parents=True, exist_ok=True)
    (place.paths.root / layer).write_text(f"fsid: {own}\n")
    archive = place.made()
    place.lose()
    place.cluster(KEYS, own)
    assert f"of cluster {own}" in place.restore(archive)["text"]


@pytest.mark.slow
@pytest.mark.parametrize("named", [{"folder": "/nowhere"}, {"recipient": "/nowhere"}])
def test_each_backup_that_fails_is_noted(place, named):
    """A folder that is not mounted, say."""
    said = place.backup(**named)["error"]
    log = (place.root / "run-logs/master.backup.jsonl").read_text()
    noted = json.loads(log.splitlines()[-1])
    assert (noted["event"], noted["why"]) == ("failed", said)


@pytest.mark.slow
def test_a_key_that_age_passes_over_is_refused(place):
    """Whoever has it would believe that the archive is for them too."""
    lines = [place.public]
    for kind in ("ed25519", "ecdsa"):
        path = place.folder / kind
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path], check=True)
        lines.append(path.with_suffix(".pub").read_text().strip())
    (place.folder / "both.pub").write_text("\n".join(lines[:2]) + "\n")
    (place.folder / "all.pub").write_text("\n".join(lines) + "\n")
    place.made(recipient=str(place.folder / "both.pub"))
    (good,) = place.archives.iterdir()
    done = place.backup(recipient=str(place.folder / "all.pub"))
    assert done["retcode"] == 2 and "ecdsa-sha2-nistp256" in done["error"] and "at line 3" in done["error"], done
    assert list(place.archives.iterdir()) == [good]


@pytest.mark.slow
def test_what_a_killed_backup_left_goes(place):
    name = place.opts["id"].removesuffix("_master")
    killed = place.archives / f".halocline-{name}-20200101T000000.tar.gz.age.part"
    killed.touch()
    place.made()
    assert not killed.exists()


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"recipient": "age1short"}, "is no public key of age"),
        ({"recipient": "/nowhere"}, "cannot be read (No such file or directory)"),
        ({"folder": "/nowhere"}, "is no folder of the master"),
        ({"folder": "archives"}, "is no folder of the master"),
        ({"keep": 0}, "a whole number of at least 1"),
    ],
)
def test_what_is_not_backed_up(place, named, said):
    """And why stands in the log: what a schedule runs nobody sees."""
    done = place.backup(**named)
    assert done["retcode"] == 2 and said in done["error"], done
    assert list(place.archives.iterdir()) == []
    last = json.loads((place.root / "run-logs/master.backup.jsonl").read_text().splitlines()[-1])
    assert (last["event"], last["why"]) == ("failed", done["error"])


def test_a_private_key_is_no_recipient(place):
    secret = place.private.read_text().splitlines()[-1]
    for recipient in (str(place.private), secret):
        done = place.backup(recipient=recipient)
        assert "is a private key: it must not be on the master" in done["error"] and secret not in done["error"]
    assert secret not in (place.root / "run-logs/master.backup.jsonl").read_text()


@pytest.mark.slow
def test_archives_are_not_packed_themselves(place):
    inside = place.paths.root / "archives"
    inside.mkdir()
    assert "which is packed itself" in place.backup(folder=str(inside))["error"]


@pytest.mark.slow
def test_nothing_is_backed_up_beside_a_stage(place, monkeypatch):
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    assert "stage deploy is running" in place.backup()["error"]
    assert "stage deploy is running" in (place.root / "run-logs/master.backup.jsonl").read_text().splitlines()[-1]
    assert "stage deploy is running" in place.restore("/nowhere")["error"]


@pytest.mark.slow
def test_one_backup_at_a_time(place):
    with one_at_a_time.alone(place.opts, "master.backup"):
        assert "master.backup is running" in place.backup()["error"]
    assert list(place.archives.iterdir()) == []
    place.made()


@pytest.mark.slow
def test_one_restore_at_a_time(place):
    archive = place.made()
    place.lose()
    with one_at_a_time.alone(place.opts, "master.restore"):
        place.refused(archive, "master.restore is running")
    assert "restored" in place.restore(archive)["text"]


@pytest.mark.slow
def test_without_age_it_is_said_what_to_install(place, monkeypatch):
    archive = place.made()
    monkeypatch.setenv("PATH", "/nowhere")
    for done in (place.backup(), place.backup(test=True), place.restore(archive)):
        assert done["retcode"] == 2 and "'apt install age'" in done["error"]


@pytest.mark.slow
def test_a_file_that_changes_meanwhile_leaves_no_archive(place, monkeypatch):
    real = backing_up.packing.pack

    def packed(stream, manifest, entries, folders):
        (place.paths.proposals / "policy.cfg").write_text("another\n")
        real(stream, manifest, entries, folders)

    monkeypatch.setattr(backing_up.packing, "pack", packed)
    assert "changed while it was packed" in place.backup()["error"]
    assert list(place.archives.iterdir()) == []
    log = (place.root / "run-logs/master.backup.jsonl").read_text()
    assert "changed while it was packed" in log.splitlines()[-1]


@pytest.mark.slow
def test_an_archive_that_cannot_be_read_back_is_none(place, monkeypatch):
    real = backing_up.packing.pack

    def cut(stream, manifest, entries, folders):
        real(stream, manifest, entries[:-1], folders)

    monkeypatch.setattr(backing_up.packing, "pack", cut)
    assert "was expected, its end found" in place.backup()["error"]
    assert list(place.archives.iterdir()) == []


@pytest.mark.slow
def test_links_that_lead_elsewhere_are_named(place):
    (place.root / "salt/site/away").symlink_to("/etc/shadow")
    done = place.backup()
    assert f"left out, as it is a link that leads elsewhere, or no file: {place.root}/salt/site/away" in done["text"]
    last = json.loads((place.root / "run-logs/master.backup.jsonl").read_text().splitlines()[-1])
    assert last["left_out"] == [f"{place.root}/salt/site/away"]


@pytest.mark.slow
def test_a_wrong_key_and_broken_archives_are_refused(place):
    archive = place.made()
    place.lose()
    wrong = place.folder / "wrong.key"
    keygen(wrong)
    place.refused(archive, "age: no identity matched", "take the other one", identity=str(wrong))
    place.refused(archive, "identity=/nowhere cannot be read", identity="/nowhere")
    place.refused("/nowhere", "is no file")
    whole = archive.read_bytes()
    for length in (0, 50, 300, len(whole) // 2, len(whole) - 1):
        cut = place.folder / "cut.age"
        cut.write_bytes(whole[:length])
        place.refused(cut, "nothing was restored from cut.age", "cut off")
    for at in (len(whole) // 2, len(whole) - 5):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        cut.write_bytes(damaged)
        place.refused(cut, "cut off or damaged")


@pytest.mark.slow
def test_a_newer_format_another_master_and_other_folders_are_refused(place):
    def newer(told):
        told[backups.KEY] = 2

    def other(told):
        told["master"] = "elsewhere_master"

    def moved(told):
        told["folders"]["pillar"] = "/srv/other"

    def strange(told):
        told["folders"]["more"] = "/root"

    for change, said in (
        (newer, "it is of format 2, and this Halocline reads up to 1"),
        (other, "it is of the master elsewhere_master"),
        (moved, "the old master kept its files elsewhere (pillar: /srv/other there"),
        (strange, "more: /root there, none here"),
    ):
        place.refused(place.forged(change), said)


HASH = hashlib.sha256(b"x").hexdigest()
OWNED = {"user": "root", "group": "root"}
TOP = {"path": "pillar/top", "kind": "folder", "mode": 0o755, **OWNED}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"path": "pillar/top/../../etc/passwd"}, "its path leads elsewhere"),
        ({"path": "pillar//etc"}, "its path leads elsewhere"),
        ({"path": "/etc/passwd"}, "it lies in no folder that a backup has"),
        ({"path": "pillar"}, "it lies in no folder that a backup has"),
        ({"path": "pillar/top"}, "it is there twice"),
        ({"path": "pillar/other/file"}, "what it lies in is no folder of the archive"),
        ({"path": "pillar/top/f", "mode": 0o4755}, "of mode 4755"),
        ({"path": "pillar/top/f", "kind": "device"}, "it is a device"),
        ({"path": "pillar/top/f", "sha256": ""}, "it has no hash"),
        ({"path": "pillar/top/f", "user": "../x"}, "its owner has no name"),
        ({"path": "pillar/top/f", "size": "1"}, "an entry that is none"),
        ({"path": "pillar/top/l", "kind": "link", "target": "/etc/shadow"}, "a link that leads out"),
        ({"path": "pillar/top/l", "kind": "link", "target": "../../x"}, "a link that leads out"),
        ({"path": "pillar/top/f", "user": "nobody-here"}, "no user or group nobody-here"),
    ],
)
def test_what_would_lead_out_is_refused(place, entry, said):
    place.lose()
    whole = {"kind": "file", "mode": 0o644, "size": 1, "sha256": HASH, **OWNED, **entry}
    if whole["kind"] != "file":
        whole.pop("sha256"), whole.pop("size")
    place.refused(place.forged(lambda told: [TOP, whole]), said)


@pytest.mark.slow
def test_content_that_is_not_the_manifests_is_refused(place):
    place.lose()
    whole = {"path": "pillar/top/f", "kind": "file", "mode": 0o644, "size": 1, "sha256": HASH, **OWNED}
    place.refused(place.forged(lambda told: [TOP, whole], b"y"), "is not what the manifest says")


@pytest.mark.slow
def test_an_archive_older_than_a_rotation_is_refused(place):
    archive = place.made()
    place.lose()
    place.cluster(KEYS | {"client.a": secrets.new_key()})
    place.refused(archive, "client.a: the monitors have another key than the archive")
    place.cluster(KEYS | {"client.admin": secrets.new_key()})
    place.refused(archive, "client.admin: the monitors have another key", silent=True)
    place.cluster(KEYS, fsid=FSID.replace("5", "6"))
    place.refused(archive, f"it is of the cluster {FSID}, and the monitors are of")
    place.cluster(KEYS | {"mon.": secrets.new_key()})
    place.refused(archive, "do not take the archive's key", silent=True)


@pytest.mark.slow
def test_a_key_that_was_rotated_on_the_master_alone_is_no_other(place):
    """The backup was made after secret.rotate and before the next deploy: the monitors hold the earlier key."""
    fresh = KEYS | {"client.a": secrets.new_key()}
    place.paths.keys.write_text(json.dumps(fresh))
    place.paths.earlier.write_text(json.dumps({"client.a": [secrets.digest(KEYS["client.a"])]}))
    archive = place.made()
    place.lose()
    assert "restored" in place.restore(archive)["text"]
    assert json.loads(place.paths.keys.read_text()) == fresh


@pytest.mark.slow
def test_a_client_that_was_revoked_since_does_not_come_back(place):
    archive = place.made()
    place.lose()
    place.cluster({name: key for name, key in KEYS.items() if name != "client.a"} | {"client.new": secrets.new_key()})
    told = place.restore(archive)["text"]
    assert "the cluster knows no client.a any more: its key is not brought back" in told
    assert "client.new was made after it: 'salt-run secret.take' takes it in" in told
    for path in place.paths.root.rglob("*"):
        assert not path.is_file() or KEYS["client.a"] not in path.read_text(), path
    assert json.loads(place.paths.keys.read_text())["mgr.node1"] == KEYS["mgr.node1"]


@pytest.mark.slow
def test_whoever_is_told_a_fresh_key_in_place_of_a_revoked_one_gets_one_of_the_clusters_cipher(place):
    """A cluster that a newer Ceph made takes no older one."""
    (place.paths.current / "cluster/node1.sls").write_text("roles: [mon]\n")
    (place.paths.inventory / "node1.json").write_text(json.dumps({"ceph_cipher": secrets.NEW}))
    archive = place.made()
    place.lose()
    place.cluster({name: key for name, key in KEYS.items() if name != "client.a"})
    assert "its key is not brought back" in place.restore(archive)["text"]
    fresh = json.loads(place.paths.keys.read_text())["client.a"]
    assert len(fresh) == len(secrets.new_key(secrets.NEW)) != len(KEYS["client.a"])


@pytest.mark.slow
def test_where_no_monitor_answers_it_takes_a_word(place, monkeypatch):
    archive = place.made()
    place.lose()
    monkeypatch.setenv("SILENT", "1")
    place.refused(archive, "no monitor at", "RADOS timed out", "add silent=true")
    assert "restored" in place.restore(archive, silent=True)["text"]


@pytest.mark.slow
def test_without_ceph_it_is_said_what_to_install(place):
    archive = place.made()
    place.lose()
    (place.folder / "ceph").unlink()
    if not shutil.which("ceph"):
        place.refused(archive, "install ceph-common")


@pytest.mark.slow
def test_the_old_master_must_not_answer(place, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        monkeypatch.setattr(backing_up, "here", lambda opts: dataclasses.replace(place.here(opts), ports=[port]))
        monkeypatch.setattr(backing_up, "own", lambda: ["127.0.0.1"])
        archive = place.made()
        place.lose()
        monkeypatch.setattr(backing_up, "own", list)
        place.refused(archive, f"the old master still answers at 127.0.0.1, port {port}")
    assert "restored" in place.restore(archive)["text"]  # it is off


@pytest.mark.slow
def test_a_master_that_runs_here_is_to_be_stopped(place, monkeypatch):
    archive = place.made()
    place.lose()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ports = [listening.getsockname()[1]]
        monkeypatch.setattr(backing_up, "here", lambda opts: dataclasses.replace(place.here(opts), ports=ports))
        place.refused(archive, "salt-master runs here")


@pytest.mark.slow
def test_an_archive_that_is_swapped_for_another_meanwhile_is_refused(place, monkeypatch):
    archive = place.made()
    place.lose()
    place.etc.mkdir()
    other = place.forged(lambda told: [])
    real = restoring.judged

    def swapped(*words):
        shutil.copy(other, archive)
        return real(*words)

    monkeypatch.setattr(restoring, "judged", swapped)
    place.refused(archive, "the archive is another one than a moment ago")


@pytest.mark.slow
def test_a_master_with_a_site_of_its_own_is_not_written_over(place):
    archive = place.made()
    (place.paths.proposals / "policy.cfg").write_text("mine\n")
    place.refused(archive, f"this master has its own {place.paths.root}")
    place.lose()
    (place.pki / "minions").mkdir()
    (place.pki / "minions/stranger").write_text("key")
    place.refused(archive, "this master has accepted stranger, which the archive does not know")


@pytest.mark.slow
@pytest.mark.parametrize("revoked", [(), ("client.a",)], ids=["", "a key was revoked since"])
@pytest.mark.parametrize("moves", range(6))
def test_killed_at_any_move_the_same_command_goes_on(place, monkeypatch, moves, revoked):
    (place.root / "pillar/top.sls").write_text("base: {}\n")
    before = place.state()
    archive = place.made()
    place.lose()
    (place.root / "pillar/top.sls").unlink(missing_ok=True)
    place.cluster({name: key for name, key in KEYS.items() if name not in revoked})
    real, left = restoring.placing.Path.rename, [moves]

    def rename(self, target):
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return real(self, target)

    monkeypatch.setattr(restoring.placing.Path, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        place.restore(archive)
    assert not place.paths.keys.exists()  # the keys come last
    monkeypatch.setattr(restoring.placing.Path, "rename", real)
    left_there = place.root / "pillar/.restore.killed"
    left_there.mkdir()
    (left_there / "keys.json").write_text("secret")
    assert "restored" in place.restore(archive)["text"]
    assert revoked or place.state() == before
    assert not left_there.exists() and place.paths.keys.exists()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["ceph", "ceph/keys", "ceph/keys/keys.json"])
def test_keys_that_lie_behind_a_link_are_in_no_archive_and_so_there_is_none(place, what):
    """On a disk of their own, say: a link that leads elsewhere is left out."""
    path, away = place.root / "pillar" / what, place.folder / "away"
    path.rename(away)
    path.symlink_to(away)
    refused = [place.backup(), place.backup(test=True)]
    path.unlink()
    away.rename(path)
    assert [f"{place.paths.keys} lies behind a link" in done.get("error", "") for done in refused] == [True, True]
    assert list(place.archives.iterdir()) == []
    place.made()


@pytest.mark.slow
def test_a_client_that_was_revoked_goes_once_monitors_answer_after_a_restore_without_them(place, monkeypatch):
    archive = place.made()
    place.lose()
    monkeypatch.setenv("SILENT", "1")
    assert "once one answers, and before any stage, run this again" in place.restore(archive, silent=True)["text"]
    assert json.loads(place.paths.keys.read_text()) == KEYS
    monkeypatch.delenv("SILENT")
    place.cluster({name: key for name, key in KEYS.items() if name != "client.a"})
    told = place.restore(archive)["text"]
    assert "the cluster knows no client.a any more: its key is not brought back" in told
    for path in place.paths.root.rglob("*"):
        assert not path.is_file() or KEYS["client.a"] not in path.read_text(), path


@pytest.mark.slow
def test_the_pages_own_certificate_is_packed_with_its_drop_in(place, tmp_path):
    """Without it salt-api would not start again, nor know Salt's Python for PAM."""
    opts = {**place.opts, "conf_file": f"{tmp_path}/salt/master", "pki_dir": f"{tmp_path}/salt/pki/master"}
    (crt, key), python = page_config.certificate(opts, None, None), page_config._folder(opts) / "python"
    page_config.make_certificate(crt, key, "root")
    page_config.make_python(python)
    found = {entry.path for entry in backing_up.look(HERE(opts)).entries}
    assert {f"pki/page/{Path(each).name}" for each in (crt, key, python)} <= found
