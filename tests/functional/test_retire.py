"""What a host and the cluster refuse to give up, whoever asks: OSDs that are needed, daemons that are planned, keys."""

from contextlib import nullcontext

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

FSID, OTHER = "6b0c8f3e-0000-4000-8000-000000000001", "6b0c8f3e-0000-4000-8000-000000000002"
MDS = {"daemons": ["node1"], "keys": ["mds.node1"]}
TREE = [
    {"id": -1, "type": "root", "name": "default", "children": [-2, -3, -4]},
    {"id": -2, "type": "host", "name": "node1", "children": [0, 1]},
    {"id": -3, "type": "host", "name": "node2", "children": [2]},
    {"id": -4, "type": "host", "name": "node3", "children": []},
    *({"id": osd, "type": "osd", "name": f"osd.{osd}", "crush_weight": 5.5, "status": "up"} for osd in range(3)),
]


@pytest.fixture
def host(python_module, tmp_path):
    """A module of OSDs that leave on a host with one, whose record is there; what it may ask."""
    module, record = python_module("osd_retire"), python_module("osd_record")
    (tmp_path / "records").mkdir()
    (tmp_path / "records/3").write_text(f"fsid {FSID}\nblock x\n")
    asks = {
        "disks_lvm.groups": dict,
        "osd_plan.osds": list,
        "osd_record.read": record.read,
        "osd_record.vacate": record.vacate,
        "osd_register.known": lambda fsid: False,
        "disks_kernel.in_use": dict,
        "osd_lvm_parts.remove": lambda fsid: [],
        "osd_guard.gone": lambda disk: None,
        "osd_waiting.release": lambda osd_id: None,
        "osd_waiting.keep": lambda fsid, place: None,
        "osd_waiting.kept": dict,
        "service.enabled": lambda unit: False,
    }
    ran = []
    own = {"RECORDS": tmp_path / "records"}
    with LoaderModuleMock({module: {"__salt__": asks, **own, "DATA_DIR": tmp_path, "_run": ran.append}, record: own}):
        yield module, asks, ran


def test_an_osd_that_is_planned_is_not_stopped(host):
    module, asks, ran = host
    asks["osd_plan.osds"] = lambda: [{"fsid": FSID}]
    with pytest.raises(CommandExecutionError, match="still planned on this host: it was not stopped"):
        module.retire(3, FSID)
    assert ran == []
    asks["osd_plan.osds"] = list
    assert module.retire(3, FSID) == {"stopped": "ceph-osd@3"}
    assert ["systemctl", "stop", "ceph-osd@3", "osd-devices@3"] in ran


def test_osds_of_a_device_stop_together_or_none_does(host, tmp_path):
    module, _, ran = host
    (tmp_path / "records/4").write_text(f"fsid {OTHER}\nblock x\n")
    with pytest.raises(CommandExecutionError, match=f"osd.4 of this host is the OSD with fsid {OTHER}, not {FSID}x"):
        module.stop_all({FSID: 3, f"{FSID}x": 4})
    assert ran == []
    assert module.stop_all({FSID: 3, OTHER: 4}) == ["ceph-osd@3", "ceph-osd@4"]
    assert [words for words in ran if "stop" in words] == [
        ["systemctl", "stop", "ceph-osd@3", "ceph-osd@4", "osd-devices@3", "osd-devices@4"]
    ]


def test_a_record_that_says_nothing_is_none(host, tmp_path):
    module, _, _ = host
    (tmp_path / "records/4").write_text("")
    assert (module.recorded(3), module.recorded(4)) == ({"fsid": FSID}, {"fsid": None})


def test_a_volume_that_names_no_osd_holds_back_no_other(host):
    """As ``ceph-volume`` makes those that are not an OSD's yet: ``create_lv`` in its api/lvm.py."""
    module, asks, _ = host
    tags = [{"ceph.osd_fsid": "null", "ceph.osd_id": "null"}, {"ceph.osd_fsid": OTHER, "ceph.osd_id": "4"}]
    volumes = [{"tags": each, "slot": None} for each in tags]
    asks |= {"disks_lvm.groups": lambda: {"/dev/sdb": {"volumes": volumes}}, "osd_names.slots": lambda *_: []}
    assert module.numbers([FSID, OTHER]) == {FSID: 3, OTHER: 4}
    assert module.left([FSID, OTHER]) == {FSID: 3}


