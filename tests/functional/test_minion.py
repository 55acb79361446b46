"""A real master with real minions: what crosses the wire, which a module loaded into this process cannot show."""

import ipaddress
import json
from pathlib import Path

import pytest
import salt.cache
import yaml
from saltmaster import CHECKOUT, Master, one_node

from proposals.files import atomic
from runners.engine.waiting import until_none

pytestmark = pytest.mark.processes
FSID = "5bd9f8f0-5f5e-4a0e-9a5e-000000000001"
CLAIMS = {"id": "salt", "minion_id": "salt", "roles": ["master", "admin"]}  # that node1 makes: it would be the other
CHOSEN = one_node("salt")
KINDS = {"modules": "_modules", "states": "_states", "grains": "_grains", "utils": "_utils", "output": "_output"}


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master that runs. Its site's own grains see no disk of this machine and one port: a lab's come and go; its own
    module sees the keys of a folder beside."""
    made = salt_factories.salt_master_daemon("wire", factory_class=Master)
    routes = [line.split() for line in Path("/proc/net/route").read_text().splitlines()]
    port = next(name for name, destination, *_ in routes if destination == "00000000")
    ports = made.root / "ports"
    ports.mkdir()
    (ports / port).symlink_to(f"/sys/class/net/{port}")
    for name, seen, instead in (("ceph_disks", "/sys/block", "/nowhere"), ("ceph_nics", "/sys/class/net", str(ports))):
        grain = (CHECKOUT / f"salt/_grains/{name}.py").read_text()
        assert f'"{seen}"' in grain
        atomic.write(made.root / f"salt/_grains/{name}.py", grain.replace(f'"{seen}"', f'"{instead}"'))
    module = (CHECKOUT / "_modules/host_keys.py").read_text()
    assert '"/etc/ceph"' in module
    atomic.write(made.root / "salt/_modules/host_keys.py", module.replace('"/etc/ceph"', f'"{made.root}/etc-ceph"'))
    with made.started():
        yield made


@pytest.fixture(scope="module")
def minions(master):
    """``salt``, and ``node1`` that claims to be it; both run, as hosts of their own."""
    made = {
        name: master.salt_minion_daemon(name, overrides={"grains": {**CLAIMS, "host": name}})
        for name in ("salt", "node1")
    }
    with made["salt"].started(), made["node1"].started():
        yield made


@pytest.fixture(scope="module")
def synced(master, minions):
    """What the prep stage's sync changed on each minion, the first time and the second."""
    cli = master.salt_cli()
    answers = [cli.run("state.apply", "ceph.host.sync", minion_tgt="*") for _ in range(2)]
    assert [answer.returncode for answer in answers] == [0, 0], answers
    return [[state["changes"] for states in answer.data.values() for state in states.values()] for answer in answers]


def test_sync_brings_all_of_ours_once(synced):
    first, second = synced
    for kind, folder in KINDS.items():
        expected = {f"{kind}.{path.stem}" for path in (CHECKOUT / "salt" / folder).glob("*.py")}
        assert expected and [set(changes[kind]) for changes in first] == [expected] * 2
    assert second == [{}, {}]


DRIFTS = {  # what a minion's files may become between two runs of prep
    "edited": lambda folder: (folder / "modules/osd.py").write_text("# mine\n"),
    "removed": lambda folder: (folder / "utils/halocline.py").unlink(),
    "added": lambda folder: (folder / "states/old.py").write_text("def gone(name):\n    return {}\n"),
}


@pytest.mark.parametrize("drift", DRIFTS)
def test_a_minion_whose_files_drifted_is_synced_and_nobody_else(master, minions, synced, drift):
    folder = Path(minions["node1"].config["extension_modules"])
    before = {path.name: path.read_text() for path in folder.glob("*/*.py")}
    DRIFTS[drift](folder)
    planned, done, again = (
        master.typed(*words) for words in (["stage.plan", "prep"], ["minions.sync"], ["minions.sync"])
    )
    assert "minions.sync\n  would  node1: modules: synced\n" in planned.stdout, planned
    assert "would change nothing" not in planned.stdout, planned
    assert (done.returncode, again.returncode) == (0, 0), (done, again)
    assert "salt" not in done.stdout and "every minion has what the master serves" in again.stdout, (done, again)
    assert {path.name: path.read_text() for path in folder.glob("*/*.py")} == before


def test_what_the_site_serves_anew_and_what_a_host_has_become_reaches_the_master(master, minions, synced):
    """The digest of files stays where a grain alone changes: it is read anew all the same."""
    site = master.root / "salt/_modules/host_keys.py"
    text = site.read_text()
    site.write_text(text + "\n")
    assert "salt" in (first := master.typed("minions.sync")).stdout and first.returncode == 0, first
    site.write_text(text)
    assert master.typed("minions.sync").returncode == 0
    grains = Path(minions["node1"].config["conf_file"]).parent / "grains"
    grains.write_text("shelf: b7\n")
    same = master.typed("minions.sync")
    assert (same.returncode, "nothing changed" in same.stdout) == (0, True), same
    cache = salt.cache.factory(master.opts())
    assert not until_none(
        lambda: [] if (cache.fetch("grains", "node1") or {}).get("shelf") == "b7" else ["not yet"], 60, 1
    )
    grains.unlink()


@pytest.fixture(scope="module")
def discovered(master, minions, synced):
    """The discovery stage's answer, where the site says which of this machine's networks is the cluster's."""
    ports = minions["node1"].salt_call_cli().run("host_nics.inspect").data
    network = next(str(ipaddress.ip_interface(address).network) for port in ports for address in port["addresses"])
    cluster = {"fsid": FSID, "public_network": network, "cluster_network": network}
    atomic.write(master.pillar / "proposals/config/stack/default/ceph/cluster.yml", yaml.safe_dump(cluster))
    return master.typed("state.orch", "ceph.stage.discovery")


