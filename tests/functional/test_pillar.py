"""What Salt's own compiler makes of a served generation: each minion its own, whatever it claims to be."""

import json
from pathlib import Path

import pytest
import salt.fileclient
import salt.pillar
import yaml
from saltmaster import Master, serve

from proposals.disks import arguments, plan
from proposals.files import atomic, tree
from proposals.files.site import minion_file, site
from proposals.inventory import kept
from proposals.pillar import chosen, key_store
from proposals.policy import merging, policy, store
from proposals.text.errors import PolicyError, ProposalError
from runners.engine import stage_begin
from runners.engine.asking import minions
from runners.engine.looks import keys as looked
from runners.engine.master import compiled as pillars
from runners.engine.runs import one_at_a_time

HOSTS = ("node1", "node2", "node3.lab", "salt")
POLICY = """\
cluster-ceph/cluster/*.sls
role-master/cluster/salt.sls
role-mon/cluster/node*.sls slice=[:2]
role-mgr/cluster/node1.sls
role-mgr/cluster/node1.sls
config/stack/default/global.yml
config/stack/default/ceph/cluster.yml
profile-default/cluster/*.sls
profile-default/stack/default/ceph/minions/*.yml
"""
CLIENT = "ceph_keys: {client.app: {caps: {mon: profile rbd, osd: profile rbd pool=app}, hosts: ['node3*']}}\n"
HOSTILE = "{{ salt['cmd.run']('touch PWNED') }}"


def host(number: int, name: str) -> dict:
    kept = {"size": 6001175126016, "rotational": True, "transport": "sata"}
    disks = [
        {
            **kept,
            "device": f"/dev/sd{letter}",
            "id": f"/dev/disk/by-id/wwn-0x{number}{letter}",
            "serial": f"{number}{letter}",
        }
        for letter in "ab"
    ]
    disks.append({**kept, "device": "/dev/sdh", "id": "/dev/sdh", "model": HOSTILE.replace("PWNED", "/tmp/pwned")})
    for disk in disks:
        disk |= {"in_use": [], "osds": []}
    found = {"ceph_disks_format": 1, "ceph_disks": disks if name != "salt" else []}
    return {**found, "hostname": name.partition(".")[0], "addresses": [f"10.0.0.{number}/24"], "memory": 2**34}


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master over a site of its own; it does not run."""
    return salt_factories.salt_master_daemon("salt", factory_class=Master)


@pytest.fixture(scope="module")
def opts(master):
    """Its options, with a generation that is served."""
    opts = {**master.opts(), "file_client": "local"}
    atomic.write(site(opts).root / "stack/ceph/cluster.yml", CLIENT)
    configure(opts)
    return opts


def configure(opts):
    paths = site(opts)
    for number, name in enumerate(HOSTS, start=1):
        atomic.write(paths.inventory / f"{name}.json", json.dumps(host(number, name)))
    store.fragments(
        paths.proposals,
        HOSTS,
        fsid="11111111-1111-4111-8111-111111111111",
        networks={"public_network": "10.0.0.0/24", "cluster_network": "10.0.0.0/24"},
    )
    atomic.write(paths.proposals / "policy.cfg", POLICY)
    made = plan.peek(kept.load_inventory(paths.inventory), arguments.parse({"target": "node*"}))
    store.populate(paths.proposals, made)
    serve(opts)


def compile_pillar(opts, minion, override=None, grains=None, saltenv="base"):
    grains = grains or {"os_family": "Debian", "id": minion}
    found = salt.pillar.Pillar(opts, grains, minion, saltenv, pillar_override=override).compile_pillar()
    assert "_errors" not in found
    return found


@pytest.fixture(scope="module")
def compiled(opts):
    """Every minion's pillar as it is told plainly."""
    return {minion: compile_pillar(opts, minion) for minion in HOSTS}


def keys(opts):
    return json.loads(site(opts).keys.read_text())


def told(found):
    """All text of a pillar: its own printed form is masked."""
    if isinstance(found, dict):
        return "\n".join(f"{key}\n{told(value)}" for key, value in found.items())
    return "\n".join(told(value) for value in found) if isinstance(found, list) else str(found)


