"""`salt-run policy.check` and `salt-run validate.*` in real processes, on the guide's own choice and on broken ones."""

import json
import re
import shlex

import pytest
import yaml
from saltmaster import Master, serve, side_by_side

from lab.guide import guide
from proposals.files import atomic
from proposals.policy import store
from proposals.reference import machines

pytestmark = pytest.mark.processes
GUIDE = guide("apollo-slice")
FSID = "5bd9f8f0-5f5e-4a0e-9a5e-000000000001"
NETWORKS = {"public_network": "192.168.124.0/24", "cluster_network": "192.168.100.0/24"}
OVERRIDE = "stack/ceph/cluster.yml"


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master on which the guide's commands were typed up to its policy.cfg; no minion runs."""
    made = salt_factories.salt_master_daemon("validate", factory_class=Master)
    home = made.pillar
    hosts = machines.inventory("apollo")["hosts"]
    for number, (name, host) in enumerate(hosts.items(), start=20):
        host |= {"hostname": name, "addresses": [f"192.168.124.{number}/24", f"192.168.100.{number}/24"]}
        atomic.write(home / "inventory" / f"{name}.json", json.dumps(host))
        made.accept(name)
    store.fragments(home / "proposals", hosts, fsid=FSID, networks=NETWORKS, time_server="saltmaster")
    populate = next(shlex.split(command) for command in GUIDE.commands if "proposal.populate" in command)
    done = made.typed(*populate[1:])
    assert done.returncode == 0, done
    return made


@pytest.fixture
def home(master):
    """The site's folder with the guide's policy.cfg and no settings of its own."""
    folder = master.pillar
    (folder / "proposals/policy.cfg").write_text(GUIDE.policy)
    (folder / OVERRIDE).unlink(missing_ok=True)
    return folder


def lines(policy_text, **replaced):
    """The guide's policy with lines that begin with a role's folder changed."""
    for role, line in replaced.items():
        policy_text, count = re.subn(rf"^role-{role}/.*$", line, policy_text, flags=re.M)
        assert count == 1
    return policy_text


def findings(done):
    return [(one["check"], one["severity"]) for one in done.data["findings"]]


def test_the_guides_policy_passes(master, home):
    done = master.typed("policy.check")
    assert (done.returncode, done.stderr) == (0, "")
    assert "osdnode1: storage\n" in done.stdout and "monnode1: mon, mgr, mds\n" in done.stdout
    assert done.stdout.endswith("policy.cfg for 8 hosts: errors 0, warnings 0\n")


def test_what_one_minion_will_be_told(master, home):
    done = master.typed("policy.check", "monnode1")
    assert (done.returncode, done.stderr) == (0, "")
    minion, _, _ = done.stdout.partition("policy.cfg for")
    minion = yaml.load(minion, yaml.CSafeLoader)
    assert minion["pillar"]["roles"] == ["mon", "mgr", "mds"]
    assert minion["pillar"]["fsid"] == FSID
    assert [one["name"] for one in minion["pillar"]["ceph"]["monitors"]] == ["monnode1", "monnode2", "monnode3"]
    assert minion["secrets"] == ["crash", "mds", "mgr", "mon"]
    assert not (home / "secrets").exists() and not (home / "current").exists()  # it only looked
    shown = master.asked("policy.check", "osdnode1").data
    assert len(shown["pillar"]["ceph"]["storage"]["osds"]) == 54 and shown["secrets"] == ["bootstrap-osd", "crash"]


def test_a_file_that_lost_its_content_is_told(master, home):
    fragment = home / "proposals/cluster-ceph/cluster/osdnode1.sls"
    before = fragment.read_text()
    fragment.write_text("")
    shown, checked = side_by_side(master.typed, [["policy.show"], ["policy.check"]])
    fragment.write_text(before)
    for done, status in ((shown, 0), (checked, 1)):
        assert done.returncode == status and "cluster-ceph/cluster/osdnode1.sls is empty and skipped" in done.stdout


def test_a_minion_that_policy_does_not_choose(master, home):
    done = master.typed("policy.check", "osdnode11")
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith(
        "'osdnode11' is no minion that policy.cfg gives to the cluster: did you mean 'osdnode1'?"
    )


@pytest.mark.parametrize(
    ("change", "status", "expected"),
    [
        ({"mon": "role-mon/cluster/monnode[12].sls"}, 2, [("mon_few", "error")]),
        ({"mon": ""}, 2, [("configure", "error"), ("mon_few", "error")]),
        ({"mgr": "role-mgr/cluster/monnode1.sls"}, 2, [("mgr_few", "error")]),
        ({"mds": "role-mds/cluster/saltmaster.sls"}, 1, [("master_daemons", "warning")]),
        ({"master": "role-master/cluster/*.sls"}, 2, [("master_one", "error"), ("master_daemons", "warning")]),
    ],
)
def test_a_choice_that_is_wrong(master, home, change, status, expected):
    (home / "proposals/policy.cfg").write_text(lines(GUIDE.policy, **change))
    done = master.asked("policy.check")
    assert (done.returncode, done.stderr) == (status, "")
    assert sorted(set(findings(done))) == sorted(expected)


