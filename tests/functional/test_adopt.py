"""``ceph.adopt``: what hosts tell, sealed keys, what is written; on a real master whose minion's cluster is played."""

import json
import os
import shutil
import threading
import uuid
from pathlib import Path

import pytest
import salt.utils.event
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock
from saltmaster import CHECKOUT, Master

from proposals.adoption import found
from proposals.files import atomic
from proposals.pillar import secrets
from proposals.text.errors import ProposalError
from runners.engine.asking import sealed

FSID, OSD, SIMPLE = (f"0b5d3b9e-2a55-4c5e-9d3f-5c8a5d6a7b0{number}" for number in range(3))
NAMED = ("mon.", "client.admin", "client.bootstrap-osd", "mgr.node1", "mds.node1", "client.rgw.node1", "osd.0")
KEYS = {name: secrets.new_key() for name in NAMED}
GATEWAY = "[client.rgw.node1]\nrgw frontends = beast port=8080\n"
RUNS = ("ceph-mds@node1.service", "ceph-mds@other.service", "ceph-radosgw@rgw.node1.service")
PLANTED = secrets.new_key()  # one that is let out on purpose: the search finds it


def asked(address="10.0.0.1"):
    """What a ``ceph`` that is played answers, by a word of what it is asked."""
    both = [{"type": "v2", "addr": f"{address}:3300"}, {"type": "v1", "addr": f"{address}:6789"}]
    server = {"name": "node1"}
    known = [{"entity": name, "key": key, "caps": {"mon": "allow *"}} for name, key in KEYS.items() if name != "mon."]
    return {
        "auth ls": {"auth_dump": known},
        "mon dump": {"fsid": FSID, "mons": [{"name": "node1", "public_addrs": {"addrvec": both}}]},
        "osd dump": {"require_osd_release": "pacific", "osds": [{"uuid": OSD, "osd": 0}, {"uuid": SIMPLE, "osd": 1}]},
        "config dump": [{"section": "osd", "name": "osd_max_backfills", "value": "4", "mask": ""}],
        "mgr dump": {"active_name": "node1", "standbys": []},
        "fs dump": {"filesystems": [{"mdsmap": {"fs_name": "home", "info": {"gid_1": server}}}], "standbys": []},
    }


def play(folder, answers):
    """A program ``ceph`` that answers so, in a folder of its own; beside it a ``systemctl`` that lists units."""
    cases = "".join(f"*'{words}'*) cat <<'EOF'\n{json.dumps(said)}\nEOF\n;;\n" for words, said in answers.items())
    atomic.write(folder / "ceph", f'#!/bin/sh\ncase "$*" in\n{cases}esac\n', mode=0o755)
    lines = "".join(f"{unit} loaded active running Ceph\n" for unit in RUNS)
    atomic.write(folder / "systemctl", f"#!/bin/sh\ncat <<'EOF'\n{lines}EOF\n", mode=0o755)


def lay(root):
    """The files of a host with a monitor, an OSD by hand and one of ``ceph-volume simple``, below a folder."""
    store = root / "lib/mon/ceph-node1"
    (store / "store.db").mkdir(parents=True)
    atomic.write(store / "keyring", f'[mon.]\n\tkey = {KEYS["mon."]}\n\tcaps mon = "allow *"\n')
    atomic.write(
        root / "etc/ceph.conf", f"[global]\nfsid = {FSID}\nmon host = 10.0.0.1\n[osd]\nosd max scrubs = 2\n" + GATEWAY
    )
    atomic.write(root / "etc/ceph.client.admin.keyring", f"[client.admin]\nkey={KEYS['client.admin']}\n")
    atomic.write(root / "lib/mds/ceph-node1/keyring", f"[mds.node1]\n\tkey = {KEYS['mds.node1']}\n")
    keyring = root / "lib/radosgw/ceph-rgw.node1/keyring"
    atomic.write(keyring, f"[client.rgw.node1]\n\tkey = {KEYS['client.rgw.node1']}\n")
    atomic.write(root / "systemd/ceph-radosgw.target.wants/ceph-radosgw@rgw.node1.service", "")
    atomic.write(root / "systemd/ceph-mds.target.wants/ceph-mds@node1.service", "")
    for name, text in (("fsid", OSD), ("ceph_fsid", FSID), ("type", "bluestore")):
        atomic.write(root / f"lib/osd/ceph-0/{name}", f"{text}\n")
    (root / "lib/osd/ceph-0/block").symlink_to("/dev/sdb")
    told = {"whoami": 1, "fsid": SIMPLE, "ceph_fsid": FSID, "type": "bluestore", "keyring": KEYS["osd.0"]}
    told |= {"data": {"path": "/dev/sdc1"}, "block": {"path": "/dev/sdc2"}, "block.db": {"path": "/dev/sdd1"}}
    atomic.write(root / f"etc/osd/1-{SIMPLE}.json", json.dumps(told))
    atomic.write(root / "etc/osd/2-half.json", '{"whoami"')


