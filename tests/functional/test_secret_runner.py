"""``salt-run secret.*`` by Salt's own loader of runners, over a site of its own and minions that are played."""

import copy
import json
import shutil

import pytest
import yaml
from played import BUSY, another_stops_daemons
from saltmaster import Master

from proposals.files import atomic
from proposals.files.site import site
from proposals.pillar import secrets
from proposals.stages.replies import SILENT, Replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions
from runners.engine.cluster import daemon_restart
from runners.engine.runs import one_at_a_time, stage_lock

FSID = "5d71d314-c738-8774-a70a-295e4ecab6c8"
CAPS = {"client.a": {"mon": "allow r"}, "mgr.node1": {"mon": "allow *"}, "client.rgw.node1": {"mon": "allow rw"}}
KEYS = {name: secrets.new_key() for name in CAPS} | {"dashboard.admin": "a-password-of-some-length", "mon.": "m"}
OSD = {"id": 3, "fsid": FSID, "host": "node1", "state": "in-use", "up": True, "in": True}


class Played:
    """What minions answer, what they were asked, and which secrets their pillar held then."""

    def __init__(self, paths):
        self.paths, self.asked, self.lent, self.osds, self.fails = paths, [], {}, [dict(OSD)], {}
        self.osd = self.osds[0]
        self.seen = {"clients": ["client.a", "client.admin"], "sessions": ["10.0.0.9:0/4711"]}
        self.leave, self.restarted, self.older, self.starts = "", [], ["client.a", "osd.3"], True
        self.maintained = {}

    def one(self, opts, minion, function, arguments=(), kind=None, timeout=0):
        self.asked.append((minion, function, *arguments))
        self.lent[function] = {path.stem: path.read_text() for path in self.paths.secrets.glob("*.yml")}
        if said := self.fails.get(function) or self.fails.get((function, *arguments[:1])):
            raise ProposalError(said)
        answers = {
            "cluster_clients.inspect": self.seen,
            "cluster_clients.revoke": dict.fromkeys(self.seen["sessions"], "2026-12-22"),
            "cluster_osds.states": self.osds,
            "cluster_auth.older": {"older": self.older},
            "osd_keyring.start": self.starts,
            "cluster_maintenance.hosts": self.maintained,
        }
        return answers.get(function, True)

    def did(self):
        looks = ("cluster_clients.inspect", "cluster_osds.states", "osd_keyring.check", "cluster_auth.older")
        looks += ("cluster_maintenance.hosts",)
        return [asked[:2] for asked in self.asked if asked[1] not in looks]


@pytest.fixture(scope="module")
def master(salt_factories):
    return salt_factories.salt_master_daemon("secret", factory_class=Master)


@pytest.fixture
def paths(master):
    paths = site(master.opts())
    for folder in (paths.keys.parent, paths.secrets, paths.inventory):
        folder.mkdir(parents=True, exist_ok=True)
    paths.keys.write_text(json.dumps(KEYS))
    paths.earlier.unlink(missing_ok=True)
    for path in paths.secrets.glob("*.yml"):
        path.unlink()
    told = {
        "client1": {"keyring/client.a": ["client.a"]},
        "salt": {"register": list(CAPS)},
        "node1": {"mgr": ["mgr.node1"]},
    }
    for minion, uses in told.items():
        texts = {use: secrets.keyring(KEYS, CAPS, names) for use, names in uses.items()}
        (paths.secrets / f"{minion}.yml").write_text(yaml.safe_dump({"ceph_secrets": texts}))
    for number, name in enumerate(("node1", "node2"), start=1):
        host = {"ceph_disks_format": 1, "ceph_disks": [], "hostname": name, "addresses": [f"10.0.0.{number}/24"]}
        (paths.inventory / f"{name}.json").write_text(json.dumps(host))
    return paths