def test_discovery_stores_what_the_minions_are(master, discovered):
    assert (discovered.returncode, discovered.stderr) == (0, "")
    for minion in ("salt", "node1"):
        host = json.loads((master.pillar / f"inventory/{minion}.json").read_text())
        assert host["hostname"] == minion
        assert host["addresses"] and host["ceph_nics"] and host["memory"]
        assert host["ceph_disks"] == []


def test_a_second_run_changes_nothing_and_is_logged_from_the_bus(master, discovered):
    done = master.typed("stage.run", "discovery")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("stage discovery: done, nothing changed\n")
    log = max((master.root / "run-logs").iterdir())
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(record["minion"] for record in records if record["event"] == "minion") == ["node1", "salt"]
    assert (records[0]["stage"], records[-1]["event"], records[-1]["result"]) == ("discovery", "end", "done")


@pytest.fixture(scope="module")
def configured(master, discovered):
    for path, text in CHOSEN.items():
        atomic.write(master.pillar / "proposals" / path, text)
    return master.typed("state.orch", "ceph.stage.configure")


def test_configure_tells_the_minions(master, configured):
    assert (configured.returncode, configured.stderr) == (0, ""), configured
    assert "2 minions" in configured.stdout, configured
    again = master.typed("state.orch", "ceph.stage.configure")
    assert again.returncode == 0 and "nothing changed" in again.stdout, again


def test_configure_makes_no_keys_for_a_cluster_that_exists(master, configured):
    """The master's keys are gone, and hosts hold an admin's: refused by name, nothing is written."""
    keys, written = master.pillar / "keys/keys.json", sorted(map(str, master.pillar.rglob("*")))
    held = json.loads(keys.read_text())["client.admin"]
    place = master.root / "etc-ceph/ceph.client.admin.keyring"
    atomic.write(place, f"[client.admin]\n\tkey = {held}\n")
    kept = keys.rename(master.root / "kept.json")
    refused = master.typed("state.orch", "ceph.stage.configure")
    shown = refused.stdout + refused.stderr
    assert (
        refused.returncode == 1 and "client.admin is the key of a cluster that exists, and the master has none" in shown
    )
    assert place.name in shown
    assert f"put {keys} back" in shown and "Traceback" not in shown and held not in shown
    assert not keys.exists()
    kept.rename(keys)
    assert sorted(map(str, master.pillar.rglob("*"))) == written
    again = master.typed("state.orch", "ceph.stage.configure")
    place.unlink()
    assert again.returncode == 0 and "nothing changed" in again.stdout, again


def secrets(minion, **claims):
    """The uses of the secrets that a minion is told; their values are masked on the way to its console."""
    return set(minion.salt_call_cli().run("pillar.items", **claims).data["ceph_secrets"])


@pytest.mark.parametrize("claims", [{}, {"pillar": CLAIMS}, {"pillarenv": "other"}])
def test_a_minion_is_told_its_own_whatever_it_claims(minions, configured, claims):
    assert "admin" in secrets(minions["salt"])
    assert secrets(minions["node1"], **claims) == {"mon", "mgr", "bootstrap-osd", "crash"}


def test_a_minion_that_takes_anothers_name_is_told_nothing(minions, configured):
    answer = minions["node1"].salt_call_cli().run("--id=salt", "pillar.items")
    assert answer.returncode != 0 and answer.data is None


def test_configure_tells_of_a_file_that_lost_its_content(master, configured):
    policy = master.pillar / "proposals/policy.cfg"
    atomic.write(master.pillar / "proposals/role-admin/cluster/lost.sls", "")
    policy.write_text(CHOSEN["policy.cfg"] + "role-admin/cluster/lost.sls\n")
    done = master.typed("policy.push")
    policy.write_text(CHOSEN["policy.cfg"])
    assert done.returncode == 0 and "role-admin/cluster/lost.sls is empty and skipped" in done.stdout, done


def test_configure_for_some_hosts_leaves_the_others_files_as_they_were(master, configured):
    current, policy = master.pillar / "current", master.pillar / "proposals/policy.cfg"
    before = {path.name: path.read_text() for path in (current / "cluster").iterdir()}
    policy.write_text(CHOSEN["policy.cfg"] + "role-admin/cluster/*.sls\n")
    done = master.typed("stage.run", "configure", "only=salt")
    after = {path.name: path.read_text() for path in (current / "cluster").iterdir()}
    assert (done.returncode, done.stderr) == (0, ""), done
    assert after["node1.sls"] == before["node1.sls"] and after["salt.sls"] != before["salt.sls"]
    policy.write_text(CHOSEN["policy.cfg"])
    assert master.typed("state.orch", "ceph.stage.configure").returncode == 0
    refused = master.typed("policy.push", "only=nod2")
    assert refused.returncode == 2 and refused.stdout == "only=nod2: no minion is called so: did you mean node1?\n"


def test_a_stage_for_some_hosts_that_failed_is_told_again_for_these(master, configured):
    """Typed as it is told it must not change all others."""
    policy = master.pillar / "proposals/policy.cfg"
    policy.write_text("role-none/cluster/*.sls\n")
    failed = master.typed("stage.run", "configure", "only=s[a]lt")
    policy.write_text(CHOSEN["policy.cfg"])
    assert failed.returncode == 2, failed
    assert "when the cause is gone: salt-run stage.run configure only='s[a]lt'\n" in failed.stdout, failed
