"""What a host gives up of a cluster that is taken apart, and what it keeps: keyrings, folders, OSDs of others."""

import hashlib

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

FSID, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
KEYS = {name: "AQ" + name * 19 + "==" for name in "abz"}  # a and b are the master's, z is another's
HASHES = [hashlib.sha256(KEYS[name].encode()).hexdigest() for name in "ab"]
ONE, TWO = "6b0c8f3e-0000-4000-8000-000000000001", "6b0c8f3e-0000-4000-8000-000000000002"
HOSTS = {
    "node1": {
        "hostname": "node1",
        "osds": [],
        "parts": {
            "mon": {"daemons": ["node1"]},
            "mds": {"daemons": ["node1"], "keys": ["mds.node1"]},
            "mgr": {"daemons": ["node1"], "keys": ["mgr.node1"]},
            "prometheus": {},
            "admin": {},
        },
    }
}


class Systemd:
    """``halocline.run`` and ``status`` as systemctl answers them; what else was run."""

    def __init__(self, *running):
        self.running, self.ran, self.stubborn, self.ending = set(running), [], set(), set()

    def run(self, command, *, limit=0, ok=(0,), **_):
        if command[1] == "show":
            return "\n\n".join(self._state(unit) for unit in command[5:]) + "\n"
        self.ran.append(list(command))
        if command[1] == "list-units":
            return "".join(f"{unit}.service loaded active running x\n" for unit in sorted(self.running))
        if command[1] == "stop" or "--now" in command:
            self.running -= set(command) - self.stubborn
            self.ending -= set(command) - self.stubborn
        return ""

    def _state(self, unit):
        return "active" if unit in self.running else "deactivating" if unit in self.ending else "inactive"

    def status(self, command, *, limit=0):
        return 0 if command[-1] in self.running else 3


def keyring(path, name, entity="x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[{entity}]\n\tkey = {KEYS[name]}\n")


@pytest.fixture
def daemons(python_module, tmp_path, monkeypatch):
    """A host with daemons of ours, and what is another's beside them."""
    module, retire, keys = (python_module(name) for name in ("daemons_purge", "daemons_retire", "host_keys"))
    ceph = python_module("host_ceph")
    etc, lib = tmp_path / "etc/ceph", tmp_path / "var/lib/ceph"
    keyring(lib / "mon/ceph-node1/keyring", "a")
    keyring(lib / "mon/.ceph-node1.removed-20260101T000000/keyring", "a")  # mon.retire moved it aside
    keyring(lib / "mgr/ceph-node1/keyring", "b")
    keyring(lib / "mds/ceph-node1/keyring", "z")  # its place is ours, its key is not
    keyring(lib / "mds/other-node1/keyring", "z")
    keyring(lib / "bootstrap-rgw/ceph.keyring", "b")
    keyring(etc / "ceph.client.admin.keyring", "a")
    keyring(etc / "ceph.client.theirs.keyring", "z")
    (etc / "other.conf").write_text(f"fsid = {OTHER}\n")
    (etc / "ceph.conf").write_text(f"[global]\nfsid = {FSID}\n")
    keyring(lib / OTHER / "mon.node1/keyring", "z")
    systemd = Systemd("ceph-mon@node1", "ceph-mgr@node1", "ceph-mds@node1", "prometheus")
    pillar = {"fsid": FSID, "ceph_os": {"prometheus": {"service": "prometheus"}}}
    asks = {
        "daemons_retire.units": retire.units,
        "daemons_retire.paths": retire.paths,
        "daemons_retire.running": retire.running,
        "host_keys.hashes": keys.hashes,
        "host_ceph.inspect": ceph.inspect,
    }
    mocks = {
        module: {"__salt__": asks, "__pillar__": pillar, "__grains__": {"id": "node1"}, "ETC": etc, "LIB": lib},
        retire: {"__pillar__": pillar, "__grains__": {"id": "node1"}, "ROOT": tmp_path},
        ceph: {"CONF": etc / "ceph.conf", "LIB": lib},
    }
    monkeypatch.setattr(module.halocline, "run", systemd.run)
    monkeypatch.setattr(module.halocline, "status", systemd.status)
    with LoaderModuleMock(mocks):
        yield module, systemd, pillar, tmp_path