@pytest.fixture
def host(python_module, monkeypatch, tmp_path):
    """These files as this minion's, and its ``ceph``."""
    lay(tmp_path)
    for module in map(python_module, ("host_adopt", "host_sealed", "host_ceph_conf")):
        for name, path in (
            ("ETC", "etc"),
            ("LIB", "lib"),
            ("ROOK", "rook"),
            ("STORES", "lib/mon"),
            ("CONF", "etc/ceph.conf"),
            ("SYSTEMD", "systemd"),
        ):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, tmp_path / path)
    play(tmp_path / "bin", asked())
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return tmp_path


@pytest.mark.slow
def test_a_host_tells_its_daemons_and_every_form_of_osd(modules, host):
    told = modules["host_adopt.inspect"]()
    assert told["hostname"] == "node1" and told["daemons"]["mon"] == ["node1"] and told["admin"] is True
    assert told["fsid"] == FSID
    forms = {osd["id"]: (osd["form"], osd["devices"]) for osd in told["osds"]}
    assert forms == {0: ("raw", {"data": "/dev/sdb"}), 1: ("simple", {"data": "/dev/sdc2", "db": "/dev/sdd1"})}
    units = {entity: (unit["runs"], unit["boots"], unit["key"]) for entity, unit in told["units"].items()}
    assert units == {
        "mds.node1": (True, True, secrets.digest(KEYS["mds.node1"])),
        "mds.other": (True, False, None),
        "client.rgw.node1": (True, True, secrets.digest(KEYS["client.rgw.node1"])),
    }
    assert told["units"]["client.rgw.node1"]["frontend"] == "beast port=8080"
    assert told["foreign"] == [] and not [key for key in KEYS.values() if key in json.dumps(told)]


def test_units_that_are_not_told_are_no_daemons_that_do_not_run(modules, host):
    atomic.write(host / "bin/systemctl", "#!/bin/sh\necho Failed to connect to bus >&2\nexit 1\n", mode=0o755)
    with pytest.raises(CommandExecutionError, match="Failed to connect to bus"):
        modules["host_adopt.inspect"]()


def test_tags_of_volumes_tell_an_osd_of_ceph_volumes(host, python_module):
    tags = {"ceph.osd_fsid": OSD, "ceph.osd_id": "0", "ceph.cluster_fsid": FSID, "ceph.encrypted": "1"}
    volumes = [{"path": f"/dev/vg/{kind}", "tags": {**tags, "ceph.type": kind}} for kind in ("block", "db")]
    module = python_module("host_adopt")
    with LoaderModuleMock({module: {"__salt__": {"disks_lvm.groups": lambda: {"/dev/sdb": {"volumes": volumes}}}}}):
        osd = module.osds()[OSD]
    assert (osd["form"], osd["encrypted"], osd["format"]) == ("lvm", True, "bluestore")
    assert osd["devices"] == {"data": "/dev/vg/block", "db": "/dev/vg/db"}


def test_volumes_that_are_not_told_are_no_osds_on_folders(host, python_module):
    """LVM that does not answer, as over a dying disk, hid them: adoption took them for others."""
    module = python_module("host_adopt")

    def hangs():
        raise CommandExecutionError("'lvs' on node1: did not end within 60 s")

    with LoaderModuleMock({module: {"__salt__": {"disks_lvm.groups": hangs}}}):
        assert module.osds()[OSD]["form"] == "raw"
        atomic.write(host / f"systemd/multi-user.target.wants/ceph-volume@lvm-0-{OSD}.service", "")
        with pytest.raises(CommandExecutionError, match="did not end within 60 s"):
            module.osds()


def test_a_journal_that_is_a_file_is_no_device(modules, host):
    (host / "lib/osd/ceph-0/journal").symlink_to("/srv/journals/osd0")
    told = json.loads((host / f"etc/osd/1-{SIMPLE}.json").read_text())
    atomic.write(host / f"etc/osd/1-{SIMPLE}.json", json.dumps({**told, "journal": {"path": None, "uuid": None}}))
    told = modules["host_adopt.inspect"]()
    seen = found.host("node1", told)
    assert [dict(osd.devices) for osd in seen.osds] == [{"data": "/dev/sdb"}, {"data": "/dev/sdc2", "db": "/dev/sdd1"}]