@pytest.mark.slow
def test_each_minion_is_told_its_roles_and_disks(compiled):
    assert {minion: list(each["roles"]) for minion, each in compiled.items()} == {
        "node1": ["mon", "mgr", "storage"],
        "node2": ["mon", "storage"],
        "node3.lab": ["storage"],
        "salt": ["master"],
    }
    generations = {each["ceph"]["generation"] for each in compiled.values()}
    assert len(generations) == 1 and None not in generations
    assert len(compiled["node3.lab"]["ceph"]["storage"]["osds"]) == 2
    assert "storage" not in compiled["salt"]["ceph"]


@pytest.mark.slow
def test_configure_compiles_what_salt_does_and_lists_the_roots_once(opts, monkeypatch):
    saw_none = [told(compile_pillar(opts, minion, grains={"id": minion})) for minion in HOSTS]
    found, listed = [], []
    real, listing = salt.pillar.Pillar.compile_pillar, salt.fileclient.PillarClient.list_states
    monkeypatch.setattr(salt.pillar.Pillar, "compile_pillar", lambda self: found.append(real(self)) or found[-1])
    monkeypatch.setattr(
        salt.fileclient.PillarClient, "list_states", lambda self, env: listed.append(env) or listing(self, env)
    )
    folder = site(opts).current.resolve()
    pillars.check(opts, folder, folder.name, HOSTS)  # too few for a further process
    assert [told(each) for each in found] == saw_none
    assert sorted(listed) == sorted(opts["pillar_roots"])


@pytest.mark.slow
@pytest.mark.parametrize("minion", HOSTS)
def test_policy_shows_what_salt_tells(opts, compiled, minion):
    found = compiled[minion]
    shown = merging.minion(policy.resolve(site(opts).proposals).contents, minion)
    for key in ("roles", "cluster", "fsid", "public_network"):
        assert found[key] == shown[key]
    assert found["ceph"].get("storage") == shown.get("ceph", {}).get("storage")


@pytest.mark.slow
def test_the_master_alone_is_told_who_is_what(opts, compiled):
    members = compile_pillar(opts, opts["id"])["ceph"]["members"]
    assert members["mon"] == ["node1", "node2"]
    assert not compiled["node1"]["ceph"]["members"]["mon"]


FORGED = {"roles": ["mon", "admin", "master"], "minion_id": "salt", "id": "salt", "cluster": "ceph"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("override", "grains", "saltenv"),
    [(None, None, "base"), (FORGED, None, "base"), (None, FORGED, "base"), (FORGED, FORGED, "other")],
)
def test_no_claim_brings_another_minions_secrets(opts, compiled, override, grains, saltenv):
    mine = keys(opts)
    grains = {"os_family": "Debian", **(grains or {})}
    assert mine["client.admin"] in told(compiled["salt"])  # the search finds what is there
    found = told(compile_pillar(opts, "node3.lab", override, grains, saltenv))
    assert {name for name in mine if mine[name] in found} == {"client.bootstrap-osd", "client.crash", "client.app"}


@pytest.mark.slow
def test_a_clients_key_is_told_to_the_hosts_that_are_named_and_to_who_registers_it(opts, compiled):
    key = keys(opts)["client.app"]
    assert {minion for minion in HOSTS if key in told(compiled[minion])} == {"node3.lab", "salt"}
    told_of = compiled["node3.lab"]["ceph"]["services"]["client-keys"]["keyrings"]
    assert [each["path"] for each in told_of] == ["/etc/ceph/ceph.client.app.keyring"]
    ring = '\tcaps mon = "profile rbd"\n\tcaps osd = "profile rbd pool=app"\n'
    assert compiled["node3.lab"]["ceph_secrets"]["keyring/client.app"] == f"[client.app]\n\tkey = {key}\n{ring}"


@pytest.mark.slow
@pytest.mark.parametrize("minion", ["*", "node?", "[a-z]*", "x\n- secrets/salt.yml", "../secrets/salt", "salt.yml\nx"])
def test_an_odd_id_names_no_other_file(opts, minion):
    text = told(compile_pillar(opts, minion))
    assert [name for name, key in keys(opts).items() if key in text] == []