def adopted(tmp_path, number, fsid, cluster="5bd9f8f0-5f5e-4a0e-9a5e-000000000001"):
    """The folder of an OSD that others made: no record, no volume of ours."""
    folder = tmp_path / f"ceph-{number}"
    folder.mkdir()
    (folder / "fsid").write_text(f"{fsid}\n")
    (folder / "ceph_fsid").write_text(f"{cluster}\n")
    return folder


@pytest.mark.parametrize("left", [{}, {"adopted": None}, {"adopted": {"osds": None}}])
def test_an_adopted_osd_leaves_by_its_folder_and_its_disk_is_not_written_to(host, tmp_path, left):
    """Its lines, and those alone, were taken out of its host's record: what stood above them may be left."""
    module, asks, ran = host
    folder = adopted(tmp_path, 7, OTHER)
    pillar = {"fsid": "5bd9f8f0-5f5e-4a0e-9a5e-000000000001", "ceph": left}
    named = {**pillar, "ceph": {"adopted": {"osds": {OTHER: {"id": 7, "form": "simple"}}}}}
    with (
        LoaderModuleMock({module: {"__pillar__": named, "__salt__": asks}}),
        pytest.raises(CommandExecutionError, match="osd.7 .* is still planned on this host: it was not stopped"),
    ):
        module.retire(7, OTHER)
    assert ran == []
    with LoaderModuleMock({module: {"__pillar__": pillar, "__salt__": asks}}):
        assert module.left([OTHER]) == {OTHER: 7} and module.left([FSID]) == {FSID: 3}
        assert module.retire(7, OTHER) == {"stopped": "ceph-osd@7"}
        assert [word for word in ran[0] if OTHER in word] == [
            f"ceph-volume@{kind}-7-{OTHER}" for kind in ("lvm", "simple")
        ]
        assert module.free(7) == {"freed": []} and not folder.exists()
        assert module.left([OTHER]) == {} and module.free(7) == {"freed": []}


def test_what_is_mounted_on_an_osds_folder_and_where_it_leads_keeps_what_it_holds(python_module, tmp_path, monkeypatch):
    """The folder of an OSD of ceph-disk's is its data partition, which may be mounted there twice."""
    record, folder, mounts = python_module("osd_record"), tmp_path / "ceph-7", ["first", "second"]
    (folder / "keyring").mkdir(parents=True)

    def run(words, **_):
        assert words == ["umount", str(folder)] and (folder / "keyring").exists()
        mounts.pop()

    with monkeypatch.context() as played:
        played.setattr(type(folder), "is_mount", lambda path: path == folder and bool(mounts))
        played.setattr(record.halocline, "run", run)
        record.vacate(folder)
    assert mounts == [] and not folder.exists()
    elsewhere = adopted(tmp_path, 8, OTHER)
    folder.symlink_to(elsewhere)
    record.vacate(folder)
    record.vacate(folder)
    assert not folder.is_symlink() and (elsewhere / "fsid").exists()


def test_the_folder_of_another_clusters_osd_is_no_osd_of_ours(host, tmp_path):
    module, asks, ran = host
    folder = adopted(tmp_path, 7, OTHER, cluster=FSID)
    pillar = {"fsid": "5bd9f8f0-5f5e-4a0e-9a5e-000000000001"}
    with LoaderModuleMock({module: {"__pillar__": pillar, "__salt__": asks}}):
        assert module.left([OTHER]) == {} and module.retire(7, OTHER) == {"stopped": "nothing"}
        assert module.free(7) == {"freed": []}
    assert ran == [] and folder.exists()


def test_a_copy_of_a_record_is_no_record(host, tmp_path):
    (tmp_path / "records/3.bak").write_text(f"fsid {FSID}\nblock x\n")
    assert host[0].left([FSID]) == {FSID: 3}