@pytest.fixture
def played(paths, monkeypatch):
    made = Played(paths)
    monkeypatch.setattr(jobs, "one", made.one)
    monkeypatch.setattr(jobs, "cluster", lambda opts, *words, **named: made.one(opts, "salt", *words, **named))
    monkeypatch.setattr(jobs, "ask", lambda *words, **named: Replies({}, []))
    monkeypatch.setattr(minions, "members", lambda opts: {"master": ["salt"]})
    monkeypatch.setattr(minions, "ours", lambda opts: ["node1", "salt"])
    monkeypatch.setattr(daemon_restart, "needed", lambda opts, kind, names: made.leave)
    monkeypatch.setattr(daemon_restart, "restart", lambda opts, *words: made.restarted.append(words))
    return made


@pytest.fixture
def run(master, played):
    """A function: a command's answer, in which no key ever is."""
    runners = master.runners()

    def run(name, *words, **named):
        done = runners[f"secret.{name}"](*words, **named)
        logs = "".join(path.read_text() for path in (master.root / "run-logs").glob("secret*.jsonl"))
        kept = json.loads(played.paths.keys.read_text())
        assert not [key for key in (*KEYS.values(), *kept.values()) if len(key) > 8 and key in json.dumps(done) + logs]
        return done

    return run


def state(paths):
    return {path: path.read_text() for path in paths.root.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_client_is_revoked(run, played, paths):
    before = state(paths)
    told = run("revoke", "client.a", test=True)["text"]
    assert "would block 10.0.0.9:0/4711 for 30 days" in told
    assert state(paths) == before and played.did() == []

    told = run("revoke", "client.a", days=2)["text"]
    assert "blocked until 2026-12-22: 10.0.0.9:0/4711" in told and "has a fresh key for those that are told it" in told
    assert played.asked[-1] == ("salt", "cluster_clients.revoke", "client.a", 2 * 86400)
    # Before the cluster was told, nobody knew the old key any more, and both hosts had the same new one.
    then = played.lent["cluster_clients.revoke"]
    fresh = json.loads(paths.keys.read_text())["client.a"]
    assert KEYS["client.a"] not in "".join(then.values()) and fresh in then["client1"] and fresh in then["salt"]
    assert KEYS["mgr.node1"] in then["salt"] and KEYS["client.rgw.node1"] in then["salt"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("client.admin", "cannot be revoked"), ("osd.3", "cannot be revoked"), ("client.b", "did you mean 'client.a'")],
)
def test_what_is_not_revoked(run, played, paths, name, said):
    before, played.seen["sessions"] = state(paths), []
    done = run("revoke", name)
    assert done["retcode"] == 2 and said in done["error"]
    assert state(paths) == before and played.did() == []


def test_a_cluster_that_does_not_answer_changes_nothing_on_the_master(run, played, paths):
    before = state(paths)
    played.fails["cluster_clients.inspect"] = "no monitor answered"
    assert run("revoke", "client.a") == {"retcode": 2, "error": "no monitor answered", "outputter": "answer"}
    assert state(paths) == before


def test_one_that_the_cluster_did_not_forget_yet_is_forgotten_by_the_same_command(run, played, paths):
    played.fails["cluster_clients.revoke"] = "no monitor answered"
    done = run("revoke", "client.a")
    assert done["retcode"] == 2
    assert done["error"] == "client.a may not be revoked yet: no monitor answered; mend that and run it again"
    assert KEYS["client.a"] not in "".join(state(paths).values())
    played.fails.clear()
    assert "client.a is revoked" in run("revoke", "client.a")["text"]


def test_a_key_that_was_made_by_hand_is_taken(run, paths, tmp_path):
    own, before = secrets.new_key(), state(paths)
    ring = tmp_path / "own.keyring"
    ring.write_text(f"[client.own]\n\tkey = {own}\n")
    assert "would take it" in run("take", "client.own", str(ring), test=True)["text"]
    assert state(paths) == before
    done = run("take", "client.own", str(ring))["text"]
    assert "ceph.stage.configure', 'salt-run state.orch ceph.stage.services'" in done and "restart" not in done
    assert json.loads(paths.keys.read_text()) == {**KEYS, "client.own": own}
    assert "already" in run("take", "client.own", str(ring))["text"]


OWN = secrets.new_key()