@pytest.mark.slow
def test_a_hostile_disk_is_never_run(opts):
    paths = site(opts)
    assert HOSTILE[:10] in (paths.inventory / "node1.json").read_text()  # it was there to be taken
    compile_pillar(opts, "node1")
    assert not Path("/tmp/pwned").exists()
    written = [path for folder in (paths.proposals, paths.generations) for path in folder.rglob("*") if path.is_file()]
    assert written and not any("{{" in path.read_text() for path in written if path.suffix not in (".cfg",))


@pytest.mark.parametrize(
    "text", ["", "\0\0", "ceph:\n", "ceph: {generation: x}\n", "ceph: {members: {all: [salt]}}\n", "{"]
)
def test_a_damaged_file_of_the_masters_own_does_not_keep_configure_from_mending_it(opts, text):
    path = site(opts).current.resolve() / minion_file(opts["id"])
    whole = path.read_text()
    path.write_text(text)
    try:
        with pytest.raises(PolicyError, match="is not as configure wrote it: run 'salt-run state.orch ceph.stage"):
            minions.members(opts)
        assert stage_begin.questions(opts, ["configure"], True, False, None)  # it begins
    finally:
        path.write_text(whole)
    assert minions.members(opts)["master"] == ["salt"]


@pytest.mark.slow
def test_a_password_is_text_and_never_run(opts):
    for password in (HOSTILE, "k{#9xPq", "{% raw"):
        key_store.lend(site(opts), "node2", "odd", password)
        assert compile_pillar(opts, "node2")["ceph_secrets"]["odd"] == password
    key_store.lend(site(opts), "node2", "odd", None)


@pytest.mark.slow
def test_a_sites_own_layer_may_think(opts):
    own = site(opts).root / "stack/ceph/minions/node2.yml"
    atomic.write(own, 'ceph: {note: "{{ minion_id | upper }}"}\n')
    assert compile_pillar(opts, "node2")["ceph"]["note"] == "NODE2"
    own.unlink()


@pytest.mark.slow
def test_alertmanagers_own_templates_come_to_its_host(opts):
    policy_cfg, own = site(opts).proposals / "policy.cfg", site(opts).root / "stack/ceph/cluster.yml"
    policy_cfg.write_text(POLICY + "role-prometheus/cluster/node2.sls\nrole-alertmanager/cluster/node2.sls\n")
    templated = "{% raw %}{{ .CommonLabels.alertname }}{% endraw %}"
    slack = f"{{api_url_file: /etc/hook, send_resolved: true, title: '{templated}'}}"
    own.write_text(f"monitoring: {{alertmanager: {{receivers: [{{name: ops, slack_configs: [{slack}]}}]}}}}\n{CLIENT}")
    try:
        serve(opts, minions.told(opts))
        services = compile_pillar(opts, "node2")["ceph"]["services"]
    finally:
        own.write_text(CLIENT)
        configure(opts)
    (receiver,) = services["alertmanager"]["config"]["receivers"]
    slack = {"api_url_file": "/etc/hook", "send_resolved": True, "title": "{{ .CommonLabels.alertname }}"}
    assert receiver == {"name": "ops", "slack_configs": [slack]} and services["prometheus"]["rules"]


@pytest.mark.slow
def test_a_site_has_a_global_layer_that_comes_and_goes(opts):
    own = site(opts).root / "stack/global.yml"
    own.write_text("everywhere: 1\n")
    try:
        assert compile_pillar(opts, "node2")["everywhere"] == 1
    finally:
        own.unlink()
    assert "everywhere" not in compile_pillar(opts, "node2")


@pytest.mark.slow
def test_a_plan_says_whether_another_generation_would_be_served_and_serves_none(master, opts):
    push, policy_cfg = master.runners()["policy.push"], site(opts).proposals / "policy.cfg"
    served = site(opts).current.resolve().name
    assert push(test=True)["text"] == f"generation {served} is served already"
    path = site(opts).current.resolve() / minion_file("node1")
    whole = path.read_text()
    path.write_text(f"{whole}# mine\n")
    assert "would be written again: stack/default/ceph/minions/node1.yml" in push(test=True)["text"]
    path.write_text(whole)
    written, there = policy_cfg.read_text(), sorted(site(opts).generations.iterdir())
    policy_cfg.write_text(written.replace("role-mgr/cluster/node1.sls", "role-mgr/cluster/node2.sls"))
    try:
        told = push(test=True)
        assert told["plan"][0]["serves"] != served and "changes" not in told
        policy_cfg.write_text("nonsense\n")
        assert "error" in push(test=True)
    finally:
        policy_cfg.write_text(written)
    assert site(opts).current.resolve().name == served and sorted(site(opts).generations.iterdir()) == there