def test_a_number_that_is_another_osds_is_not_stopped(host):
    module, _, ran = host
    assert module.retire(3, OTHER) == {"stopped": "nothing"} and ran == []
    with pytest.raises(CommandExecutionError, match="is the OSD with fsid"):
        module.stop(3, OTHER)


def test_no_slot_is_freed_while_the_cluster_has_the_osd(host):
    module, asks, ran = host
    asks["osd_register.known"] = lambda fsid: fsid == FSID
    with pytest.raises(CommandExecutionError, match="the cluster still has osd.3"):
        module.free(3)
    assert ran == [] and module.left([FSID, OTHER]) == {FSID: 3}
    asks["osd_register.known"] = lambda fsid: False
    assert module.free(3) == {"freed": []}
    assert module.left([FSID, OTHER]) == {} and module.free(3) == {"freed": []}


def test_a_slot_whose_table_cannot_be_read_now_keeps_the_record_that_names_it(host, tmp_path):
    """Without the record nobody finds the slot again: its place on the DB device would be taken for good."""
    module, asks, _ = host
    (tmp_path / "db-slot").touch()
    asks |= {
        "disks_kernel.in_use": lambda: {"/dev/sda": [], "/dev/sdb": []},
        "disks_kernel.holder": lambda slot: "/dev/sdb",
        "disks.partitions": lambda disk: None,
        "osd_names.slots": lambda fsid, role: [f"{role}-slot", f"{role}-second"],
    }
    with LoaderModuleMock({module: {"SLOTS": tmp_path, "__salt__": asks}}):
        with pytest.raises(CommandExecutionError, match="/dev/sdb carries a slot of osd.3, and its table cannot be"):
            module.free(3)
        assert module.recorded(3) == {"fsid": FSID}
        asks["disks.partitions"] = lambda disk: {"partitions": []}
        assert module.free(3) == {"freed": []} and module.recorded(3) == {"fsid": None}


def test_volumes_that_are_left_are_found_and_the_data_alone_is_not(host):
    module, asks, _ = host
    tags = {"ceph.osd_fsid": OTHER, "ceph.osd_id": "4"}
    volumes = [{"tags": tags, "slot": "data"}]
    asks["disks_lvm.groups"] = lambda: {"/dev/sda": {"volumes": volumes}}
    asks["osd_names.slots"] = lambda fsid, role: [role, f"{role}-2"]
    assert module.left([OTHER]) == {}
    asks["service.enabled"] = lambda unit: unit == f"ceph-volume@lvm-4-{OTHER}"
    assert module.left([OTHER]) == {OTHER: 4}
    asks["service.enabled"] = lambda unit: False
    volumes.append({"tags": tags, "slot": "wal"})
    assert module.left([OTHER]) == {OTHER: 4}


class Systemd:
    """``halocline.run`` and ``status`` as systemctl answers them; ``ran``: what changes something."""

    def __init__(self, **states):
        self.states, self.enabled, self.ran, self.stubborn = dict(states), set(), [], set()

    def run(self, command, limit=0):
        if command[1] == "show":
            return "\n\n".join(self.states.get(unit, "inactive") for unit in command[5:]) + "\n"
        self.ran.append(list(command))
        if command[1] == "disable":
            self.enabled -= set(command)
        if command[1] == "stop" or "--now" in command:
            self.states.update(dict.fromkeys(set(command) & self.states.keys() - self.stubborn, "inactive"))
        return ""

    def status(self, command, limit=0):
        if "is-active" in command:
            return 0 if self.states.get(command[-1]) == "active" else 3
        if "is-enabled" in command:
            return 0 if command[-1] in self.enabled else 1
        self.ran.append(list(command))
        return 0


@pytest.fixture
def systemd():
    """A host on which a metadata server runs."""
    made = Systemd(**{"ceph-mds@node1": "active"})
    made.enabled.add("ceph-mds@node1")
    return made