def alone(module):
    """The module's OSDs of a host without LVM."""
    with LoaderModuleMock({module: {"__salt__": {"disks_lvm.groups": dict}}}):
        return module.osds()


def test_the_data_of_an_osd_of_filestores_is_what_is_mounted_on_its_folder(python_module, monkeypatch, host):
    """Unmounted, it is an XFS that nothing else tells to be an OSD's."""
    module, folder = python_module("host_adopt"), host / "lib/osd/ceph-0"
    number = folder.stat().st_dev
    (host / "sys/sdq/sdq1").mkdir(parents=True)
    (host / f"sys/{os.major(number)}:{os.minor(number)}").symlink_to(host / "sys/sdq/sdq1")
    monkeypatch.setattr(module, "NUMBERS", host / "sys")
    (folder / "block").unlink()
    (folder / "journal").symlink_to("/dev/sdr1")
    atomic.write(folder / "type", "filestore\n")
    assert alone(module)[OSD]["devices"] == {"journal": "/dev/sdr1"}  # its folder is the system's
    monkeypatch.setattr(Path, "is_mount", lambda path: path == folder)
    assert alone(module)[OSD]["devices"] == {"data": "/dev/sdq1", "journal": "/dev/sdr1"}
    (host / f"sys/{os.major(number)}:{os.minor(number)}").unlink()  # of tmpfs, as ceph-volume mounts it
    assert alone(module)[OSD]["devices"] == {"journal": "/dev/sdr1"}


def test_an_encrypted_osd_lies_on_what_is_closed_again(python_module, monkeypatch, host):
    """Its label is read only while it is open."""
    module, block = python_module("host_adopt"), host / "block/dm-3"
    monkeypatch.setattr(module, "BLOCKS", host / "block")
    (block / "slaves/sdq").mkdir(parents=True)
    (host / "lib/osd/ceph-0/block").unlink()
    (host / "lib/osd/ceph-0/block").symlink_to("/dev/dm-3")
    for kind, lies in (("CRYPT-LUKS2", "/dev/sdq"), ("LVM", "/dev/dm-3")):
        atomic.write(block / "dm/uuid", f"{kind}-0b5d3b9e\n")
        assert alone(module)[OSD]["devices"] == {"data": lies}


@pytest.mark.parametrize("links", [("journal",), ("block",)])
def test_a_scan_of_an_osd_from_before_luminous_names_no_type(python_module, host, links):
    """Such an OSD has no file 'type'; ``ceph-volume simple activate`` takes one with a journal for FileStore's."""
    path = host / f"etc/osd/1-{SIMPLE}.json"
    told = {key: told for key, told in json.loads(path.read_text()).items() if key in ("whoami", "fsid", "ceph_fsid")}
    atomic.write(path, json.dumps({**told, **{link: {"path": f"/dev/{link}1"} for link in ("data", *links)}}))
    module = python_module("host_adopt")
    osd = alone(module)[SIMPLE]
    lies = {"journal": ("filestore", {"data": "/dev/data1", "journal": "/dev/journal1"})}
    assert (osd["format"], osd["devices"]) == lies.get(links[0], ("bluestore", {"data": "/dev/block1"}))


def test_what_is_not_taken_over_is_named(modules, host):
    (host / "lib" / FSID / "osd.3").mkdir(parents=True)
    (host / "rook").mkdir()
    (host / "lib/mon/backup-node1").mkdir()
    atomic.write(host / "systemd/ceph-mon@.service", "[Service]\nExecStart=/usr/bin/podman run --rm x\n")
    atomic.write(host / "systemd/ceph-osd@.service", "[Service]\nExecStart=/usr/bin/ceph-osd -f --id %i\n")
    foreign = modules["host_adopt.inspect"]()["foreign"]
    assert len(foreign) == 4
    named = ("cephadm", "ceph-mon@.service: daemons in containers", "Rook", "a cluster of the name 'backup'")
    assert all(said in "\n".join(foreign) for said in named)


def pair():
    private = rsa.generate_private_key(65537, sealed.BITS)
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return private, private.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