@pytest.mark.parametrize(
    ("name", "monitors", "said"),
    [
        ("client.a", {"monitors": {"client.a": secrets.digest(OWN)}}, None),
        ("client.own", {"monitors": {}}, None),
        ("client.own", {}, None),  # nobody knows of it: deploy will see
        ("client.a", {"monitors": {"client.a": secrets.digest(KEYS["client.a"])}}, "the cluster has another key of"),
        ("client.own", {"monitors": {"client.own": "another"}}, "the cluster has another key of client.own than"),
        ("client.a", {}, "no monitor says which one is the cluster's"),
        ("mon.", {"monitors": {}, "/var/lib/ceph/mon/ceph-a/keyring": {"mon.": "another"}}, "another key of mon. than"),
    ],
)
def test_only_the_clusters_own_key_is_taken(run, paths, tmp_path, monkeypatch, name, monitors, said):
    """Deploy would take another one for that of a rotation, and lock out all who have the cluster's."""
    paths.current.mkdir()
    monkeypatch.setattr(minions, "members", lambda opts: {"mon": ["node1"]})
    monkeypatch.setattr(jobs, "ask", lambda *words, **named: Replies({"node1": monitors}, []))
    ring = tmp_path / "own.keyring"
    ring.write_text(f"[{name}]\n\tkey = {OWN}\n")
    before = state(paths)
    done = run("take", name, str(ring))
    paths.current.rmdir()
    assert done.get("retcode", 0) == (2 if said else 0) and (said or "has taken the key") in done.get(
        "error", done.get("text")
    )
    assert (state(paths) == before) is bool(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("client.own", "/nowhere"), "/nowhere is no file: 'ceph auth get client.own -o FILE' writes one"),
        (("dashboard.admin", "/etc/hostname"), "the master keeps no key of dashboard.admin"),
        (("osd.3", "/etc/hostname"), "the master keeps no key of osd.3"),
        (("client.own", "/etc/hostname"), "there is no key of client.own in it"),
    ],
)
def test_what_is_not_taken(run, paths, words, said):
    before = state(paths)
    done = run("take", *words)
    assert done["retcode"] == 2 and said in done["error"]
    assert state(paths) == before


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("mgr.node1", ["configure", "deploy", "restart"]),
        ("client.a", ["configure", "services", "restart"]),
        ("client.rgw.node1", ["configure", "services", "restart"]),
        ("dashboard.admin", ["configure", "services"]),
    ],
)
def test_a_rotated_key_says_which_stages_bring_it(run, played, paths, name, stages):
    before, listed = state(paths), ", ".join(f"'salt-run state.orch ceph.stage.{stage}'" for stage in stages)
    assert run("rotate", name, test=True)["text"] == f"{name} would get a fresh key on the master; then {listed}"
    assert state(paths) == before
    assert run("rotate", name)["text"] == f"{name} has a fresh key on the master; now run {listed}"
    assert json.loads(paths.keys.read_text())[name] != KEYS[name] and played.asked == []


def test_grafana_is_told_its_password_by_hand(run, paths):
    """It reads the file of it when it makes its own database, and never again."""
    paths.keys.write_text(json.dumps({**KEYS, "grafana.admin": "its-former-password"}))
    said = run("rotate", "grafana.admin")["text"]
    assert "ceph.stage.services', then on each host of Grafana" in said
    assert said.endswith("admin reset-admin-password --password-from-stdin </etc/grafana/admin.password")


@pytest.mark.parametrize("test", [True, False])
@pytest.mark.parametrize(("name", "said"), [("mon.", "cannot be rotated"), ("mgr.nod1", "did you mean 'mgr.node1'")])
def test_what_is_not_rotated(run, paths, name, said, test):
    before = state(paths)
    done = run("rotate", name, test=test)
    assert done["retcode"] == 2 and said in done["error"]
    assert state(paths) == before


