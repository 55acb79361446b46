"""What hosts and the cluster's admin host tell and do for an upgrade: programs that are scripts, a folder for /proc."""

import json

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

# As dpkg-query and rpm print them with our formats (Debian 12's Ceph 16; Fedora's).
DPKG = """\
ceph-common 16.2.15+ds-0+deb12u1 installed ceph
librados2 16.2.15+ds-0+deb12u1 installed ceph
ceph-osd 16.2.15+ds-0+deb12u2 half-configured ceph
ceph-mds 16.2.11+ds-2 config-files ceph
nfs-ganesha 4.3-4 installed nfs-ganesha
ceph-iscsi 3.5-3 installed ceph-iscsi
bash 5.2.15-2+b7 installed bash
"""
RPM = """\
ceph-common 2:17.2.7-0.el9 installed ceph-17.2.7-0.el9.src.rpm
ceph-iscsi 3.5-1.el9 installed ceph-iscsi-3.5-1.el9.src.rpm
gpg-pubkey 1-1 installed (none)
"""
NEW = "16.2.15+ds-0+deb12u2"
MAPS = "55d0-55d1 {} 0000 00:2b 1 {}\n"
PIDS = {"ceph-mon@a": "10", "ceph-osd@3": "11", "ceph-radosgw@rgw.a": "12", "tcmu-runner": "13", "ceph-mds@a": "0"}


@pytest.fixture
def host(tmp_path, monkeypatch, python_module):
    """A host whose programs are scripts: ``systemctl is-active`` says no of a unit that a file ``dead`` names."""
    for name, text in {
        "dpkg-query": f"cat <<'E'\n{DPKG}E",
        "rpm": f"cat <<'E'\n{RPM}E",
        "systemctl": 'case "$1" in show) shift 4; for u; do case $u in '
        + " ".join(f"{unit}.service) echo {pid};;" for unit, pid in PIDS.items())
        + ' esac; echo; done;; is-active|--quiet) for u; do :; done; ! grep -q "$u" "$0.dead";; '
        + '*) echo "$*" >>"$0.log";; esac',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "systemctl.dead").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    maps = {
        "10": [("r-xp", "/usr/bin/ceph-mon")],
        "11": [("r-xp", "/usr/bin/ceph-osd (deleted)")],
        "12": [("r-xp", "/usr/bin/radosgw"), ("r-xp", "/usr/lib/ceph/libceph-common.so.2 (deleted)")],
        "13": [("r-xp", "/usr/bin/tcmu-runner"), ("rw-s", "/dev/shm/x (deleted)"), ("r--p", "/usr/share/x (deleted)")],
    }
    for pid, lines in maps.items():
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "maps").write_text("".join(MAPS.format(*line) for line in lines))
    module, asked = python_module("daemons_upgrade"), []

    def latest(*names, refresh):
        asked.append((names, refresh))
        return {name: NEW if name == "ceph-common" else "" for name in names} if len(names) > 1 else "2:18.2.0-0.el9"

    salted = {
        "pkg.refresh_db": lambda failhard: asked.append("sources"),
        "pkg.latest_version": latest,
        "daemons_maintenance.units": lambda: {f"{unit}.service": "enabled" for unit in [*PIDS, "ceph-volume@lvm-3-x"]},
        "daemons.forgive": lambda units: None,
        "daemons_started.steady": lambda units, limit: asked.append(("steady", units, limit)),
        "ganesha.missing": lambda exports: asked.append("nfs"),
        "iscsi.config": lambda: asked.append("iscsi"),
    }
    grains = {"host": "a", "os_family": "Debian"}
    for name, store in {"a": "leveldb\n", "b": "rocksdb\n"}.items():
        (tmp_path / f"mon/ceph-{name}").mkdir(parents=True)
        (tmp_path / f"mon/ceph-{name}/kv_backend").write_text(store)
    played = {"PROC": tmp_path, "MONITORS": tmp_path / "mon"}
    with LoaderModuleMock({module: {**played, "__salt__": salted, "__grains__": grains, "__pillar__": {}}}):
        yield module, asked, tmp_path, grains