@pytest.fixture
def daemons(python_module, tmp_path, monkeypatch, systemd):
    """The module of daemons that leave, below a root of its own; the pillar, and what was run."""
    module = python_module("daemons_retire")
    pillar = {"ceph_os": {"prometheus": {"service": "prometheus"}}}
    folder = tmp_path / "var/lib/ceph/mds/ceph-node1"
    folder.mkdir(parents=True)
    (folder / "keyring").write_text("secret")
    monkeypatch.setattr(module.halocline, "run", systemd.run)
    monkeypatch.setattr(module.halocline, "status", systemd.status)
    with LoaderModuleMock(
        {module: {"__pillar__": pillar, "ROOT": tmp_path, "__salt__": {}, "__grains__": {"id": "node1"}}}
    ):
        yield module, pillar, systemd.ran, tmp_path


def test_what_a_daemon_starts_beside_goes_too(daemons):
    """systemd leaves it running, where nothing but its daemon wanted it."""
    module, _, ran, _ = daemons
    module.retire("ganesha", {"daemons": ["node1"], "keys": ["client.ganesha.node1"]})
    assert ran == [["systemctl", "stop", "--quiet", "nfs-ganesha-lock"]]


def test_a_daemon_that_has_no_role_any_more_goes_with_its_key(daemons):
    module, _, ran, root = daemons
    gone = module.retire("mds", MDS)
    assert gone == {"stopped": ["ceph-mds@node1"], "removed": [str(root / "var/lib/ceph/mds/ceph-node1")]}
    assert ran == [["systemctl", "disable", "--quiet", "ceph-mds@node1"], ["systemctl", "stop", "ceph-mds@node1"]]
    assert module.retire("mds", MDS) == {"stopped": [], "removed": []} and len(ran) == 2


@pytest.mark.parametrize("state", ["deactivating", "activating", "reloading"])
def test_a_daemon_that_has_not_ended_is_waited_for(daemons, systemd, state):
    """A stop that takes long was given up: the unit is disabled by then, and still ends what it has under way."""
    module, _, ran, root = daemons
    systemd.states["ceph-mds@node1"], systemd.enabled = state, set()
    assert module.left({"node1": {"parts": {"mds": MDS}, "osds": []}})["parts"] == ["mds"]
    assert module.retire("mds", MDS)["stopped"] == ["ceph-mds@node1"]
    assert ["systemctl", "stop", "ceph-mds@node1"] in ran and systemd.states == {"ceph-mds@node1": "inactive"}
    assert not (root / "var/lib/ceph/mds/ceph-node1").exists()


def test_a_daemon_that_does_not_end_keeps_its_files_and_its_key(daemons, systemd):
    module, _, _, root = daemons
    systemd.states["ceph-mds@node1"], systemd.stubborn = "deactivating", {"ceph-mds@node1"}
    with pytest.raises(CommandExecutionError, match="ceph-mds@node1 runs still"):
        module.retire("mds", MDS)
    assert (root / "var/lib/ceph/mds/ceph-node1/keyring").exists()


def test_a_unit_that_failed_or_is_not_there_has_ended(daemons, systemd):
    module, _, ran, root = daemons
    systemd.states["ceph-mds@node1"], systemd.enabled = "failed", set()
    assert module.retire("mds", MDS) == {"stopped": [], "removed": [str(root / "var/lib/ceph/mds/ceph-node1")]}
    assert ran == []


@pytest.mark.parametrize(
    ("told", "part"),
    [
        ({"ceph": {"services": {"mds": {"name": "node1"}}}}, "mds"),
        ({"roles": ["mds"]}, "mds"),
        ({"roles": ["mgr"]}, "mgr"),
        ({"roles": ["master"]}, "admin"),
        ({"roles": ["storage"]}, "crash"),
        ({"roles": ["storage"]}, "bootstrap-osd"),
        ({"ceph": {"services": {"rgw": {"gateways": [{"name": "node1"}]}}}}, "rgw"),
    ],
)
def test_what_is_planned_is_not_stopped(daemons, told, part):
    module, pillar, ran, root = daemons
    pillar |= told
    with pytest.raises(CommandExecutionError, match=f"{part} is still planned on this host"):
        module.retire(part, MDS)
    assert ran == [] and (root / "var/lib/ceph/mds/ceph-node1/keyring").exists()