@pytest.mark.slow
def test_configure_writes_nothing_while_a_key_is_changed(master, opts, monkeypatch):
    """It writes all keys as it has read them."""
    monkeypatch.setattr(looked, "refuse", lambda *_: [])
    before = {path: path.lstat().st_mtime_ns for path in site(opts).root.rglob("*")}
    with one_at_a_time.alone(opts, "secret.rotate", one_at_a_time.KEYS):
        done = master.runners()["policy.push"]()
    assert done["retcode"] == 2 and "secret.rotate is running on this master" in done["error"], done
    assert {path: path.lstat().st_mtime_ns for path in site(opts).root.rglob("*")} == before


@pytest.mark.slow
def test_configure_goes_by_what_salt_serves(opts):
    """Mappings of several files are one; what policy.cfg chose before is forgotten at once."""
    path = site(opts).proposals / "config/stack/default/ceph/cluster.yml"
    before = path.read_text()
    for client in ("client.old", "client.new"):
        path.write_text(f"{before}\nredundancy: 2\n{CLIENT.replace('client.app', client)}")
        written = chosen.read(site(opts), opts["id"], minions.told(opts)).written
        serve(opts)
        served = compile_pillar(opts, opts["id"])
        assert {key: written[key] for key in ("ceph_keys", "redundancy")} == {
            key: served[key] for key in ("ceph_keys", "redundancy")
        }
        assert set(written["ceph_keys"]) == {"client.app", client}
    path.write_text(before)
    assert "redundancy" not in chosen.read(site(opts), opts["id"], minions.told(opts)).written
    configure(opts)


BROKEN = [
    ("stack/ceph/cluster.yml", "fsid: x\n pools: [\n", "stack/ceph/cluster.yml line 2: mapping values are not allowed"),
    (
        "stack/ceph/cluster.yml",
        "pools: {}\nfsid: x\npools: {}\n",
        "stack/ceph/cluster.yml line 3: found conflicting ID",
    ),
    ("stack/ceph/cluster.yml", "fsid: x\nnote: {{ hush(\n", "stack/ceph/cluster.yml: unexpected 'end of template'"),
    ("site.sls", "a: [\n", "Rendering SLS 'ceph.site' failed."),
]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "text", "message"), BROKEN)
def test_a_broken_file_of_the_site_stops_who_reads_settings(opts, path, text, message):
    """Its words would be missing: 'the site names no pools: nothing changed' was told of a site that names them."""
    own = site(opts).root / path
    before = own.read_text() if own.exists() else None
    own.write_text(text)
    try:
        with pytest.raises(ProposalError) as told:
            minions.pillar(opts)
        assert minions.ours(opts) == []  # no key is accepted here
        assert minions.told(opts)["_errors"]  # who says what is wrong goes on
        assert not minions.told(opts).get("pools")
    finally:
        own.unlink() if before is None else own.write_text(before)
    assert str(told.value).startswith("the master's own pillar cannot be compiled: ")
    assert message in str(told.value) and "'salt-run policy.check' says more" in str(told.value)
    assert "fsid" not in str(told.value) and "\n" not in str(told.value)  # the file's other lines may hold secrets
    assert minions.pillar(opts)["ceph_minions"] == "*"


UNFIT = [
    ("cluster.yml", "ceph:\n", "does a file under stack/ceph overwrite 'ceph'?"),
    ("cluster.yml", "ceph:\n  storage:\n", "node1: ceph: storage has nothing behind it, and hides what stands there"),
    ("minions/node1.yml", "ceph: {network: }\n", "node1: ceph: network has nothing behind it"),
    ("roles/mon.yml", "ceph: {tuning: }\n", "node1: ceph: tuning has nothing behind it"),
    ("minions/node2.yml", "ceph: {tuning: ceph-flsh}\n", "node2: ceph: tuning is ceph-flsh: expected one of none,"),
    ("minions/node2.yml", "ceph: {storage: {method: zfs}}\n", "ceph: storage: method is zfs: expected one of lvm"),
    ("roles/storage.yml", "ceph: {network: {seconds: 5m}}\n", "node1: ceph: network: seconds is 5m: expected a whole"),
    ("cluster.yml", "ceph_tunings:\n", "node1: ceph_tunings has nothing behind it"),
    (
        "cluster.yml",
        "ceph_tunings: {a: {settings: [{id: x, sysctl: y}]}}",
        "node1: ceph_tunings: a: settings: x: value is",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "text", "message"), UNFIT)
