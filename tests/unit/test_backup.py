"""What a backup's archive may hold, and which monitors it may be restored to. Real archives: tests/functional."""

import io
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from proposals.files import entries, packing
from proposals.files.entries import Entry
from proposals.files.packing import Folder
from proposals.files.placing import State
from proposals.pillar import backup, held
from proposals.text.errors import PolicyError, StoreError

LINKS = yaml.load((Path(__file__).parent.parent / "fixtures/backup_links.yaml").read_text(), yaml.CSafeLoader)
FSID = "5d71d314-c738-8774-a70a-295e4ecab6c8"
FOLDERS = {"pki": Folder(Path("/etc/salt/pki")), "pillar": Folder(Path("/srv/pillar"))}
HERE = backup.Here("salt_master", FOLDERS, "/srv/halocline/pillar/ceph", Path("/etc/salt/pki/master/minions"), [4506])
CLUSTER = {"fsid": FSID, "mon_host": "[v2:192.0.2.1:3300]"}
OWNER = {"user": "root", "group": "root"}
ENTRIES = [
    Entry("pki/master", "folder", 0o700, **OWNER),
    Entry("pki/master/minions", "folder", 0o700, **OWNER),
    Entry("pki/master/minions/node1", "file", 0o644, **OWNER, mtime=1, size=3, sha256="0" * 64),
    Entry("pillar/ceph", "folder", 0o755, **OWNER),
    Entry("pillar/ceph/current", "link", **OWNER, target="/srv/pillar/ceph/generations/1"),
]
KEYS = held.Keys(
    {"mon.": "m", "client.admin": "a", "client.bootstrap-osd": "b", "client.x": "x"}, {"client.x": ["old"]}
)
TOLD = {"client.admin": "a", "client.bootstrap-osd": "b", "client.x": "x", "osd.0": "o", "client.bootstrap-mds": "c"}


def manifest(**changed):
    return backup.manifest(HERE, "2026-03-01", CLUSTER, ["192.0.2.9"], ENTRIES) | changed


@pytest.mark.parametrize("case", LINKS, ids=lambda case: f"{case['path']} to {case['target']}")
def test_where_a_link_may_lead(case):
    assert entries.leads_out(case["path"], case["target"], ["/srv/pillar", "/srv/halocline/pillar/ceph"]) is case["out"]


PARTS = st.sampled_from(["a", "b", "up", "..", ".", "deep"])


@pytest.mark.slow
@given(st.lists(PARTS, min_size=1, max_size=5), st.lists(st.sampled_from(["a", "b"]), max_size=2))
def test_what_does_not_lead_out_stays_whatever_links_there_are(tmp_path_factory, target, folders):
    """By the kernel's own eyes, with a link in every folder that leads as far up as one may."""
    top = tmp_path_factory.mktemp("links") / "top"
    where = top.joinpath(*folders)
    where.mkdir(parents=True)
    for depth, folder in enumerate([top, *(top.joinpath(*folders[: at + 1]) for at in range(len(folders)))]):
        if depth:
            (folder / "up").symlink_to("/".join([".."] * depth))
    path = "/".join(["top", *folders, "link"])
    if not entries.leads_out(path, "/".join(target), []):
        (where / "link").symlink_to("/".join(target))
        try:
            led = (where / "link").resolve(strict=True)
        except OSError:
            return
        assert led.is_relative_to(top)


@pytest.mark.parametrize(
    "name", ["root", "1005", "joe@example.com", "EXAMPLE\\joe", "domain users@example.com", "node$"]
)
def test_an_owner_may_come_from_a_directory(name):
    listed = {"path": "pillar/a", "kind": "folder", "user": name, "group": name}
    assert [entry.user for entry in entries.check([listed], ["pillar"], [])] == [name]


def test_a_file_that_its_disk_does_not_give_is_named():
    """And is no error of the pipe that the archive is written into: who waits for its reader then waits for ever."""
    memory = Entry("x/mem", "file", 0o600, **OWNER, size=5, sha256="0" * 64)  # the kernel reads no page at 0
    with pytest.raises(StoreError, match="cannot read /proc/self/mem: Input/output error"):
        packing.pack(io.BytesIO(), "{}", [memory], {"x": Folder(Path("/proc/self"))})


