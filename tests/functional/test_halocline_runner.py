"""``salt-run halocline.*`` through Salt's own runner loader: a master that is configured and does not run."""

import hashlib
import json
import os
import pwd
import socket
import sys
from pathlib import Path

import pytest
import salt.utils.network
from saltmaster import Master

from proposals.stages.replies import Problem, Replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs
from runners.engine.asking import minions as asking
from runners.engine.looks import installed


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master with three accepted minions."""
    made = salt_factories.salt_master_daemon("doctor", factory_class=Master)
    for name in ("node1", "node2", "node3"):
        made.accept(name)
    return made


@pytest.fixture
def minions(master, monkeypatch, tmp_path):
    """What minions answer, by name: what the master serves; the record of srv/install is one under tmp_path."""
    parts = installed.served(master.opts())
    told = {name: {"version": "0.1.0", "parts": parts, "room": {"/": 1 << 40}} for name in ("node1", "node2", "node3")}

    def ask(opts, asked, function, arguments=(), kind=dict, timeout=60):
        assert function == "host_parts.look"
        problems = [Problem(each, "does not answer", True) for each in asked if each not in told]
        return Replies({each: told[each] for each in asked if each in told}, problems)

    monkeypatch.setattr(jobs, "ask", ask)
    monkeypatch.setattr(installed, "RECORD", tmp_path / "installed.json")
    return told


def checks(answer):
    return {each["check"]: each for each in answer["wrong"]}


@pytest.mark.slow
def test_all_is_well(master, minions):
    done = master.runners(output="json")["halocline.doctor"]()
    assert done == {"wrong": [], "minions": ["node1", "node2", "node3"]}
    assert "retcode" not in master.runners()["halocline.version"]()


@pytest.mark.slow
def test_one_minion_alone_is_asked(master, minions):
    assert master.runners(output="json")["halocline.doctor"](minion="node2")["minions"] == ["node2"]
    done = master.runners()["halocline.doctor"](minion="node22")
    assert done["retcode"] == 2 and "did you mean 'node2'?" in done["error"]


@pytest.mark.slow
def test_a_minion_whose_id_is_a_number_is_asked_where_it_is_quoted(master, minions, monkeypatch):
    """Salt reads what is typed as YAML: as a number no minion is called so."""
    monkeypatch.setattr(asking, "ours", lambda opts: ["100234", "node1"])
    minions["100234"] = minions["node1"]
    assert "quote it, minion=" in master.runners()["halocline.doctor"](minion=100234)["error"]
    assert master.runners(output="json")["halocline.doctor"](minion="100234") == {"wrong": [], "minions": ["100234"]}


@pytest.mark.slow
def test_older_parts_and_silence_are_told_by_version_and_doctor(master, minions):
    minions["node1"] = {**minions["node1"], "parts": {"modules/disks.py": "old"}}
    del minions["node3"]
    done = master.runners(output="json")["halocline.version"]()
    assert done["retcode"] == 1 and done["minions"]["node2"] == {"halocline": "0.1.0", "differing": []}
    assert len(done["minions"]["node1"]["differing"]) > 100 and "node3: does not answer" in done["problems"][0]
    found = checks(master.runners(output="json")["halocline.doctor"]())
    assert found.keys() == {"parts", "silent"} and found["parts"]["minions"] == ("node1",)


@pytest.mark.slow
def test_many_minions_that_lack_what_the_master_has_are_counted(master, minions, monkeypatch):
    """As after an update of the master, before prep."""
    old = {**minions.pop("node3"), "parts": {"modules/disks.py": "old"}}
    hosts = [f"osd{number:04}" for number in range(1000)]
    minions |= dict.fromkeys(hosts[:600], old)
    monkeypatch.setattr(asking, "ours", lambda opts: [*hosts, "node1", "node2"])
    text = master.runners()["halocline.version"]()["text"].splitlines()
    assert len(text) < 10 and "osd0000, osd0001 and 598 more hosts: halocline 0.1.0" in text[2]
    assert text[3].startswith("osd0600, osd0601 and 398 more hosts: does not answer")
    data = master.runners(output="json")["halocline.version"]()
    assert len(data["minions"]) == 602 and len(data["problems"]) == 400


@pytest.mark.slow
def test_a_file_of_the_site_in_place_of_ours_is_what_minions_are_to_have(master, minions):
    own = master.root / "salt/_modules/osd.py"
    own.parent.mkdir(parents=True)
    own.write_text("theirs = True\n")
    try:
        served = installed.served(master.opts())
    finally:
        own.unlink()
    assert served["modules/osd.py"] == hashlib.sha256(b"theirs = True\n").hexdigest()


@pytest.mark.slow
def test_a_master_that_takes_no_job(master, minions, monkeypatch):
    def refused(*_, **__):
        raise ProposalError("the Salt master takes no jobs (x): is salt-master running?")

    monkeypatch.setattr(jobs, "ask", refused)
    done = master.runners()["halocline.doctor"]()
    assert done["retcode"] == 1 and "-> systemctl restart salt-master" in done["text"]
    done = master.runners()["halocline.version"]()
    assert done["retcode"] == 1 and done["text"].startswith("master: halocline 0.1.0, Salt ")


@pytest.mark.slow
def test_nobody_to_ask_and_no_master_runs(master, minions, monkeypatch):
    monkeypatch.setattr(installed, "_ours", lambda opts: ([], "", False))
    assert checks(master.runners(output="json")["halocline.doctor"]()).keys() == {"master", "minions"}


@pytest.mark.slow
def test_a_key_that_waits(master, minions):
    waiting = Path(master.config["pki_dir"]) / "minions_pre" / "node9"
    waiting.parent.mkdir(exist_ok=True)
    waiting.touch()
    try:
        found = checks(master.runners(output="json")["halocline.doctor"]())
    finally:
        waiting.unlink()
    assert found["keys"]["minions"] == ("node9",)


@pytest.mark.slow
def test_what_the_installer_wrote_is_missing_or_edited(master, minions, tmp_path):
    (tmp_path / "kept").write_text("a")
    (tmp_path / "edited").write_text("b")
    (tmp_path / "link").symlink_to("there")
    digest = hashlib.sha256(b"a").hexdigest()
    hashes = {"kept": [digest], "edited": [digest], "gone": [digest], "link": ["-> there"]}
    recorded = {"paths": {str(tmp_path / name): each for name, each in hashes.items()}, "folders": []}
    installed.RECORD.write_text(json.dumps(recorded))
    assert installed._changed() == {str(tmp_path / "edited"): "edited", str(tmp_path / "gone"): "missing"}
    installed.RECORD.write_text("{")
    assert installed._changed() == {str(installed.RECORD): "edited"}


def test_the_tree_that_was_installed_is_the_one_that_mends_it(master, minions, tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "PACKAGED", str(tmp_path / "package"))
    for text in ("{", "[]", "{}", json.dumps({"from": str(tmp_path / "checkout")})):
        installed.RECORD.write_text(text)
        assert installed._source() == ""
    (tmp_path / "package/srv/install").mkdir(parents=True)
    assert installed._source() == str(tmp_path / "package")
    (tmp_path / "checkout/srv/install").mkdir(parents=True)
    assert installed._source() == str(tmp_path / "checkout")


@pytest.mark.slow
def test_a_configuration_without_the_drop_in(master, minions):
    opts = {**master.opts(), "runner_dirs": [], "ext_pillar": [], "file_roots": {"base": ["/srv/salt"]}}
    del opts["halocline_log_dir"]
    assert installed._lacking(opts) == ["file_roots", "runner_dirs", "ext_pillar", "halocline_log_dir"]
    done = master.runners(pillar_roots={"base": ["/srv/theirs"]}, output="json")["halocline.doctor"]()
    assert {"drop-in", "pillar"} <= checks(done).keys()


@pytest.mark.slow
def test_a_master_that_began_before_its_configuration_was_written(master, minions, tmp_path):
    began = tmp_path / "pid"
    began.write_text("1")
    opts = {**master.opts(), "pidfile": str(began)}
    assert installed._older(opts) == ""
    os.utime(began, (1, 1))
    assert installed._older(opts).endswith((".conf", "master"))
    assert installed._gone(opts) == "" and installed._gone({"pidfile": str(tmp_path / "none")}) != ""


def test_drop_ins_are_found_where_the_configuration_says_that_they_are(master, minions, tmp_path):
    began, main = tmp_path / "pid", tmp_path / "master"
    opts = {"pidfile": str(began), "conf_file": str(main)}
    for path in (began, main, tmp_path / "elsewhere/a.conf"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (2, 2))
    newer = str(tmp_path / "elsewhere/a.conf")
    os.utime(newer, (3, 3))
    assert installed._older(opts) == installed._older({**opts, "default_include": ""}) == ""
    for told in (f"{tmp_path}/elsewhere/*.conf", "elsewhere/*.conf", ["none/*", f"{tmp_path}/e*/*.conf"]):
        assert installed._older({**opts, "default_include": told}) == newer


def test_a_folder_of_logs_that_is_none(master, minions, tmp_path):
    (tmp_path / "file").write_text("")
    opts = {"user": "root", "halocline_log_dir": str(tmp_path / "file" / "logs")}
    assert "is no folder" in installed._logs(opts)[opts["halocline_log_dir"]][0]
    opts = {"user": "nobody", "halocline_log_dir": str(tmp_path)}
    assert installed._logs(opts)[str(tmp_path)] == (f"the master runs as nobody, whose {tmp_path} is not", "nobody")
    assert installed._logs({**opts, "user": "root"}) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_site_that_is_not_its_masters(master, minions, tmp_path):
    roots = [str(tmp_path), *master.opts()["pillar_roots"]["base"][1:]]
    opts, user = {"user": "nobody", "pillar_roots": {"base": roots}}, pwd.getpwnam("nobody").pw_uid
    assert installed._logs(opts) == {}  # it is made when needed
    for name in ("ceph", "ceph/keys", "ceph/stack"):
        (tmp_path / name).mkdir()
        told = installed._logs(opts).get(f"{tmp_path}/ceph", ("", ""))[0]
        assert told == ("" if name == "ceph/stack" else f"the master runs as nobody, whose {tmp_path / name} is not")
        os.chown(tmp_path / name, user, -1)


@pytest.mark.slow
def test_a_full_disk_and_a_library_that_is_missing(master, minions, monkeypatch):
    monkeypatch.setattr(installed, "IMPORTED", {"PyYAML": "yaml", "rich": "no_such_library"})
    assert installed._libraries() == ["Jinja2", "rich"]  # Jinja2: its import name is not told here
    monkeypatch.setattr(installed, "_room", lambda opts: {"/srv": 0})
    assert checks(master.runners(output="json")["halocline.doctor"]()).keys() == {"libraries", "room"}


def test_a_minion_tells_what_it_has(modules):
    told = modules["host_parts.look"]()
    osd = hashlib.sha256((installed.ROOT / "_modules/osd.py").read_bytes()).hexdigest()
    assert told["version"] == installed.version() and told["parts"]["modules/osd.py"] == osd
    assert told["parts"] == {**told["parts"], **installed.served({"file_roots": {}})}
    assert told["room"]["/"] > 0


@pytest.mark.slow
def test_looking_changes_nothing(master, minions):
    def files():
        folders = [master.root / "pillar", master.root / "salt", Path(master.config["pki_dir"]), master.root / "conf"]
        logs = master.root / "run-logs"
        return logs.exists(), {path: path.lstat().st_mtime_ns for each in folders for path in each.rglob("*")}

    before = files()
    for verb in ("doctor", "version"):
        master.runners()[f"halocline.{verb}"]()
    assert len(before[1]) > 5 and files() == before


@pytest.mark.slow
def test_help_shows_a_command_with_all_its_arguments(master):
    help_ = master.runners()["halocline.help"]
    assert "policy.cfg" in help_("policy")["text"] and "salt-run NOUN.VERB" in help_()["text"]
    told = help_("proposal.peek")["text"]
    assert told.startswith("salt-run proposal.peek\n") and "\nratio\n" in told
    done = help_("osd.replce")
    assert done["retcode"] == 2 and "did you mean 'osd.replace'?" in done["error"]
    done = master.runners(output="json")["halocline.help"]("ratio")
    assert done["topics"][0]["kind"] == "row"


@pytest.fixture
def key(master):
    """A key of the master's, for this test alone."""
    key = Path(master.config["pki_dir"]) / "master.pub"
    kept = key.read_text() if key.exists() else None
    key.write_text("-----BEGIN PUBLIC KEY-----\nQUJD\n-----END PUBLIC KEY-----\n")
    yield key
    key.unlink(missing_ok=True) if kept is None else key.write_text(kept)