def test_what_a_host_could_not_use_is_refused_whichever_layer_says_it(opts, path, text, message):
    """An emptied key hides what lies below it, and a profile that there is none of takes the host's own away."""
    own, folder = site(opts).root / "stack/ceph" / path, site(opts).current.resolve()
    before = own.read_text() if own.exists() else None
    atomic.write(own, text)
    try:
        with pytest.raises(PolicyError) as told:
            pillars.check(opts, folder, folder.name, HOSTS)
    finally:
        own.unlink() if before is None else own.write_text(before)
    assert message in str(told.value) and str(told.value).endswith("; the old one is still served")


@pytest.mark.slow
def test_a_layout_that_the_sites_own_file_says_once_more_is_refused(opts):
    """Salt joins the lists of layers with what they share: an OSD was told twice, each half as large as its disk."""
    own, folder = site(opts).root / "stack/ceph/minions/node1.yml", site(opts).current.resolve()
    osds = tree.read_yaml(folder / minion_file("node1"))["ceph"]["storage"]["osds"]
    disk, fsid = next((disk, osd["uuids"][0]) for disk, osd in osds.items())
    atomic.write(own, yaml.safe_dump({"ceph": {"storage": {"osds": {disk: {"uuids": [fsid]}}}}}))
    try:
        assert compile_pillar(opts, "node1")["ceph"]["storage"]["osds"][disk]["uuids"] == [fsid, fsid]
        with pytest.raises(PolicyError, match=f"^node1: {disk}: uuids: {fsid} is also that of an OSD on {disk}: each"):
            pillars.check(opts, folder, folder.name, HOSTS)
        own.write_text(f"ceph: {{storage: {{osds: {{{disk}: {{db_sise: 5}}}}}}}}\n")
        with pytest.raises(PolicyError, match=f"^node1: {disk}: 'db_sise' is no key of an OSD: did you mean 'db_size'"):
            pillars.check(opts, folder, folder.name, HOSTS)
    finally:
        own.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("said", ["{tuning: none}", "{tunings_drives: 'MZ7*', tunings_allowed: }", "{storage: {}}"])
def test_what_a_host_can_use_is_served(opts, said):
    own, folder = site(opts).root / "stack/ceph/minions/node1.yml", site(opts).current.resolve()
    atomic.write(own, f"ceph: {said}\n")
    try:
        pillars.check(opts, folder, folder.name, HOSTS)
    finally:
        own.unlink()


def test_secrets_are_for_the_master_alone_to_read(opts):
    paths = site(opts)
    files = [path for path in (paths.secrets, paths.keys.parent) for path in [path, *path.iterdir()]]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600, 0o700}
    assert len(files) > 4


@pytest.mark.slow
def test_a_minion_that_loses_its_roles_loses_its_secrets(opts, tmp_path):
    paths = site(opts)
    (paths.secrets / "gone.yml").write_text("x: 1\n")
    configure(opts)
    assert not (paths.secrets / "gone.yml").exists()
    assert (paths.secrets / "node1.yml").exists()


@pytest.mark.slow
def test_configure_again_changes_nothing(opts):
    paths = site(opts)
    before = {path: path.lstat().st_mtime_ns for path in [*paths.root.rglob("*"), paths.root]}
    known, current = keys(opts), paths.current.readlink()
    configure(opts)
    rewritten = ("inventory", "proposals")  # `configure` writes these anew, as a discovery would not
    kept = {path: when for path, when in before.items() if not set(rewritten) & set(path.parts)}
    assert {path: path.lstat().st_mtime_ns for path in kept} == kept
    assert paths.current in kept and paths.root / "cluster" in kept
    assert (keys(opts), paths.current.readlink()) == (known, current)