@pytest.mark.slow
def test_an_osds_key_is_told_to_the_two_that_need_it_and_forgotten(run, played, paths):
    before = state(paths)
    assert "osd.3 of node1 would get a fresh key" in run("rotate", "osd.3", test=True)["text"]
    assert played.did() == [] and state(paths) == before
    assert run("rotate", "osd.3")["text"] == "osd.3 of node1 has a fresh key and was restarted with it"
    assert played.did() == [
        ("salt", "cluster_auth.replace"),
        ("node1", "osd_keyring.write"),
        ("salt", "cluster_auth.replaced"),
    ]
    assert played.restarted == [("osd", {"node1": ["osd.3"]})]
    told = {
        minion: yaml.load(text, yaml.CSafeLoader)["ceph_secrets"]
        for minion, text in played.lent["osd_keyring.write"].items()
    }
    assert set(told["node1"]) == {"mgr", "osd.3"} and told["node1"]["osd.3"] == told["salt"]["osd.3"]
    assert "osd.3" not in told["client1"] and len(told["salt"]["osd.3"]) == 40
    assert {
        path: yaml.load(text, yaml.CSafeLoader) for path, text in state(paths).items() if path.suffix == ".yml"
    } == {path: yaml.load(text, yaml.CSafeLoader) for path, text in before.items() if path.suffix == ".yml"}
    assert paths.keys.read_text() == before[paths.keys]


@pytest.fixture
def knows(paths):
    """A function: the hosts that are served, with the cipher of each one's Ceph as discovery saw it."""
    served = paths.current / "cluster"

    def tell(**ciphers):
        for name, cipher in ciphers.items():
            path = paths.inventory / f"{name}.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | {"ceph_cipher": cipher}))
            served.mkdir(parents=True, exist_ok=True)
            (served / f"{name}.sls").write_text("cluster: ceph\n")

    yield tell
    shutil.rmtree(paths.current, ignore_errors=True)


@pytest.mark.slow
def test_the_older_keys_of_all_osds_are_rotated_where_every_host_knows_newer_ones(run, played, paths, knows):
    assert "as discovery saw no host whose Ceph knows another: " in run("rotate", "osd.*")["error"]
    knows(node1="aes256k", node2="aes")
    assert "as Ceph on node2 knows no other as far as discovery saw: " in run("rotate", "osd.*")["error"]
    (paths.inventory / "node2.json").write_text("{}")  # silent since the update that brought ciphers
    assert "as Ceph on node2 knows no other as far as discovery saw: " in run("rotate", "osd.*")["error"]
    assert played.did() == []
    knows(node2="aes256k")
    assert run("rotate", "osd.*", test=True)["text"] == (
        "osd.3 would get fresh keys, one after the other, and be restarted"
    )
    assert played.did() == []
    assert run("rotate", "osd.*")["text"] == "1 OSD got a fresh key"
    assert played.restarted == [("osd", {"node1": ["osd.3"]})]
    assert yaml.load(played.lent["osd_keyring.write"]["node1"], yaml.CSafeLoader)["ceph_secrets"]["osd.3"].startswith(
        "Ag"
    )
    run("rotate", "client.a")
    assert json.loads(paths.keys.read_text())["client.a"].startswith("Ag")
    played.older = ["client.a"]
    assert "nothing changed" in run("rotate", "osd.*")["text"]


@pytest.mark.parametrize("left", [[], ["node1.json"]])
def test_keys_are_rotated_and_revoked_also_where_the_inventory_is_not_there(run, played, paths, knows, left):
    """A master that was put back may not have it yet, or be without some hosts; a leaked key does not wait for that."""
    knows(node1="aes256k", node2="aes256k")
    for file in paths.inventory.glob("*.json"):
        file.name in left or file.unlink()
    assert "client.a has a fresh key" in run("rotate", "client.a")["text"]
    assert json.loads(paths.keys.read_text())["client.a"].startswith("Ag" if left else "AQ")
    assert "has a fresh key for those that are told it" in run("revoke", "client.a")["text"]


@pytest.mark.slow
def test_keys_without_an_osd_osds_that_are_down_and_hosts_that_fail_hold_back_no_other_osd(run, played, paths, knows):
    knows(node1="aes256k")
    played.osds += [OSD | {"id": 4, "up": False}, OSD | {"id": 5}, OSD | {"id": 6, "fsid": None}, OSD | {"id": 7}]
    played.older = [f"osd.{osd_id}" for osd_id in range(1, 8)]
    played.fails["osd_keyring.check", 5] = "node1: no answer"
    done = run("rotate", "osd.*")
    assert done["retcode"] == 2 and done["error"].splitlines() == [
        "2 OSDs got a fresh key, and these did not: mend that, then run it again",
        "osd.4: is down: 'salt-run secret.rotate osd.4' would start it",
        "osd.5: node1: no answer",
    ]
    assert played.restarted == [("osd", {"node1": ["osd.3"]}), ("osd", {"node1": ["osd.7"]})]