def test_an_nfs_server_leaves_its_cluster_before_its_key_goes(daemons):
    """Interrupted between the two, it leaves again; once its key is gone, it has left."""
    module, _, _, root = daemons
    left = []
    keyring, conf = root / "etc/ceph/ceph.client.ganesha.node1.keyring", root / "etc/ganesha/exports.conf"
    for path in (keyring, conf):
        path.parent.mkdir(parents=True)
        path.write_text("secret")
    module.__salt__["ganesha_grace.leave"] = lambda *words, **more: left.append((*words, more["namespace"]))
    grace = {"user": "ganesha.node1", "pool": ".nfs", "namespace": "ganesha"}
    told = {"daemons": ["node1"], "keys": ["client.ganesha.node1"], "grace": grace}
    assert module.retire("ganesha", told)["removed"] == [str(conf), str(keyring)]
    assert left == [("node1", "ganesha")]
    assert module.retire("ganesha", told)["removed"] == [] and len(left) == 1


def test_a_host_that_leaves_keeps_no_keyring_of_a_client(daemons):
    """Of the site's own clients too; one that nobody named stays."""
    module, pillar, ran, root = daemons
    folder = root / "etc/ceph"
    folder.mkdir(parents=True)
    for name in ("client.app", "client.by-hand"):
        (folder / f"ceph.{name}.keyring").write_text("secret")
    told = {"clients": ["client.app", "client.gone"]}
    assert module.left({"node1": {"parts": {"client-keys": told}, "osds": []}})["parts"] == ["client-keys"]
    assert module.retire("client-keys", told) == {"stopped": [], "removed": [str(folder / "ceph.client.app.keyring")]}
    assert (folder / "ceph.client.by-hand.keyring").exists() and ran == []
    pillar |= {"ceph": {"services": {"client-keys": {"keyrings": [{"path": "/etc/ceph/ceph.client.app.keyring"}]}}}}
    with pytest.raises(CommandExecutionError, match="client-keys is still planned on this host"):
        module.retire("client-keys", told)


def test_a_host_that_stays_loses_one_keyring_and_keeps_the_others(daemons):
    module, pillar, ran, root = daemons
    folder = root / "etc/ceph"
    folder.mkdir(parents=True)
    for name in ("client.app", "client.old", "client.by-hand"):
        (folder / f"ceph.{name}.keyring").write_text("secret")
    pillar |= {"ceph": {"services": {"client-keys": {"keyrings": [{"path": "/etc/ceph/ceph.client.app.keyring"}]}}}}
    lost = {"clients": ["client.old"], "keys": []}
    assert module.left({"node1": {"parts": {"client-keys": lost}, "osds": []}})["parts"] == ["client-keys"]
    with pytest.raises(CommandExecutionError, match="client-keys is still planned on this host"):
        module.retire("client-keys", {"clients": ["client.app", "client.old"]})
    assert module.retire("client-keys", lost)["removed"] == [str(folder / "ceph.client.old.keyring")]
    assert sorted(path.name for path in folder.iterdir()) == ["ceph.client.app.keyring", "ceph.client.by-hand.keyring"]
    assert module.left({"node1": {"parts": {"client-keys": lost}, "osds": []}})["parts"] == [] and ran == []


def test_a_monitors_store_is_found_and_never_removed(daemons):
    module, _, ran, root = daemons
    store = root / "var/lib/ceph/mon/ceph-node1"
    store.mkdir(parents=True)
    told = {"daemons": ["node1"]}
    assert module.left({"node1": {"parts": {"mon": told}, "osds": []}})["parts"] == ["mon"]
    with pytest.raises(CommandExecutionError, match=r"mon\.retire moves it aside"):
        module.retire("mon", told)
    assert store.is_dir() and ran == []


def test_one_gateway_leaves_while_another_is_planned(daemons):
    module, pillar, _, _ = daemons
    pillar |= {"ceph": {"services": {"rgw": {"gateways": [{"name": "rgw.node1"}]}}}}
    assert module.retire("rgw", {"daemons": ["secure.node1"]}) == {"stopped": [], "removed": []}