def files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


THEIRS = {
    "var/lib/ceph/mds/ceph-node1/keyring",
    "var/lib/ceph/mds/other-node1/keyring",
    f"var/lib/ceph/{OTHER}/mon.node1/keyring",
    "etc/ceph/ceph.client.theirs.keyring",
    "etc/ceph/other.conf",
}


def test_what_proves_to_be_the_clusters_goes_and_all_else_stays(daemons):
    module, systemd, _, root = daemons
    before = files(root)
    seen = module.look(FSID, HOSTS, HASHES)
    assert (seen["pillar"], seen["conf"]) == (FSID, FSID)
    units = {"mon": ["ceph-mon@node1"], "mgr": ["ceph-mgr@node1"], "prometheus": ["prometheus"]}
    assert seen["units"] == units  # the metadata server there is by a key that the master never had
    assert [name.removeprefix(str(root) + "/") for name in seen["others"]] == [
        f"var/lib/ceph/{OTHER} (cephadm's)",
        "etc/ceph/other.conf",
        "var/lib/ceph/mds/ceph-node1",
        "var/lib/ceph/mds/other-node1",
        "etc/ceph/ceph.client.theirs.keyring",
    ]
    assert seen["files"][-1] == str(root / "etc/ceph/ceph.conf") and files(root) == before and systemd.ran == []
    for parts in (["prometheus"], ["mds"], ["mgr"], ["mon"], ["mon"]):
        module.stop(FSID, HOSTS, HASHES, {"node1": parts})
    assert systemd.running == {"ceph-mds@node1"}
    assert module.remove(FSID, HOSTS, HASHES) == seen["files"]
    assert files(root) == THEIRS <= before
    assert module.remove(FSID, HOSTS, HASHES) == []


def test_a_host_of_another_cluster_is_not_touched(daemons):
    module, systemd, pillar, root = daemons
    before = files(root)
    wrong = ((FSID, OTHER), (OTHER, FSID))
    for told, conf in wrong:
        pillar["fsid"] = told
        (root / "etc/ceph/ceph.conf").write_text(f"fsid = {conf}\n")
        with pytest.raises(CommandExecutionError, match=f"names cluster {OTHER}, not {FSID}: nothing was touched"):
            module.stop(FSID, HOSTS, HASHES, {"node1": ["mon"]})
        with pytest.raises(CommandExecutionError, match="nothing was touched"):
            module.remove(FSID, HOSTS, HASHES)
    assert systemd.ran == [] and files(root) == before


def test_a_store_that_is_a_mount_is_emptied_and_a_link_goes_without_its_target(daemons, monkeypatch):
    module, systemd, _, root = daemons
    store, link = root / "var/lib/ceph/mon/ceph-node1", root / "var/lib/ceph/mgr/ceph-node1"
    link.rename(root / "elsewhere")
    link.symlink_to(root / "elsewhere")
    systemd.running.clear()
    mounts = (store, root / "elsewhere")  # pathlib's looks where a link leads, before Python 3.12
    monkeypatch.setattr(type(root), "is_mount", lambda path: path.resolve() in mounts)
    for _ in range(2):
        module.remove(FSID, HOSTS, HASHES)
        assert list(store.iterdir()) == [] and not link.is_symlink() and (root / "elsewhere/keyring").exists()


def test_a_daemon_that_runs_keeps_its_files(daemons):
    module, systemd, _, root = daemons
    before = files(root)
    with pytest.raises(CommandExecutionError, match="runs again: its files are not removed"):
        module.remove(FSID, HOSTS, HASHES)
    systemd.stubborn = {"ceph-mgr@node1"}
    with pytest.raises(CommandExecutionError, match="ceph-mgr@node1 runs still"):
        module.stop(FSID, HOSTS, HASHES, {"node1": ["mgr"]})
    assert files(root) == before