@pytest.mark.slow
def test_what_a_monitor_knows_leaves_its_host_sealed_for_one_run(modules, host, minion):
    private, public = pair()
    answer = modules["host_sealed.tell"](public)
    assert not [key for key in KEYS.values() if key in json.dumps(answer)]
    told = sealed.opened(private, answer, modules["grains.get"]("id"))
    assert {name: entry["key"] for name, entry in told["keys"].items()} == {
        name: key for name, key in KEYS.items() if name not in ("mon.", "osd.0")
    }
    assert KEYS["mon."] in told["monitor_keyring"] and told["others"] == ["osd.0"]
    assert KEYS["osd.0"] not in json.dumps(told)


@pytest.mark.slow
def test_a_seal_of_another_run_or_minion_or_broken_is_not_opened(modules, host):
    (private, public), (another, _) = pair(), pair()
    answer, name = modules["host_sealed.tell"](public), modules["grains.get"]("id")
    broken = [(another, answer, name), (private, answer, "node2"), (private, {**answer, "text": "AAAA"}, name)]
    for key, told, minion in (*broken, (private, {}, name), (private, {**answer, "key": 7}, name)):
        with pytest.raises(ProposalError, match="its sealed answer cannot be opened"):
            sealed.opened(key, told, minion)


@pytest.mark.slow
def test_nothing_is_read_for_a_key_that_is_none(modules, host):
    small = rsa.generate_private_key(65537, 1024).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    for key in ("", "x", small.public_bytes(serialization.Encoding.PEM, form).decode()):
        with pytest.raises(CommandExecutionError, match="nothing was read"):
            modules["host_sealed.tell"](key)
    (host / "lib/mon/ceph-node1/keyring").unlink()
    with pytest.raises(CommandExecutionError, match=r"expected a monitor of the host's own name, mon\.node1"):
        modules["host_sealed.tell"](pair()[1])


# What keeps files as they were found.


def test_an_adopted_keyring_with_the_same_key_stays_and_another_does_not(with_pillar, tmp_path):
    key, path = KEYS["client.admin"], tmp_path / "keyring"
    modules = with_pillar(
        ceph_secrets={"admin": f'[client.admin]\n\tkey = {key}\n\tcaps mon = "allow *"\n', "word": "x"}
    )
    for text, holds in (
        (f"[client.admin]\nkey={key}\n", True),
        (f"[client.admin]\nkey={PLANTED}\n", False),
        ("", False),
    ):
        path.write_text(text)
        assert modules["host_keys.holds"](str(path), "admin") is holds
    assert modules["host_keys.holds"](str(path), "word") is False
    assert modules["host_keys.holds"](str(path), "none") is False


def test_ceph_conf_stays_while_it_is_the_one_that_was_found(with_pillar, python_module, monkeypatch, tmp_path):
    path = tmp_path / "ceph.conf"
    monkeypatch.setattr(python_module("host_ceph_conf"), "CONF", path)
    path.write_text("[global]\n")
    found = python_module("host_ceph_conf").hashlib.sha256(b"[global]\n").hexdigest()
    assert with_pillar(ceph={"adopted": {"ceph_conf": found}})["host_ceph_conf.adopted"]() is True
    path.write_text("[global]\n\n")
    assert with_pillar(ceph={"adopted": {"ceph_conf": found}})["host_ceph_conf.adopted"]() is False
    assert with_pillar(ceph={})["host_ceph_conf.adopted"]() is False
    assert with_pillar(ceph={"adopted": None})["host_ceph_conf.adopted"]() is False  # its last line was taken out


@pytest.mark.slow
def test_the_state_leaves_a_keyring_of_an_adopted_host_alone(loaders, with_pillar, tmp_path):
    key, path = KEYS["client.admin"], tmp_path / "keyring"
    own = f"[client.admin]\nkey={key}\n"
    told = {"admin": f"[client.admin]\n\tkey = {key}\n"}
    path.write_text(own)
    with_pillar(ceph_secrets=told, ceph={"adopted": {}})
    done = loaders.states.host_secret.managed(name=str(path), use="admin", user="", group="", mode="0600")
    assert done["result"] is True and done["changes"] == {} and path.read_text() == own