@pytest.mark.parametrize("name", ["../../../../etc", "a/b", "..", "-x; id", "", ".hidden"])
def test_a_name_that_is_none_leads_nowhere(daemons, name):
    module, _, ran, root = daemons
    with pytest.raises(CommandExecutionError, match="no daemon is called so"):
        module.retire("mds", {"daemons": [name]})
    assert ran == [] and (root / "var/lib/ceph/mds/ceph-node1").exists()


def test_what_a_host_still_has_is_told(daemons):
    module, _, _, root = daemons
    keyring = root / "etc/ceph/ceph.client.admin.keyring"
    keyring.parent.mkdir(parents=True)
    parts = {"mds": MDS, "admin": {}, "prometheus": {}, "client-cephfs": {"keys": ["client.cephfs.node1"]}}
    assert module.left({"node1": {"parts": parts, "osds": []}})["parts"] == ["mds"]
    keyring.write_text("secret")
    assert module.left({"node1": {"parts": parts, "osds": []}})["parts"] == ["admin", "mds"]


@pytest.fixture
def asked(python_module, monkeypatch):
    """A function: a module of the cluster's, on one that answers so; the commands that it told."""

    def on(name, **more):
        told = []
        answers = {"tree": {"nodes": TREE}, "dump": {"osds": [], **more.pop("dump", {})}, "ls": more.pop("ls", {})}

        def tell(words, stdin=None):
            if words[1] in more.get("refuses", ()):
                raise CommandExecutionError(f"Error EBUSY: {words[1]}")
            told.append(words)
            return ""

        cli = python_module("cluster_cli")
        asks = {
            "cluster_cli.ask": lambda words: more.get("config", []) if words[0] == "config" else answers[words[1]],
            "cluster_cli.ask_all": lambda questions: [answers[words[1]] for words in questions],
            "cluster_cli.tell": tell,
            "cluster_cli.tell_all": lambda commands: list(map(tell, commands)),
            "cluster_cli.refused": cli.refused,
            "cluster_cli.kept": lambda key: more.get("record"),
            "cluster_health.held": lambda ids, back: more.get("held", []) if not back else ["noup"],
        }
        module = python_module(name)
        monkeypatch.setattr(cli, "tell", tell)
        return (
            LoaderModuleMock({module: {"__salt__": asks, "__pillar__": more.get("pillar", {}), "DOWN": 0}}),
            module,
            told,
        )

    return on


def osd(**more):
    return {"osd": 3, "uuid": FSID, "state": ["exists"], "up": 0, "in": 0, **more}


@pytest.mark.parametrize(
    ("there", "refuses", "why"),
    [
        (osd(uuid=OTHER), [], None),
        (osd(up=1), [], "osd.3 still runs"),
        (osd(), ["safe-to-destroy"], "Error EBUSY: safe-to-destroy"),
    ],
    ids=["another one has its number", "it runs", "not safe to destroy"],
)
def test_an_osd_that_is_needed_is_not_purged(asked, there, refuses, why):
    mock, module, told = asked("cluster_osds", dump={"osds": [there]}, refuses=refuses)
    with mock:
        if why is None:
            assert module.purge(3, FSID) == {"purged": False}
            with pytest.raises(CommandExecutionError, match="is not the OSD with fsid"):
                module.purge(3, "")
        else:
            with pytest.raises(CommandExecutionError, match=why):
                module.purge(3, FSID)
    assert not any(words[:2] == ["osd", "purge"] for words in told)


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ([osd(state=["exists", "destroyed", "new"])], None),  # its answer was lost
        ([osd(uuid=OTHER)], "is not the OSD with fsid"),
        ([osd(state=["exists", "destroyed"]), osd(osd=4)], "is not the OSD with fsid"),  # it has another number
    ],
)
def test_one_that_is_destroyed_already_is_no_refusal(asked, there, why):
    mock, module, told = asked("cluster_osds", dump={"osds": there})
    with mock, pytest.raises(CommandExecutionError, match=why) if why else nullcontext():
        assert module.destroy(3, FSID) == {"destroyed": 3}
    assert not any(words[:2] == ["osd", "destroy"] for words in told)