def test_a_hosts_packages_and_daemons_are_told(host):
    """By halves installed is not installed; a library that was replaced counts as the program does."""
    module, asked, _, _ = host
    told = module.inspect()
    assert told["packages"] == {
        "ceph-common": ["16.2.15+ds-0+deb12u1", NEW],
        "librados2": ["16.2.15+ds-0+deb12u1", "16.2.15+ds-0+deb12u1"],
        "ceph-osd": ["", NEW],
    }
    assert told["daemons"] == {
        "mon.a": ["mon", False],
        "osd.3": ["osd", True],
        "client.rgw.a": ["client", True],
        "tcmu-runner": ["gateway", False],
    }
    assert told["leveldb"] == ["mon.a"]
    assert asked == ["sources", (("ceph-common", "librados2", "ceph-osd"), False)]


def test_packages_of_rpm_are_told(host):
    module, asked, _, grains = host
    grains["os_family"] = "RedHat"
    assert module.inspect(refresh=False)["packages"] == {"ceph-common": ["2:17.2.7-0.el9", "2:18.2.0-0.el9"]}
    assert asked == [(("ceph-common",), False)]


def test_only_gateways_are_restarted_by_their_units_and_one_that_ends_is_named(host):
    module, asked, tmp_path, _ = host
    assert module.restart(["rbd-target-gw"]) == {"restarted": ["rbd-target-gw"]}
    assert (tmp_path / "systemctl.log").read_text() == "restart rbd-target-gw.service\n"
    assert asked == [("steady", ["rbd-target-gw.service"], 60)], "what systemd calls active may end a second later"
    (tmp_path / "systemctl.dead").write_text("rbd-target-gw.service")
    with pytest.raises(CommandExecutionError, match="rbd-target-gw.service: restarted, and does not run"):
        module.restart(["rbd-target-gw"])
    with pytest.raises(CommandExecutionError, match="'ssh.service': no gateway of Ceph's"):
        module.restart(["ssh"])


def test_an_iscsi_target_goes_before_its_images_and_what_serves_is_waited_for(host):
    """Of one job, systemd stops the API before tcmu-runner, whatever the order here: its unit says so."""
    module, waited, tmp_path, _ = host
    module.__pillar__["ceph"] = {"services": {"igw": {}}}
    (tmp_path / "systemctl.dead").write_text("rbd-target-gw.service")
    module.restart(["tcmu-runner"])
    assert (tmp_path / "systemctl.log").read_text() == "restart tcmu-runner.service rbd-target-api.service\n"
    module.restart(["nfs-ganesha"])
    assert [each for each in waited if isinstance(each, str)] == ["iscsi", "nfs"]


def test_an_api_that_is_not_ours_is_not_asked(host):
    module, *_ = host
    assert module.restart(["rbd-target-api"]) == {"restarted": ["rbd-target-api"]}
    assert module.packages() == ["ceph-common", "ceph-osd", "librados2"]