def test_what_is_written_is_read_again():
    found = backup.check(manifest(), HERE)
    assert found.entries == ENTRIES
    assert (found.fsid, found.master, found.addresses, found.ports) == (FSID, "salt_master", ["192.0.2.9"], [4506])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({backup.KEY: 2}, "it is of format 2"),
        ({backup.KEY: "1"}, "no manifest of ours"),
        ({backup.KEY: True}, "no manifest of ours"),
        ({"fsid": None}, "lacks what every backup has"),
        ({"addresses": "192.0.2.9"}, "lacks what every backup has"),
        ({"ports": [True]}, "lacks what every backup has"),
        ({"master": "other_master"}, "it is of the master other_master, and this one is salt_master"),
        ({"folders": {"pillar": "/"}}, "pillar: / there, /srv/pillar here; pki: none there"),
        ({"folders": None}, "kept its files elsewhere"),
        ({"product": "/"}, "product: / there"),
        ({"entries": None}, "lists no entries"),
        ({"entries": [{"path": "pillar/a"}]}, "an entry that is none"),
        ({"entries": [{"path": "pillar/a", "kind": "folder", "more": 1}]}, "an entry that is none"),
        ({"entries": ["pillar/a"]}, "an entry that is none"),
    ],
)
def test_a_manifest_that_is_refused(changed, said):
    with pytest.raises((StoreError, PolicyError)) as refused:
        backup.check(manifest(**changed), HERE)
    assert all(word in str(refused.value) for word in said.split("; "))


@pytest.mark.slow
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5) | st.dictionaries(
    st.sampled_from([*manifest(), "x"]), st.none() | st.integers() | st.text() | st.lists(st.text())
))  # fmt: skip
def test_any_manifest_is_read_or_refused(content):
    for whole in (content, {**manifest(), **content} if isinstance(content, dict) else content):
        try:
            backup.check(whole, HERE)
        except (StoreError, PolicyError) as refused:
            assert str(refused)


@pytest.mark.parametrize(
    ("told", "against", "revoked", "newer"),
    [
        ({}, [], [], []),
        ({"client.x": "old"}, [], [], []),
        ({"client.x": "new"}, ["client.x: the monitors have another key"], [], []),
        ({"client.admin": "new"}, ["client.admin: the monitors have another key"], [], []),
        ({"client.x": None}, [], ["client.x"], []),
        ({"client.y": "y", "mgr.b": "y", "osd.9": "y"}, [], [], ["client.y"]),
    ],
)
def test_what_monitors_say_of_an_archive(told, against, revoked, newer):
    known = {name: key for name, key in (TOLD | told).items() if key}
    judged = backup.judge(backup.check(manifest(), HERE), KEYS, {"fsid": FSID, "keys": known})
    assert [line.partition(" than")[0] for line in judged.against] == against
    assert (judged.revoked, judged.newer) == (revoked, newer)


def test_another_cluster_is_told_by_its_fsid():
    (line,) = backup.judge(backup.check(manifest(), HERE), KEYS, {"fsid": "other", "keys": TOLD}).against
    assert line == f"it is of the cluster {FSID}, and the monitors are of other"


def test_only_a_fresh_master_is_restored_onto():
    found = backup.check(manifest(), HERE)
    both = {"pki/master": State.OTHER, "pillar/ceph": State.ABSENT}
    assert backup.replaced(both, ["node1"], found, HERE) == ["pki/master", "pillar/ceph"]
    assert backup.replaced(dict.fromkeys(both, State.SAME), ["node1"], found, HERE) == []
    with pytest.raises(PolicyError, match="this master has its own /srv/pillar/ceph"):
        backup.replaced({"pillar/ceph": State.OTHER}, [], found, HERE)
    with pytest.raises(PolicyError, match="has accepted node2, which the archive does not know"):
        backup.replaced(both, ["node1", "node2"], found, HERE)


def test_only_what_is_salts_and_the_sites_own_is_packed(tmp_path):
    for name in ("master", "minion_id", "proxy", "master.d/own.conf", "master.d/zz-halocline.conf", "pki/master/k"):
        path = tmp_path / "salt" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    site = backup.Site(tmp_path / "pillar/ceph", tmp_path)
    (site.root / "keys").mkdir(parents=True)
    (tmp_path / "pillar/.restore.killed").mkdir()
    (tmp_path / "pillar/ceph.before-restore.1").mkdir()
    os.mkfifo(site.root / "pipe")
    folders = backup.folders(site, tmp_path / "salt", tmp_path / "salt/pki/master", [])
    folders["ceph"] = Folder(tmp_path / "nowhere")
    looked = packing.look(folders)
    assert [entry.path for entry in looked.entries] == [
        "salt/master", "salt/minion_id", "master.d/own.conf", "pki/master", "pki/master/k", "pillar/ceph",
        "pillar/ceph/keys",
    ]  # fmt: skip
    assert looked.left_out == [str(site.root / "pipe")]


def test_who_the_hosts_own_minion_asks_is_packed(tmp_path):
    """The line of minions.invite says it in halocline.conf: without that the restored master's minion asks nobody."""
    for name in ("master.d/halocline.conf", "minion.d/halocline.conf", "minion.d/zz-halocline.conf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = backup.folders(backup.Site(tmp_path / "pillar/ceph", tmp_path), tmp_path, tmp_path / "pki/master", [])
    looked = packing.look({name: found[name] for name in ("master.d", "minion.d")})
    assert [entry.path for entry in looked.entries] == ["minion.d/halocline.conf"]