def test_with_an_osd_goes_what_the_configuration_says_of_it_alone(asked):
    rows = [{"section": section, "name": "osd_max_backfills"} for section in ("osd", "osd.3", "osd.30")]
    mock, module, told = asked("cluster_osds", dump={"osds": [osd()]}, config=rows)
    with mock:
        assert module.purge(3, FSID) == {"purged": True}
    assert told[1:] == [["config", "rm", "osd.3", "osd_max_backfills"],
                        ["osd", "purge", "3", "--yes-i-really-mean-it"]]  # fmt: skip


def test_only_what_runs_is_asked_to_stop_and_all_whether_it_is_safe(asked):
    mock, module, told = asked("cluster_osds", dump={"osds": [osd(up=1), osd(osd=4, uuid=OTHER)]})
    with mock:
        assert module.stoppable([3, 4]) == {"refused": []}
    assert told == [["osd", "ok-to-stop", "3"], ["osd", "safe-to-destroy", "3", "4"]]


def test_one_that_runs_is_not_given_up_while_a_flag_keeps_it_up_in_the_map(asked):
    mock, module, _ = asked("cluster_osds", dump={"osds": [osd(up=1)]}, held=["the flag nodown is set"])
    with mock:
        assert module.stoppable([3]) == {"refused": ["the flag nodown is set"]}
    mock, module, _ = asked("cluster_osds", dump={"osds": [osd()]}, held=["the flag nodown is set"])
    with mock:
        assert module.stoppable([3]) == {"refused": []}, "it is down already"


def test_weights_are_changed_only_where_the_old_ones_are_kept(asked):
    mock, module, told = asked("cluster_removal")
    with mock, pytest.raises(CommandExecutionError, match="nobody kept the weights"):
        module.weigh({"0": 0})
    assert told == []


@pytest.mark.parametrize(
    ("weights", "commands"),
    [
        ({"0": 0, "1": 0}, ["osd crush reweight-subtree node1 0"]),
        ({"0": 0, "2": 0, "9": 0}, ["osd crush reweight-subtree node2 0", "osd crush reweight osd.0 0"]),
        ({"0": 2.75, "1": 2.75}, ["osd crush reweight osd.0 2.75", "osd crush reweight osd.1 2.75"]),
        ({"0": 5.5}, []),
    ],
    ids=["a host in one movement", "a host and an OSD", "half of it", "nothing"],
)
def test_a_host_leaves_in_one_movement(asked, weights, commands):
    mock, module, _ = asked("cluster_removal", record="x")
    with mock:
        assert module.weigh(weights) == {"run": commands}


def test_the_numbers_of_those_that_drain_are_gone_through_once(python_module):
    """Of 60,000 OSDs 6,000 may drain: each look would take seconds."""

    class Numbers(list):
        __contains__ = None

    module = python_module("cluster_osds")
    nodes = [{"id": number, "pgs": number, "kb_used_omap": 1, "kb_used_meta": 1} for number in range(9)]
    with LoaderModuleMock({module: {"__salt__": {"cluster_cli.ask": lambda words: {"nodes": nodes}}}}):
        assert module.groups(Numbers([3, 5])) == {"3": 3, "5": 5}
        assert module.metadata_bytes(Numbers([3])) == {"3": 2048}


def test_a_host_with_anything_below_it_stays_in_the_map(asked):
    mock, module, told = asked("cluster_crush")
    with mock:
        assert module.prune(["node1", "node3", "default", "node9"]) == {"removed": ["node3"]}
    assert told == [["osd", "crush", "rm", "node3"]]


REGISTER = '[mds.node1]\n\tkey = AQ==\n\tcaps mon = "allow profile mds"\n'


@pytest.mark.parametrize("name", ["mds.node1", "mon.", "client.admin", "client.bootstrap-osd"])
def test_a_key_that_is_needed_stays(asked, name):
    dump = {"auth_dump": [{"entity": each} for each in (name, "mds.node2")]}
    mock, module, told = asked("cluster_auth", ls=dump, pillar={"ceph_secrets": {"register": REGISTER}})
    with mock:
        with pytest.raises(CommandExecutionError, match="still needed: no key was removed"):
            module.remove(["mds.node2", name])
        assert told == []
        assert module.remove(["mds.node2", "mds.gone"]) == {"removed": ["mds.node2"]}
    assert told == [["auth", "rm", "mds.node2"]]