# The whole command, on a real master.


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master that runs, whose minions' modules look below a folder beside."""
    made = salt_factories.salt_master_daemon("adopt", factory_class=Master)
    lay(made.root / "host")
    moved = {
        "host_adopt": {
            '"/etc/ceph"': "etc",
            '"/var/lib/ceph"': "lib",
            '"/var/lib/rook"': "rook",
            '"/etc/systemd/system"': "systemd",
        },
        "host_ceph_conf": {'"/etc/ceph/ceph.conf"': "etc/ceph.conf"},
        "host_sealed": {'"/etc/ceph/ceph.conf"': "etc/ceph.conf", '"/var/lib/ceph/mon"': "lib/mon"},
    }
    for name, paths in moved.items():
        text = (CHECKOUT / f"_modules/{name}.py").read_text()
        for path, here in paths.items():
            assert path in text
            text = text.replace(path, f'"{made.root}/host/{here}"')
        # its programs are those beside
        text = text.replace('["ceph", "--name"', f'["{made.root}/bin/ceph", "--name"')
        text = text.replace('["systemctl", "list-units"', f'["{made.root}/bin/systemctl", "list-units"')
        atomic.write(made.root / f"salt/_modules/{name}.py", text)
    play(made.root / "bin", asked())
    with made.started():
        yield made


@pytest.fixture(scope="module")
def node1(master):
    made = master.salt_minion_daemon("node1", overrides={"grains": {"host": "node1"}})
    with made.started():
        assert master.salt_cli().run("saltutil.sync_all", minion_tgt="node1").returncode == 0
        seen = {"hostname": "node1", "addresses": ["10.0.0.1/24"], "ceph_disks_format": 1, "ceph_disks": []}
        atomic.write(master.pillar / "inventory/node1.json", json.dumps(seen))
        cluster = {"fsid": FSID, "public_network": "10.0.0.0/24", "cluster_network": "10.0.0.0/24"}
        atomic.write(master.pillar / "proposals/config/stack/default/ceph/cluster.yml", yaml.safe_dump(cluster))
        yield made


def texts(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_socket()}


@pytest.mark.processes
def test_what_deepsea_left_in_the_place_of_ours_is_refused_and_nothing_is_written(master, node1):
    """Its pillar's folders are where our links belong, its modules have names of ours; configure refuses these too."""
    module = Path(master.opts()["file_roots"]["base"][0]) / "_modules/osd.py"
    for path in (module, master.pillar / "cluster/node1.sls", master.pillar / "stack/default/global.yml"):
        atomic.write(path, "")
    before = sorted(master.pillar.rglob("*"))
    for verb in ("ceph.adopt", "policy.push"):
        done = master.typed(verb)
        assert done.returncode != 0, done
        for place in ("cluster", "stack/default"):
            assert (
                f"{master.pillar / place} is no link of ours, but what another tool left: move it aside" in done.stdout
            )
        assert (f"{module}: minions are sent it in place of Halocline's own" in done.stdout) is (verb == "ceph.adopt")
    assert sorted(master.pillar.rglob("*")) == before
    module.unlink()
    for folder in ("cluster", "stack"):
        shutil.rmtree(master.pillar / folder)


@pytest.mark.processes
def test_what_the_monitor_of_a_large_cluster_tells_arrives_whole(master, node1):
    """It is longer than an event of Salt's, which cuts a long text out."""
    answers = asked()
    much = {"public_addrs": "x" * 1000}
    answers["osd dump"]["osds"] += [{"uuid": str(uuid.UUID(int=osd)), "osd": osd, **much} for osd in range(2, 1500)]
    play(master.root / "bin", answers)
    try:
        done = master.typed("ceph.adopt", "test=true")
    finally:
        play(master.root / "bin", asked())
    assert done.returncode == 0 and f"cluster {FSID}, release pacific" in done.stdout, done


@pytest.mark.processes
def test_a_cluster_is_taken_in_and_no_key_is_in_job_cache_bus_or_logs(master, node1):
    heard, stop = [], threading.Event()

    def listen():
        with salt.utils.event.get_master_event(master.opts(), master.config["sock_dir"], listen=True) as bus:
            while not stop.is_set():
                if event := bus.get_event(wait=0.5, full=True):
                    heard.append(repr(event))

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        before, theirs = texts(master.pillar), texts(master.root / "host")
        would = master.typed("ceph.adopt", "test=true")
        assert would.returncode == 0 and "would write" in would.stdout, would
        assert texts(master.pillar) == before
        done = master.typed("ceph.adopt")
        again = master.typed("ceph.adopt")
        assert master.salt_cli().run("test.echo", PLANTED, minion_tgt="node1").returncode == 0
    finally:
        stop.set()
        listener.join()
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "1 OSDs (raw)" in done.stdout and "1 OSDs (simple)" in done.stdout
    assert again.returncode == 0 and again.stdout.rstrip().endswith("adopted already: nothing changed"), again
    assert texts(master.root / "host") == theirs
    kept = json.loads((master.pillar / "keys/keys.json").read_text())
    assert kept == {name: key for name, key in KEYS.items() if name != "osd.0"}
    assert (master.pillar / "keys/keys.json").stat().st_mode & 0o777 == 0o600
    own = (master.pillar / "keys", master.root / "host", master.root / "bin")
    seen = {
        path: text for path, text in texts(master.root).items() if not any(path.is_relative_to(each) for each in own)
    }
    shown = "".join([*heard, would.stdout, done.stdout, again.stdout]).encode()
    assert any(PLANTED.encode() in text for text in seen.values()) and PLANTED.encode() in shown
    for key in KEYS.values():
        assert key.encode() not in shown
        assert not [path for path, text in seen.items() if key.encode() in text]


