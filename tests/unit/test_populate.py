"""What populate writes, and the three-way rule for files that were edited."""

import errno
import json
from pathlib import Path

import pytest
import yaml
from planning import FSID, GUIDE, apollo, inventory

from proposals.disks import arguments, plan
from proposals.files import atomic, tree
from proposals.policy import fragments, merging, policy, policy_draft, store
from proposals.text.errors import StoreError
from proposals.text.sizes import GIB

FEW = {"node1": [{"is": "hdd6", "count": 3}, {"is": "ssd800"}], "node2": [{"is": "hdd6", "count": 2}]}


def populate(root, raw, words="", force=False):
    asked = arguments.parse(words.split())
    made = plan.peek(raw, asked, store.stored_proposal(root, asked.name))
    return store.populate(root, made, force)


def contents(root):
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def edit(path):
    path.write_text(path.read_text() + "# mine\n")


LAYOUT = "profile-default/stack/default/ceph/minions/node1.yml"


@pytest.mark.slow
def test_the_files_of_the_guide(tmp_path):
    report = populate(tmp_path, apollo(), " ".join(GUIDE))
    assert report.status == 0
    layout = yaml.load(
        (tmp_path / "profile-apollo/stack/default/ceph/minions/osdnode1.yml").read_text(), yaml.CSafeLoader
    )
    first, *_ = layout["ceph"]["storage"]["osds"].items()
    assert first[1] == {
        "format": "bluestore",
        "uuids": first[1]["uuids"],
        "db": "/dev/disk/by-id/wwn-0x5000c50000050036",
        "db_size": 40 * GIB,
        "wal": "/dev/disk/by-id/wwn-0x5000c50000050036",
        "wal_size": 5 * GIB,
    }
    assert layout["ceph"]["storage"]["disks"][first[0]] == {"size": 6001175126016, "serial": "S00050000"}
    assert len(layout["ceph"]["storage"]["disks"]) == 60
    assert (tmp_path / "profile-apollo/cluster/osdnode1.sls").read_text() == "roles:\n- storage\n"
    assert (tmp_path / "cluster-ceph/cluster/monnode1.sls").read_text() == "cluster: ceph\n"
    assert yaml.load((tmp_path / "role-mon/cluster/monnode1.sls").read_text(), yaml.CSafeLoader) == {"roles": ["mon"]}
    stored = json.loads((tmp_path / "profile-apollo/proposal.json").read_text())
    assert stored["hosts"]["osdnode1"]["disks"][0]["serial"] == "S00050000"
    text = (tmp_path / "profile-apollo/cluster/osdnode1.sls").read_text()
    assert stored["files"]["cluster/osdnode1.sls"] == fragments.digest(text)
    assert not list((tmp_path / "profile-apollo/cluster").glob("mon*")), "hosts without OSDs are not in the profile"