def test_a_monitor_that_is_planned_is_not_stopped(python_module):
    module = python_module("mon")
    with (
        LoaderModuleMock({module: {"__pillar__": {"roles": ["mon"]}}}),
        pytest.raises(CommandExecutionError, match="has the role mon"),
    ):
        module.retire()


CEPH = {
    "osd tree": {"nodes": [*TREE, {"id": 9, "type": "osd", "name": "osd.9", "crush_weight": 0.0}]},
    "osd dump": {"osds": [{"osd": 0, "weight": 1.0}], "full_ratio": 0.95, "backfillfull_ratio": 0.9},
    "osd df": {"nodes": [{"id": 0, "kb": 100, "kb_used": 30, "kb_used_data": 20, "pgs": 8, "var": 1.0}]},
    "df": {"pools": [{"name": "p", "stats": {"bytes_used": 4096}}]},
    "osd pool": [{"pool_name": "p", "size": 3, "crush_rule": 0, "pg_num": 32, "type": 1}],
    "osd crush": {"buckets": [], "rules": [], "types": [], "devices": []},
    "quorum_status": {"quorum_names": ["a"], "monmap": {"mons": [{"name": "a"}, {"name": "b"}]}},
    "mgr dump": {"active_name": "a", "standbys": [{"name": "b", "gid": 1}]},
    "fs dump": {
        "standbys": [{"name": "c"}],
        "filesystems": [{"mdsmap": {"fs_name": "cephfs", "max_mds": 1, "info": {"gid_1": {"name": "a"}}}}],
    },
    "auth ls": {"auth_dump": [{"entity": "mgr.a", "key": "AQsecret=="}]},
}


def test_what_is_judged_is_read_and_no_key_is_in_it(python_module):
    def ask(words):
        return next(answer for start, answer in CEPH.items() if " ".join(words).startswith(start))

    asks = {"cluster_cli.ask": ask, "cluster_cli.tell": lambda words: "250\n"}
    asks["cluster_cli.kept"] = lambda key: None
    module = python_module("cluster_removal")
    with LoaderModuleMock({module: {"__salt__": asks}}):
        seen = module.inspect()
    assert seen["weights"]["9"] == 0.0 and seen["inside"] == {"0": 1.0} and seen["keys"] == ["mgr.a"]
    assert seen["usage"] == [{"id": 0, "kb": 100, "kb_used": 30, "kb_used_data": 20, "pgs": 8}]
    assert seen["limits"] == {"backfillfull": 0.9, "full": 0.95, "max_pgs": 250}
    assert seen["pools"] == [{"pool_name": "p", "size": 3, "crush_rule": 0, "pg_num": 32, "bytes_used": 4096}]
    assert (seen["managers"], seen["active"], seen["quorum"], seen["monitors"]) == (["a", "b"], "a", ["a"], ["a", "b"])
    assert seen["file_systems"] == [{"name": "cephfs", "max_mds": 1, "servers": ["a"]}] and seen["standbys"] == ["c"]
    assert "AQsecret" not in str(seen)


def test_a_gateway_leaves_the_targets_that_another_one_serves(python_module, monkeypatch):
    module, called = python_module("iscsi"), []
    targets = {
        "iqn.both": {"portals": {"igw1.lab": {}, "igw2.lab": {}}},
        "iqn.alone": {"portals": {"igw2.lab": {}}},
        "iqn.other": {"portals": {"igw1.lab": {}, "igw20.lab": {}}},
    }
    monkeypatch.setattr(module, "config", lambda: {"targets": targets})
    monkeypatch.setattr(module, "_call", lambda *words, **more: called.append((*words, more)))
    assert module.release("igw2") == ["iqn.both: without igw2.lab"]
    assert [(words[1], words[-1]) for words in called] == [("gateway/iqn.both/igw2.lab", {"method": "DELETE"})]