def test_a_host_that_does_not_answer_is_asked_for_one_of_its_osds_alone(run, played, paths, knows):
    """It is given up after five minutes, and has sixty OSDs."""
    knows(node1="aes256k")
    played.osds += [OSD | {"id": 4}, OSD | {"id": 5}]
    played.older, silent = ["osd.3", "osd.4", "osd.5"], f"node1: {SILENT}"
    played.fails["osd_keyring.check"] = silent
    done = run("rotate", "osd.*")
    assert done["retcode"] == 2 and done["error"].splitlines()[1:] == [f"osd.{each}: {silent}" for each in (3, 4, 5)]
    assert [asked[1] for asked in played.asked].count("osd_keyring.check") == 1


def test_an_osd_of_which_a_step_fails_ends_the_rotation_of_all(run, played, paths, knows):
    knows(node1="aes256k")
    played.osds.append(OSD | {"id": 4})
    played.older, played.fails["osd_keyring.write"] = ["osd.3", "osd.4"], "no space left"
    assert "run 'salt-run secret.rotate osd.3' soon" in run("rotate", "osd.*")["error"]
    assert [asked[2] for asked in played.asked if asked[1] == "cluster_auth.replace"] == ["osd.3"]


def test_a_stage_that_began_meanwhile_is_not_worked_beside(run, played, paths, knows, monkeypatch):
    """Configure takes the key of the next OSD out of what its host is told, when the cluster may have it already."""
    knows(node1="aes256k")
    played.osds += [OSD | {"id": 4}, OSD | {"id": 5}]
    played.older, holders = ["osd.3", "osd.4", "osd.5"], iter([None, None])
    monkeypatch.setattr(stage_lock, "holder", lambda opts: next(holders, {"stage": "configure"}))
    done = run("rotate", "osd.*")
    assert done["retcode"] == 2 and "stage configure is running" in done["error"]
    assert played.restarted == [("osd", {"node1": ["osd.3"]})]


@pytest.mark.slow
def test_an_osd_that_does_not_start_is_told(run, played):
    played.osd["up"], played.starts = False, False
    assert "does not start: see 'journalctl -u ceph-osd@3'" in run("rotate", "osd.3")["text"]


def test_an_osd_that_is_down_is_started(run, played):
    played.osd["up"], played.leave = False, "never asked"
    assert "it was down and was started" in run("rotate", "osd.3")["text"]
    assert played.did()[-2:] == [("node1", "osd_keyring.start"), ("salt", "cluster_auth.replaced")]
    assert played.restarted == []


@pytest.mark.parametrize("name", ["osd.3", "osd.*"])
def test_no_osd_is_started_on_a_host_in_maintenance(run, played, paths, knows, name):
    """Somebody works on it: it was started there, and `osd.*` named the command that does so."""
    knows(node1="aes256k")
    record = {"minion": "node1", "state": "down", "since": "today", "user": "ann", "units": {}, "daemons": ["osd.3"]}
    played.osd["up"], played.maintained = False, {"node1": record}
    done = run("rotate", name)
    assert done["retcode"] == 2 and "node1 is in maintenance: 'salt-run maintenance.end node1' first" in done["error"]
    assert "would start it" not in done["error"] and played.did() == []


@pytest.mark.parametrize("leave", ["", "Error EBUSY: unsafe to stop osd(s)"])
def test_an_osd_that_came_up_meanwhile_is_restarted_by_cephs_leave_alone(run, played, monkeypatch, leave):
    """As when its host boots while the key is told."""
    played.osd["up"], one = False, played.one

    def asked(opts, minion, function, *words, **named):
        played.osd["up"], played.leave = played.osd["up"] or function == "osd_keyring.write", leave
        return copy.deepcopy(one(opts, minion, function, *words, **named))

    monkeypatch.setattr(played, "one", asked)
    monkeypatch.setattr(jobs, "one", asked)
    done = run("rotate", "osd.3")
    assert ("node1", "osd_keyring.start") not in played.did()
    assert played.restarted == ([] if leave else [("osd", {"node1": ["osd.3"]})])
    said = f"came up meanwhile with its old key, and cannot be restarted now: {leave}" if leave else "was restarted"
    assert said in done.get("error", done.get("text"))
    assert (("salt", "cluster_auth.replaced") in played.did()) != bool(leave)  # osd.* goes on with it