def test_a_daemon_that_is_still_ending_keeps_its_files_and_is_waited_for(daemons):
    """A stop that took too long was given up; its unit does not run, and would not at the next boot."""
    module, systemd, _, root = daemons
    before = files(root)
    systemd.running, systemd.ending = set(), {"ceph-mgr@node1"}
    assert module.look(FSID, HOSTS, HASHES)["units"] == {"mgr": ["ceph-mgr@node1"]}
    with pytest.raises(CommandExecutionError, match="ceph-mgr@node1 runs again: its files are not removed"):
        module.remove(FSID, HOSTS, HASHES)
    systemd.stubborn = {"ceph-mgr@node1"}
    with pytest.raises(CommandExecutionError, match="ceph-mgr@node1 runs still"):
        module.stop(FSID, HOSTS, HASHES, {"node1": ["mgr"]})
    assert files(root) == before
    systemd.stubborn = set()
    assert module.stop(FSID, HOSTS, HASHES, {"node1": ["mgr"]}) == ["ceph-mgr@node1"] and systemd.ending == set()
    assert module.remove(FSID, HOSTS, HASHES)


class Osds:
    """A host's OSDs: 1 by its record, 2 by its volume and folder, 3 another cluster's, 4 that says nothing."""

    def __init__(self, root):
        self.data, self.records = root / "osd", root / "records"
        for number, cluster in ((1, None), (2, FSID), (3, OTHER), (4, None)):
            (self.data / f"ceph-{number}").mkdir(parents=True)
            if cluster:
                (self.data / f"ceph-{number}/ceph_fsid").write_text(f"{cluster}\n")
        self.records.mkdir()
        (self.records / "1").write_text(f"fsid {ONE}\nblock slot-{ONE}\n")
        self.closed = []
        tags = {"ceph.osd_id": "2", "ceph.osd_fsid": TWO, "ceph.cluster_fsid": FSID}
        theirs = {"ceph.osd_id": "3", "ceph.osd_fsid": "x", "ceph.cluster_fsid": OTHER}
        self.groups = {
            "/dev/sdb": {"uuid": "pv-b", "volumes": [{"name": "ours", "tags": tags}]},
            "/dev/sdc": {"uuid": "pv-c", "volumes": [{"name": "theirs", "tags": theirs}, {"name": "home", "tags": {}}]},
        }

    def left(self):
        return sorted(path.name for path in (*self.data.iterdir(), *self.records.iterdir()))


@pytest.fixture
def osds(python_module, tmp_path, monkeypatch):
    module, record, retire = (python_module(name) for name in ("osd_purge", "osd_record", "daemons_retire"))
    host = Osds(tmp_path)
    disks = [{"device": f"/dev/sd{letter}", "id": letter} for letter in "abcde"]
    clean = {"signatures": [], "osds": []}
    content = {"/dev/sda": {"signatures": [], "osds": [{}]}, "/dev/sdd": clean, "/dev/sde": clean}
    asks = {
        "disks.inspect": lambda: {"ceph_disks": disks, "inspected": content},
        "disks.partitions": lambda device: {"guid": f"table-{device[-1]}" if device[-1] == "d" else "x"},
        "disks_lvm.groups": lambda: host.groups,
        "osd_names.table_guid": "table-{}".format,
        "osd_names.pv_uuid": "pv-{}".format,
        "osd_names.slots": lambda fsid, role: [f"slot-{fsid}", "second"],
        "osd_record.read": record.read,
        "osd_record.vacate": record.vacate,
        "daemons_retire.running": retire.running,
        "osd_lvm_parts.close": lambda volume: host.closed.append(volume["name"]),
    }
    systemd = Systemd(*(f"ceph-osd@{number}" for number in (1, 2, 3, 4, 9)))
    (tmp_path / "simple").mkdir()
    for name in (f"2-{TWO}", "3-x"):
        (tmp_path / f"simple/{name}.json").write_text("{}")
    own = {
        "SIMPLE": tmp_path / "simple",
        "DATA": host.data,
        "RECORDS": host.records,
        "WAITING": tmp_path / "waiting",
        "SHIPPED": (tmp_path / "sbin",),
    }
    (tmp_path / "sbin").write_text("")
    monkeypatch.setattr(module.halocline, "run", systemd.run)
    monkeypatch.setattr(module.halocline, "status", systemd.status)
    pillar = {"fsid": FSID}
    with LoaderModuleMock({module: {"__salt__": asks, "__pillar__": pillar, **own}, record: {"RECORDS": host.records}}):
        yield module, systemd, host, pillar