def test_fewer_storage_hosts_and_a_small_site(master, home):
    """Three are a warning, two an error; said to be small on purpose, neither, and the rest still counts."""
    at = home / "proposals/policy.cfg"
    for hosts, status, found in (("[123]", 1, ("storage_spare", "warning")), ("[12]", 2, ("storage_few", "error"))):
        at.write_text(re.sub(r"(profile-apollo/.*/)\*", rf"\1osdnode{hosts}", GUIDE.policy))
        done = master.asked("policy.check")
        assert (done.returncode, findings(done)) == (status, [found])
    (home / OVERRIDE).parent.mkdir(parents=True, exist_ok=True)
    (home / OVERRIDE).write_text("small_site: true\n")
    small = master.asked("policy.check")
    assert (small.returncode, findings(small)) == (0, [("storage_few", "allowed")])
    at.write_text(at.read_text().replace("role-mds", "role-mdz"))
    broken = master.typed("policy.check")
    assert broken.returncode == 2 and "role-mdz" in broken.stdout and "did you mean 'role-mds" in broken.stdout


def test_fsid_and_networks_come_first(master, home):
    fragment = home / "proposals/config/stack/default/ceph/cluster.yml"
    good = fragment.read_text()
    try:
        fragment.write_text("fsid: 1234\npublic_network: 192.168.124.1/24\ncluster_network: 192.168.124.0/25\n")
        done = master.typed("policy.check")
    finally:
        fragment.write_text(good)
    assert (done.returncode, done.stderr) == (2, "")
    assert "fsid is 1234, expected a UUID" in done.stdout
    assert "public_network is 192.168.124.1/24, expected one network" in done.stdout


def test_validate_before_configure(master, home):
    (home / "current").unlink(missing_ok=True)
    for verb in ("validate.all", "validate.deploy"):
        done = master.typed(verb)
        assert (done.returncode, done.stderr) == (2, "")
        assert done.stdout == "nothing is configured yet: run 'salt-run state.orch ceph.stage.configure' first\n"


@pytest.mark.parametrize(
    ("host", "brings"), [("osdnode1", ["ceph.cluster.osd"]), ("monnode1", ["ceph.cluster.mgr"]), ("monnode1", [])]
)
def test_a_generation_of_an_older_version_is_made_anew_first(master, home, host, brings):
    """Whose hosts were not told yet what brings up their daemons: deploy would have left them without. A generation of
    today's has such files, where configure was run for some hosts alone; without a role of daemons but a monitor's, a
    host has crash reports.
    """
    serve(master.config)
    minions = home / "current/stack/default/ceph/minions"
    minion = next(iter(sorted(minions.glob(f"{host}*"))))
    own = next(path for path in minions.iterdir() if "members:" in path.read_text())
    before = {path: path.read_text() for path in (minion, own)}
    older, members = (yaml.load(text, yaml.CSafeLoader) for text in before.values())
    if brings:
        assert older["ceph"]["daemons"] == ["ceph.cluster.crash", *brings]
    else:
        members["ceph"]["members"]["mgr"] = []
    del older["ceph"]["daemons"]
    try:
        minion.write_text(yaml.safe_dump(older))
        own.write_text(yaml.safe_dump(members))
        done = master.typed("validate.deploy")
    finally:
        for path, text in before.items():
            path.write_text(text)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout == (
        "the generation that is served does not say what brings up daemons, as it was made by an older version: run "
        "'salt-run state.orch ceph.stage.configure' first\n"
    )


def test_show_lists_and_explains(master, home):
    serve(master.config)
    listed = master.typed("validate.show")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "\nmtu               warning  the MTU is equal on all hosts of a network\n" in listed.stdout
    one = master.typed("validate.show", "mon_few")  # needs no host: none runs
    assert (one.returncode, one.stderr) == (0, "")
    assert one.stdout.startswith("mon_few (error): there are at least three monitors\nsource: docs.ceph.com")
    assert one.stdout.endswith("'small_site: true' allows it\n1 checks of 8 hosts: errors 0, warnings 0\n")
    wrong = master.typed("validate.show", "mon_fwe")
    assert (wrong.returncode, wrong.stderr) == (2, "")
    assert wrong.stdout == "there is no check 'mon_fwe': did you mean 'mon_few'?\n"


def test_what_is_served_is_judged_not_what_was_chosen_since(master, home):
    (home / "proposals/policy.cfg").write_text(lines(GUIDE.policy, mon="role-mon/cluster/monnode1.sls"))
    serve(master.config)
    (home / "proposals/policy.cfg").write_text(GUIDE.policy)
    done = master.asked("validate.show", "mon_few")
    assert (done.returncode, findings(done)) == (2, [("mon_few", "error")])
    assert master.typed("policy.check").returncode == 0


def test_a_host_that_other_arguments_planned_is_told(master, home):
    serve(master.config)
    stored = home / "proposals/profile-apollo/proposal.json"
    before = stored.read_text()
    assert findings(master.asked("validate.show", "plan_kept")) == []
    kept = json.loads(before)
    kept["hosts"]["osdnode2"]["arguments"] = {"ratio": 3}
    try:
        stored.write_text(json.dumps(kept))
        assert findings(master.asked("validate.show", "plan_kept")) == [("plan_kept", "warning")]
        assert ("plan_kept", "warning") in findings(master.asked("policy.check"))
        stored.write_text("{")
        assert findings(master.asked("validate.show", "plan_unread")) == [("plan_unread", "warning")]
    finally:
        stored.write_text(before)