def test_an_osd_without_cephs_leave_keeps_its_key(run, played, paths):
    played.leave = "Error EBUSY: unsafe to stop osd(s)"
    done = run("rotate", "osd.3")
    assert (
        done["retcode"] == 2 and "osd.3: its key is not rotated, as it cannot be restarted now: Error" in done["error"]
    )
    assert played.did() == []


@pytest.mark.parametrize("step", ["cluster_auth.replace", "osd_keyring.write"])
def test_an_osd_of_which_a_step_fails_is_told_no_longer(run, played, paths, step):
    played.fails[step] = "no space left"
    done = run("rotate", "osd.3")
    assert done["error"].startswith(
        "osd.3 of node1: no space left; mend that and run 'salt-run secret.rotate osd.3' soon"
    )
    assert done["retcode"] == 2 and played.restarted == []
    assert "cluster_auth.replaced" not in [function for _, function in played.did()]  # osd.* goes on with it
    assert not [path for path in paths.secrets.glob("*.yml") if "osd.3" in path.read_text()]


@pytest.mark.parametrize("change", [{"id": 4}, {"fsid": None, "state": "destroyed"}])
def test_an_osd_that_is_not_there(run, played, change):
    played.osd |= change
    done = run("rotate", "osd.3")
    assert done["retcode"] == 2 and "the cluster has no osd.3: see 'ceph osd tree'" in done["error"]


@pytest.mark.slow
def test_no_osd_gets_a_key_while_another_command_stops_daemons(master, run, played):
    with another_stops_daemons(master.opts()):
        assert BUSY in run("rotate", "osd.3")["error"]
    assert played.did() == [] and played.restarted == []


def test_two_commands_at_once_lose_no_key(run, paths, monkeypatch):
    """The second one comes while the first has read the keys, and has not written them yet."""
    said, real = [], atomic.write

    def write(path, text, mode=0o644):
        monkeypatch.setattr(atomic, "write", real)
        said.append(run("rotate", "dashboard.admin"))
        real(path, text, mode)

    monkeypatch.setattr(atomic, "write", write)
    assert "client.a has a fresh key" in run("rotate", "client.a")["text"]
    assert said[0]["retcode"] == 2 and "secret.rotate is running on this master" in said[0]["error"], said
    assert "has a fresh key" in run("rotate", "dashboard.admin")["text"]
    kept = json.loads(paths.keys.read_text())
    assert [name for name in KEYS if kept[name] != KEYS[name]] == ["client.a", "dashboard.admin"]


@pytest.mark.parametrize("words", [["rotate", "client.a"], ["take", "client.a", "{keyring}"], ["revoke", "client.a"]])
def test_no_key_changes_beside_configure_and_none_of_its_own_is_made_meanwhile(run, paths, master, tmp_path, words):
    keyring = tmp_path / "a.keyring"
    keyring.write_text(secrets.keyring({"client.a": secrets.new_key()}, CAPS, ["client.a"]))
    before = state(paths)
    with one_at_a_time.alone(master.opts(), "policy.push", one_at_a_time.KEYS):
        done = run(*(word.format(keyring=keyring) for word in words))
    assert done["retcode"] == 2 and "policy.push is running on this master" in done["error"]
    assert state(paths) == before


def test_a_stage_that_begins_while_the_cluster_is_asked_keeps_the_key(run, played, paths, monkeypatch):
    """It was told the old key already, and would give the cluster that one back."""
    before, asked = state(paths), played.one

    def one(*words, **named):
        monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "clients"})
        return asked(*words, **named)

    monkeypatch.setattr(jobs, "cluster", lambda opts, *words, **named: one(opts, "salt", *words, **named))
    assert "stage clients is running" in run("revoke", "client.a")["error"]
    assert state(paths) == before and played.did() == []