@pytest.mark.slow
def test_a_host_is_invited_by_the_masters_own_key(master, key):
    told = master.runners()["minions.invite"](master="10.0.0.1", __out="json")
    assert told["finger"] in told["line"] and " 10.0.0.1 " in told["line"] and told["finger"].count(":") == 31
    assert "salt-ssh --raw-shell" in master.runners()["minions.invite"](master="10.0.0.1")["text"]
    assert "was expected" in master.runners()["minions.invite"](master="a;reboot")["error"]
    key.unlink()
    assert "the master has no key yet" in master.runners()["minions.invite"]()["error"]


HOSTS = {"salt.example.com": "10.1.0.1", "localhost.localdomain": "127.0.0.1", "salt": "127.0.1.1"}
REACHED = {  # the full name, the way out, all addresses, the master's interface; what is offered
    "name": ("salt.example.com", "10.1.0.1", [], "0.0.0.0", "salt.example.com"),
    "loopback": ("localhost.localdomain", "10.1.0.1", ["172.17.0.1", "10.1.0.1"], "0.0.0.0", "10.1.0.1"),
    "Debian's": ("salt", "10.1.0.1", [], "0.0.0.0", "10.1.0.1"),
    "unknown": ("of-no-host", "10.1.0.1", [], "0.0.0.0", "10.1.0.1"),
    "no way out": ("localhost.localdomain", None, ["10.1.0.1"], "0.0.0.0", "10.1.0.1"),
    "one interface": ("salt.example.com", "10.1.0.1", [], "10.2.0.1", "10.2.0.1"),
    "IPv6": ("localhost.localdomain", None, ["10.1.0.1"], "::", "10.1.0.1"),
    "none": ("localhost.localdomain", None, [], "0.0.0.0", None),
    "as salt-run has it": ("salt.example.com", "10.1.0.1", [], "127.0.0.1", "salt.example.com"),
}


@pytest.mark.parametrize("case", REACHED)
def test_a_host_is_invited_to_a_name_or_address_that_it_may_reach(master, key, monkeypatch, case):
    name, outwards, addresses, interface, offered = REACHED[case]
    invite = master.runners(interface=interface)["minions.invite"]
    module = sys.modules[invite.__module__]

    def resolved(asked, port):
        if asked.strip(".:0123456789") == "":
            return [(2, 1, 6, "", (asked, 0))]
        if asked not in HOSTS:
            raise socket.gaierror(-2, "Name or service not known")
        return [(2, 1, 6, "", (HOSTS[asked], 0))]

    monkeypatch.setattr(socket, "getfqdn", lambda: name)
    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    monkeypatch.setattr(salt.utils.network, "ip_addrs", lambda: addresses)
    monkeypatch.setattr(module, "_outwards", lambda: iter([outwards] if outwards else []))
    done = invite(__out="json")
    if offered:
        assert f" {offered} " in done["line"]
    else:
        assert done["retcode"] == 2 and "salt-run minions.invite master=ADDRESS" in done["error"]