def test_every_osd_is_seen_and_whose_it_is(osds):
    seen = osds[0].look(FSID)
    whose = [(osd["id"], osd["fsid"], osd["cluster"]) for osd in seen["osds"]]
    assert whose == [(1, ONE, FSID), (2, TWO, FSID), (3, "x", OTHER), (4, None, None), (9, None, None)]
    assert seen["made"] == ["/dev/sdd"]  # our table alone is on it; on sde somebody else's is


def test_an_osd_that_two_clusters_claim_is_not_ours(osds):
    module, _, host, _ = osds
    (host.data / "ceph-2/ceph_fsid").write_text(OTHER)
    assert [osd["cluster"] for osd in module.look(FSID)["osds"]][:2] == [FSID, OTHER]


def test_its_own_osds_are_stopped_and_let_go_of_and_no_others(osds, tmp_path):
    module, systemd, host, _ = osds
    with pytest.raises(CommandExecutionError, match="ceph-osd@1, ceph-osd@2 runs, or is stopping"):
        module.release(FSID)
    assert host.left() == ["1", "ceph-1", "ceph-2", "ceph-3", "ceph-4"]
    assert module.stop(FSID) == ["osd.1", "osd.2"] == module.stop(FSID)
    assert systemd.running == {"ceph-osd@3", "ceph-osd@4", "ceph-osd@9"}
    assert len(module.release(FSID)) == 2 and host.closed == ["ours"]
    assert [path.name for path in (tmp_path / "simple").iterdir()] == ["3-x.json"]
    assert f"ceph-volume@simple-2-{TWO}" in [word for command in systemd.ran for word in command]
    assert host.left() == ["ceph-3", "ceph-4"] and not (tmp_path / "sbin").exists()
    assert module.release(FSID) == []  # its volumes still name osd.2: nothing is left to do


def test_the_folder_that_is_a_link_goes_without_its_target(osds, tmp_path):
    module, _, host, _ = osds
    folder, elsewhere = host.data / "ceph-2", tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    module.stop(FSID)
    assert str(folder) in module.release(FSID)
    assert not folder.is_symlink() and (elsewhere / "ceph_fsid").exists()


def test_a_host_that_is_told_of_another_cluster_keeps_its_osds(osds):
    module, systemd, host, pillar = osds
    pillar["fsid"] = OTHER
    for what in (module.stop, module.release):
        with pytest.raises(CommandExecutionError, match="nothing was touched"):
            what(FSID)
    assert len(systemd.running) == 5 and len(host.left()) == 5


def test_an_osd_that_is_still_stopping_keeps_its_disk(osds):
    module, systemd, host, _ = osds
    systemd.running, systemd.ending = {"ceph-osd@3"}, {"ceph-osd@1"}
    with pytest.raises(CommandExecutionError, match="ceph-osd@1 runs, or is stopping: nothing of it was removed"):
        module.release(FSID)
    assert "ceph-1" in host.left()


def test_an_osd_that_does_not_stop_is_named(osds):
    module, systemd, _, _ = osds
    systemd.stubborn = {"ceph-osd@2"}
    with pytest.raises(CommandExecutionError, match="ceph-osd@2 runs still"):
        module.stop(FSID)


def test_a_program_that_stays_connected_is_a_client_and_a_command_is_none(python_module):
    module = python_module("cluster_purge")
    answers = {"fsid": {"fsid": FSID}}
    answers["df"] = {"pools": [{"name": "p", "stats": {"objects": 2, "stored": 8}, "id": 1}]}
    looks = iter(
        [
            {"client.admin": {"a/1"}, "client.a": {"b/2"}, "client.rgw.x": {"c/3"}, "osd.1": {"d/4"}},
            {"client.admin": {"a/9"}, "client.a": {"b/2", "b/8"}, "client.rgw.x": {"c/3"}, "osd.1": {"d/4"}},
        ]
    )
    asks = {"cluster_cli.ask": lambda words: answers[words[0]], "cluster_clients.connected": lambda: next(looks)}
    with LoaderModuleMock({module: {"__salt__": asks}}):
        assert module.look(["client.rgw.x"]) == {
            "fsid": FSID,
            "clients": ["client.a at b/2"],
            "pools": [{"name": "p", "objects": 2, "bytes": 8}],
        }