@pytest.mark.slow
def test_populate_twice_is_populate_once(tmp_path):
    populate(tmp_path, apollo(), " ".join(GUIDE))
    before = contents(tmp_path)
    report = populate(tmp_path, apollo(), " ".join(GUIDE))
    assert (report.status, report.written, report.removed, report.messages) == (0, (), (), ())
    assert contents(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize("blank", ["", " \n"])
def test_an_empty_file_is_written_anew_or_goes(tmp_path, blank):
    """As a power failure leaves it: it would take its host out of what is served."""
    populate(tmp_path, inventory(**FEW))
    whole = contents(tmp_path)
    (tmp_path / LAYOUT).write_text(blank)
    report = populate(tmp_path, inventory(**FEW))
    assert (report.status, report.written) == (0, (LAYOUT.removeprefix("profile-default/"),))
    assert contents(tmp_path) == whole
    (tmp_path / LAYOUT).write_text(blank)
    populate(tmp_path, inventory(node1=[{"is": "hdd6", "in_use": ["mounted"]}], node2=FEW["node2"]))
    assert not (tmp_path / LAYOUT).exists()


def test_an_edited_file_is_kept_where_the_plan_is_as_before(tmp_path):
    populate(tmp_path, inventory(**FEW))
    edit(tmp_path / LAYOUT)
    report = populate(tmp_path, inventory(**FEW))
    assert report.status == 0
    assert (tmp_path / LAYOUT).read_text().endswith("# mine\n")


def test_an_edited_file_is_kept_and_shown_where_the_plan_changed(tmp_path):
    populate(tmp_path, inventory(**FEW))
    edit(tmp_path / LAYOUT)
    report = populate(tmp_path, inventory(**FEW), "ratio=2 osds-per-device=1")
    assert report.status == 1
    assert report.kept == ("stack/default/ceph/minions/node1.yml",)
    # Two OSDs share the SSD, and not five.
    assert "\n-        db_size: 159987531776\n+        db_size: 399431958528\n" in "\n".join(report.messages)
    assert populate(tmp_path, inventory(**FEW), "ratio=2 osds-per-device=1").status == 1, "as long as it differs"


def test_an_edited_file_does_not_hold_up_the_others(tmp_path):
    populate(tmp_path, inventory(**FEW))
    edit(tmp_path / LAYOUT)
    report = populate(tmp_path, inventory(**FEW), "encryption=dmcrypt")
    assert report.written == ("stack/default/ceph/minions/node2.yml",)


def test_force_writes_an_edited_file(tmp_path):
    populate(tmp_path, inventory(**FEW))
    edit(tmp_path / LAYOUT)
    report = populate(tmp_path, inventory(**FEW), "", force=True)
    assert (report.status, report.kept) == (0, ())
    assert "# mine" not in (tmp_path / LAYOUT).read_text()


def test_a_file_that_is_no_longer_planned_goes_unless_it_was_edited(tmp_path):
    populate(tmp_path, inventory(**FEW))
    edit(tmp_path / "profile-default/cluster/node1.sls")
    bare = {"node1": [{"is": "boot"}], "node2": FEW["node2"]}
    report = populate(tmp_path, inventory(**bare))
    assert report.status == 1
    assert report.removed == ("stack/default/ceph/minions/node1.yml",)
    assert report.kept == ("cluster/node1.sls",)


def test_hosts_outside_target_keep_theirs(tmp_path):
    populate(tmp_path, inventory(**FEW))
    report = populate(tmp_path, inventory(**FEW), "target=node2 encryption=dmcrypt")
    assert report.status == 0
    assert (tmp_path / LAYOUT).exists()
    stored = json.loads((tmp_path / "profile-default/proposal.json").read_text())
    assert set(stored["hosts"]) == {"node1", "node2"}
    assert stored["hosts"]["node1"]["arguments"] == {}
    assert "cluster/node1.sls" in stored["files"]


def test_fragments_are_never_overwritten_and_differences_told(tmp_path):
    networks = {"public_network": "192.168.124.0/24"}
    assert store.fragments(tmp_path, ["a"], FSID, networks, "salt") == []
    (tmp_path / "role-mon/cluster/a.sls").write_text("roles: [mon, mine]\n")
    messages = store.fragments(tmp_path, ["a", "b"], "22222222-2222-4333-8444-555555555555", networks, "salt")
    assert len(messages) == 1
    assert "fsid is '11111111" in messages[0]
    assert (tmp_path / "role-mon/cluster/a.sls").read_text() == "roles: [mon, mine]\n"
    assert (tmp_path / "role-mon/cluster/b.sls").exists()
    told = tree.read_yaml(tmp_path / "config/stack/default/ceph/cluster.yml")
    assert told == {"fsid": FSID, "public_network": "192.168.124.0/24"}


@pytest.mark.parametrize("path", ["role-mon/cluster/a.sls", "config/stack/default/ceph/cluster.yml"])
def test_an_empty_fragment_is_written_anew(tmp_path, path):
    """As a power failure leaves it: a monitor less was chosen, and no fsid, whatever was run again."""
    asked = ["a"], FSID, {"public_network": "192.168.124.0/24"}
    store.fragments(tmp_path, *asked)
    whole = contents(tmp_path)
    (tmp_path / path).write_text("")
    assert store.fragments(tmp_path, *asked) == []
    assert contents(tmp_path) == whole


def test_discovery_says_what_a_populate_before_it_did_not_know(tmp_path):
    """It made another fsid at each run, and said that none is set: nobody kept it."""
    populate(tmp_path, inventory(**FEW))
    assert tree.read_yaml(tmp_path / "config/stack/default/ceph/cluster.yml") == {}
    networks = {"public_network": "192.168.124.0/24"}
    assert store.fragments(tmp_path, ["node1", "node2"], FSID, networks, "salt") == []
    assert tree.read_yaml(tmp_path / "config/stack/default/ceph/cluster.yml") == {"fsid": FSID, **networks}
    assert tree.read_yaml(tmp_path / "config/stack/default/global.yml") == {"time_server": "salt"}


@pytest.mark.slow
def test_the_proposed_policy_is_the_guides(tmp_path):
    populate(tmp_path, apollo(), " ".join(GUIDE))
    lines = (tmp_path / "policy.cfg").read_text().splitlines()
    assert lines[1:] == [
        "cluster-ceph/cluster/*.sls",
        "role-master/cluster/salt*.sls",
        "role-admin/cluster/salt*.sls",
        "role-mon/cluster/mon*.sls",
        "role-mgr/cluster/mon*.sls",
        "config/stack/default/global.yml",
        "config/stack/default/ceph/cluster.yml",
        "profile-apollo/cluster/*.sls",
        "profile-apollo/stack/default/ceph/minions/*.yml",
    ]
    assert merging.minion(policy.resolve(tmp_path).contents, "saltmaster")["roles"] == ["master", "admin"]


@pytest.mark.slow
def test_an_existing_policy_stays_and_lacking_lines_are_told(tmp_path):
    populate(tmp_path, apollo(), " ".join(GUIDE))
    (tmp_path / "policy.cfg").write_text("cluster-ceph/cluster/*.sls\nconfig/stack/default/*.yml\n")
    report = populate(tmp_path, apollo(), " ".join(GUIDE))
    assert "profile-apollo/cluster/*.sls" in report.messages
    assert "config/stack/default/ceph/cluster.yml" in report.messages
    assert (tmp_path / "policy.cfg").read_text().startswith("cluster-ceph")


def test_what_a_line_filters_out_is_lacking(tmp_path):
    for path, text in fragments.assignments(["mon1", "mon2"]).items():
        atomic.write(tmp_path / path, text)
    wanted = [f"role-mon/cluster/mon{number}.sls" for number in (1, 2)]
    for line, lacks in (
        ("role-mon/cluster/*.sls", []),
        ("role-mon/cluster/*.sls slice=[:1]", wanted[1:]),
        ("role-mon/cluster/*.sls re=mon2", wanted[:1]),
        ("role-mon/cluster/x*.sls", wanted),
    ):
        atomic.write(tmp_path / "policy.cfg", f"{line}\n")
        assert policy_draft.missing(tmp_path, wanted)[1:] == lacks


MONITORS = [
    (["a", "b", "c", "d"], {"a", "b", "c", "d"}, ["a", "b", "c"]),
    (["a", "b", "c", "d"], {"a", "b"}, ["a", "c", "d"]),
    (["salt", "a", "b", "c"], {"a", "b", "c"}, ["a", "b", "c"]),
    (["mon1", "mon2", "mon3", "mon4", "x"], set(), ["mon1", "mon2", "mon3"]),
    (["mon1", "mon2", "x", "y"], {"x", "y"}, ["mon1", "mon2", "x"]),
    ([f"n{number:02}" for number in range(12)], set(), ["n00", "n01", "n02", "n03", "n04"]),
    (["a", "b"], {"a", "b"}, ["a"]),
]


@pytest.mark.parametrize(("hosts", "storage", "monitors"), MONITORS)
def test_monitors(hosts, storage, monitors):
    assert policy_draft.roles(hosts, storage)["mon"] == monitors


def test_a_killed_write_leaves_no_half_file(tmp_path, monkeypatch):
    atomic.write(tmp_path / "a", "old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fchmod", fail)
    with pytest.raises(StoreError, match="cannot write .*No space left"):
        atomic.write(tmp_path / "a", "new" * 1000)
    assert (tmp_path / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_trees_and_links(tmp_path):
    atomic.write_tree(tmp_path / "gen1", {"a/b.sls": "x: 1\n"}, mode=0o600)
    assert (tmp_path / "gen1/a/b.sls").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "gen1/a").stat().st_mode & 0o777 == 0o700
    with pytest.raises(StoreError, match="never written over"):
        atomic.write_tree(tmp_path / "gen1", {})
    atomic.swap_link(tmp_path / "now", "gen1")
    atomic.swap_link(tmp_path / "now", "gen2")
    assert str((tmp_path / "now").readlink()) == "gen2"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gen1", "now"]


def test_a_populate_that_was_killed_edited_nothing(tmp_path, monkeypatch):
    populate(tmp_path, inventory(**FEW))
    whole, done = Path.replace, []

    def killed(path, target):
        if done and "minions" in str(target):
            raise KeyboardInterrupt
        done.extend([target] if "minions" in str(target) else [])
        whole(path, target)

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        populate(tmp_path, inventory(**FEW), "encryption=dmcrypt")
    monkeypatch.undo()
    assert len(done) == 1, "one file of the new plan, one of the old"
    report = populate(tmp_path, inventory(**FEW), "format=filestore")
    assert (report.status, report.kept) == (0, ())
    assert "pending" not in store.stored_proposal(tmp_path, "default")


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", "{", '{"hosts": 1}', '{"name": "a", "arguments": {}, "hosts": {"a": {"osds": [1], "disks": []}}}'],
)
def test_a_broken_proposal_is_told(tmp_path, text):
    atomic.write(tmp_path / "profile-default/proposal.json", text)
    with pytest.raises(StoreError, match=r"proposal\.json is not"):
        populate(tmp_path, inventory(**FEW))


def test_many_files_are_on_disk_before_the_first_gets_its_name(tmp_path, monkeypatch):
    atomic.write(tmp_path / "old/a", "old")
    texts = {"old/a": "new", "old/b": "new", "fresh/c/d": "new", "e": "new"}
    synced = []

    def sync():
        synced.append({path for path in texts if (tmp_path / path).exists()})
        assert len([path for path in tmp_path.rglob("*") if path.is_file() and path.read_text() == "new"]) == len(texts)

    monkeypatch.setattr(atomic.os, "sync", sync)
    atomic.write_many(tmp_path, texts)
    assert synced == [{"old/a"}, set(texts)]
    monkeypatch.setattr(atomic.os, "sync", lambda: (_ for _ in ()).throw(OSError(5, "broken")))
    with pytest.raises(StoreError, match="cannot write"):
        atomic.write_many(tmp_path, dict.fromkeys([*texts, "other/f"], "newer"))
    assert contents(tmp_path) == {Path(path): b"new" for path in texts}


def test_a_folder_of_another_file_system_gets_its_files_too(tmp_path, monkeypatch):
    """As where a folder of proposals is a link to a mount: no rename reaches there."""
    atomic.write(tmp_path / "linked/a", "old")
    renamed = Path.replace

    def replace(path, place):
        if path.parent.parent.name.startswith(".new."):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return renamed(path, place)

    monkeypatch.setattr(Path, "replace", replace)
    atomic.write_many(tmp_path, {"linked/a": "new"})
    assert contents(tmp_path) == {Path("linked/a"): b"new"}