@pytest.fixture
def monitors(python_module):
    """The monitors' key store, and what they answer: as Ceph 16.2 does."""
    kept, told = {}, []
    system = {
        "mdsmap": {
            "fs_name": "a",
            "max_mds": 2,
            "flags": 50,
            "in": [0, 1],
            "up": {"mds_0": 41, "mds_1": 42},
            "info": {f"gid_{gid}": {"name": name} for gid, name in ((41, "x"), (42, "y"), (43, "z"))},
        }
    }
    answers = {
        "versions": {"mon": {"ceph version 16.2.15 (x) pacific (stable)": 1}},
        "osd dump": {
            "require_osd_release": "pacific",
            "flags": "sortbitwise",
            "crush_node_flags": {},
            "device_class_flags": {},
            "pools": [],
            "osds": [{"osd": 0, "up": 1, "state": ["exists", "up"]}],
        },
        "osd metadata": [],
        "mgr dump": {"active_name": "x"},
        "fs dump": {"filesystems": [system]},
        "osd count-metadata osd_objectstore": {"bluestore": 1},
        "config-key dump halocline/maintenance/": {},
        "osd tree": {"nodes": [{"id": -at, "type": "host", "name": f"n{at}", "children": [0]} for at in (1, 2)]},
        "osd ok-to-stop 0 1 --max 4": {"ok_to_stop": True, "osds": [0, 1, 2]},
        "osd ok-to-stop 3 --max 4": {"ok_to_stop": False, "osds": [3]},
    }

    flagged = answers["osd dump"]["crush_node_flags"]

    def tell(words, stdin=None):
        told.append(" ".join(words))
        match words:
            case ["osd", "set-group", flag, name]:
                flagged[name] = [flag]
            case ["config-key", "set", key, "-i", "-"]:
                kept[key] = stdin
            case ["config-key", "set", key, text]:
                kept[key] = text
            case ["config-key", "rm", key]:
                del kept[key]

    def ask(words):
        return answers[" ".join(words)]

    salted = {"cluster_cli.ask": ask, "cluster_cli.ask_all": lambda asked: list(map(ask, asked))}
    salted["cluster_cli.kept"] = kept.get
    modules = [python_module(name) for name in ("cluster_upgrade", "cluster_maintenance", "cluster_health")]
    with LoaderModuleMock({module: {"__salt__": {**salted, "cluster_cli.tell": tell}} for module in modules}):
        yield (*modules, kept, told)


def test_what_is_kept_of_an_upgrade_comes_and_goes(monitors):
    upgrade, _, _, kept, _ = monitors
    assert upgrade.inspect() == {
        "versions": {"mon": {"ceph version 16.2.15 (x) pacific (stable)": 1}},
        "required": "pacific",
        "manager": "x",
        "systems": [{"name": "a", "max_mds": 2, "standby_replay": True, "active": ["x", "y"]}],
        "stores": {"bluestore": 1},
        "record": None,
        "paused": None,
    }
    upgrade.note({"target": "2"})
    upgrade.pause("by root")
    assert json.loads(upgrade.inspect()["record"]) == {"target": "2"} and upgrade.inspect()["paused"] == "by root"
    upgrade.pause(None)
    assert upgrade.paused() is None and upgrade.pause(None)
    assert upgrade.forget() and upgrade.forget() and kept == {}


def test_noout_of_several_hosts_is_kept_and_taken_away(monitors):
    _, maintenance, _, kept, told = monitors
    for host in ("n2", "n1"):
        maintenance.begin(host)
    assert kept == {"halocline/noout": "n1 n2"}
    assert maintenance.end() == ["n1", "n2"] and kept == {} and maintenance.end() == []
    assert [line for line in told if "unset" in line] == ["osd unset-group noout n1 n2"]


def test_which_gateways_are_drained_is_kept_and_forgotten(monitors):
    _, maintenance, _, kept, _ = monitors
    assert maintenance.drained() == []
    maintenance.drains(["rgw.a", "rgw.b"])
    assert maintenance.drained() == ["rgw.a", "rgw.b"] and kept == {"halocline/drained": "rgw.a rgw.b"}
    assert maintenance.drains([]) and maintenance.drains([]) and kept == {}


def test_updates_are_paused_apart_from_the_upgrade(monitors):
    upgrade, _, _, kept, _ = monitors
    upgrade.pause("by root", "updates")
    assert upgrade.paused() is None and upgrade.paused("updates") == "by root"
    assert upgrade.forget() and kept == {"halocline/updates-paused": "by root"}
    assert upgrade.pause(None, "updates") and kept == {}


def test_ceph_says_which_osds_stop_together(monitors):
    _, _, health, _, _ = monitors
    assert health.together(["0", "1"], 4) == ["0", "1", "2"]
    assert health.together(["3"], 4) == []