@pytest.mark.processes
def test_what_it_wrote_is_configured_and_plans_no_osd(master, node1):
    osd_file = master.pillar / "proposals/adopted/stack/default/ceph/minions/node1.yml"
    assert set(yaml.load(osd_file.read_text(), yaml.CSafeLoader)["ceph"]["adopted"]["osds"]) == {OSD, SIMPLE}
    conf = master.root / "salt/ceph/configuration/files/ceph.conf.d/osd.conf"
    assert conf.read_text() == "osd_max_scrubs = 2\n"
    policy = (master.pillar / "proposals/policy.cfg").read_text()
    assert "role-mds/cluster/node1.sls\n" in policy and "role-rgw/cluster/node1.sls\n" in policy
    settings = yaml.load(
        (master.pillar / "proposals/adopted/stack/default/ceph/cluster.yml").read_text(), yaml.CSafeLoader
    )
    assert settings["adopted_file_systems"] == ["home"] and settings["adopted_gateways"] == ["node1"]
    assert settings["rgw_configurations"] == {"rgw": {"port": 8080}}
    assert "role-mon/cluster/node1.sls\n" in policy and "adopted/cluster/*.sls\n" in policy


@pytest.mark.processes
def test_other_keys_on_the_master_are_refused_with_nothing_written(master, node1):
    keys = master.pillar / "keys/keys.json"
    text = keys.read_text()
    keys.write_text(json.dumps({**json.loads(text), "client.admin": PLANTED}))
    before = texts(master.pillar)
    refused = master.typed("ceph.adopt")
    assert refused.returncode == 2 and "client.admin: the master has another key than the cluster" in refused.stdout
    assert "Traceback" not in refused.stdout + refused.stderr and texts(master.pillar) == before
    keys.write_text(text)


@pytest.mark.processes
def test_interrupted_anywhere_the_same_command_goes_on(master, node1):
    """Whatever was not written yet is written then, with the same content; what somebody edited stays, and is named."""
    whole = texts(master.pillar)
    for path in ("proposals/policy.cfg", "keys/keys.json", "proposals/adopted/stack/default/ceph/cluster.yml"):
        (master.pillar / path).unlink()
        done = master.typed("ceph.adopt")
        assert done.returncode == 0 and f"wrote {master.pillar / path}" in done.stdout, done
        assert texts(master.pillar) == whole
    edited = master.pillar / "proposals/adopted/stack/default/ceph/cluster.yml"
    edited.write_text("small_site: true\n")
    done = master.typed("ceph.adopt")
    assert f"{edited}: is there with another content, and stays" in done.stdout
    assert edited.read_text() == "small_site: true\n"


@pytest.mark.processes
def test_what_deepsea_left_on_its_master_is_named(master, node1):
    atomic.write(master.pillar / "deepsea_minions.sls", "deepsea_minions: '*'\n")
    atomic.write(master.pillar / "stack/global.yml", "rgw_init: default-ssl\n")
    policy = master.pillar / "proposals/policy.cfg"
    policy.write_text("cluster-ceph/cluster/*.sls\nprofile-default/cluster/*.sls\n")
    done = master.typed("ceph.adopt")
    assert "DeepSea's deepsea_minions.sls: deepsea_minions: ceph_minions in minions.sls" in done.stdout, done
    assert "DeepSea's stack/global.yml: rgw_init: no counterpart" in done.stdout
    assert "DeepSea's policy.cfg line 2, profile-default/cluster/*.sls: its OSDs exist" in done.stdout
    assert "policy.cfg is yours and stays as it is; it lacks these lines:" in done.stdout
    assert policy.read_text() == "cluster-ceph/cluster/*.sls\nprofile-default/cluster/*.sls\n"
