"""What policy.cfg no longer names leaves, under load: a host, interrupted on its way; each role; a host that is gone.

What is given back afterwards is as planned again, and nothing was lost.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from busy import until_seen
from clusters import SUBNETS
from product import DEPLOY, PILLAR, STORAGE, Product, cluster_file, until
from saltcli import salt_run
from test_apollo import BEHIND, MONITORS, OSDS
from test_replace import FILLED, GONE, QUICK, bytes_of, grow, wipe

from lab.containers import Done
from lab.session import Session

pytestmark = pytest.mark.big
POLICY = f"{PILLAR}/proposals/policy.cfg"
CODED = """
ceph osd erasure-code-profile set four k=2 m=2 crush-failure-domain=host
ceph osd pool create coded 8 8 erasure four
ceph osd pool application enable coded rados
"""
UNCODED = """
ceph config set mon mon_allow_pool_delete true
ceph osd pool rm coded coded --yes-i-really-really-mean-it
ceph config rm mon mon_allow_pool_delete
"""
KILL = (
    "systemctl kill --signal=KILL salt-master; pkill -9 -f '[c]eph.stage.removal'; sleep 3; systemctl start salt-master"
)
PARTS = "lsblk -nlo PARTLABEL {}"


def policy(product: Product, text: str) -> None:
    """The admin's choice, written and configured."""
    product.write(POLICY, text)
    assert product.run("saltmaster", "salt-run stage.run configure", limit=900).code == 0


def removal(product: Product, words: str = "") -> Done:
    return product.run("saltmaster", f"salt-run stage.run removal {words}".rstrip(), check=False, limit=3000)


def plan(product: Product, words: str = "") -> Done:
    return product.run("saltmaster", f"salt-run stage.plan removal {words}".rstrip(), check=False, limit=900)


def hash_of(planned: Done) -> str:
    found = re.search(r"\(hash (\w+)\)", planned.out)
    assert found, planned.out
    return found[1]


def maps(product: Product) -> dict[str, str]:
    """Every map of the cluster that a removal changes, and what the monitors keep."""
    asked = ("osd crush dump", "mon dump", "auth ls", "config dump", "fs ls", "osd ls")
    kept = [key for key in product.ceph("config-key ls") if not key.startswith("mgr/")]  # managers keep what they like
    return {"kept": json.dumps(kept), **{words: json.dumps(product.ceph(words), sort_keys=True) for words in asked}}


def unchanged(product: Product, do: Callable[[], Done], down: str | None = None) -> Done:
    """What is done changes no map and no byte on any host, but for one that is down."""
    before, traces = maps(product), product.traces(down)
    done = do()
    assert "Traceback" not in done.out + done.err
    after = maps(product)
    assert {words: (before[words], told) for words, told in after.items() if told != before[words]} == {}
    assert product.traces(down) == traces
    return done


@contextmanager
def kept(product: Product) -> Iterator[str]:
    """policy.cfg as it is now; the same again afterwards."""
    text = product.run("saltmaster", f"cat {POLICY}").out
    try:
        yield text
    finally:
        product.write(POLICY, text)


def without(text: str, host: str) -> str:
    """A policy without a host: its globs name all others."""
    number = host[-1]
    others = "".join(each for each in "1234" if each != number)
    stem = host[:-1]
    lines = [f"cluster-ceph/cluster/{stem}[{others}]*.sls", "cluster-ceph/cluster/salt*.sls"]
    lines += ["cluster-ceph/cluster/mon*.sls"] if stem == "osdnode" else []
    text = text.replace("cluster-ceph/cluster/*.sls", "\n".join(lines))
    text = re.sub(r"(profile-\w+/cluster)/\*", rf"\1/{stem}[{others}]*", text)
    return re.sub(r"(profile-\w+/stack/default/ceph/minions)/\*", rf"\1/{stem}[{others}]*", text)


def test_a_host_leaves_under_load_and_comes_back(apollo: Product, load: Callable) -> None:
    """Refused where the rest is too full or too few; its removal killed in mid-drain; its disks given to a new plan."""
    host, before = "osdnode4", apollo.ceph("osd tree")["nodes"]
    ids = next(node["children"] for node in before if node["name"] == host)
    disks = apollo.notes["disks"] = disks_behind(apollo, host)
    with kept(apollo) as text, load(apollo, until_seen(apollo), least=200) as busy:
        policy(apollo, without(text, host))
        shown = apollo.run("saltmaster", "salt-run policy.show").out
        assert f"would leave: {host}: {BEHIND} OSDs" in shown
        planned = unchanged(apollo, lambda: plan(apollo))
        assert planned.code == 0 and f"{host}: {BEHIND} OSDs" in planned.out
        assert re.search(r"about [\d.]+ [MG]iB of data move", planned.out) and "would drain" in planned.out
        confirm = hash_of(planned)
        for words in ("", "confirm=bbbbbbbb"):
            refused = unchanged(apollo, lambda words=words: removal(apollo, words))
            assert refused.code != 0 and confirm in refused.out and "nothing was changed" in refused.out
        too_few(apollo, confirm)
        apollo.run("saltmaster", FILLED)
        too_full(apollo, confirm, ids)
        with busy.fault():
            killed_while_it_drains(apollo, confirm, ids)
            apollo.run("saltmaster", QUICK)
            done = removal(apollo, f"confirm={confirm}")
            assert done.code == 0, done.out + done.err
        apollo.run("saltmaster", GONE)
        left(apollo, host, ids, disks)
        again = removal(apollo, f"confirm={confirm}")
        assert again.code == 0 and "nothing leaves" in salt_run(apollo.session, "removal.check").data["text"]
        for disk in disks["data"]:
            assert wipe(apollo, host, disk["id"], disk["serial"], "yes=true")[0] == 0
        apollo.write(POLICY, text)
        grow(apollo)
        until(lambda: apollo.whole(OSDS, MONITORS), 600, f"HEALTH_OK with {OSDS} OSDs")
    lines = salt_run(apollo.session, "osd.report").data["osds"]
    assert len(lines) == OSDS and [line["problems"] for line in lines] == [[]] * OSDS
    assert plan(apollo).code == 0 and "nothing leaves" in plan(apollo).out


def disks_behind(product: Product, host: str) -> dict[str, list[dict]]:
    """A host's disks by what its OSDs have there, with both ends of each."""
    report = [line for line in salt_run(product.session, "osd.report").data["osds"] if line["host"] == host]
    listed = json.loads(product.run(host, "lsblk -J -b -d -o NAME,SERIAL,SIZE").out)["blockdevices"]
    by_node = {f"/dev/{disk['name']}": {**disk, "node": f"/dev/{disk['name']}"} for disk in listed}
    found: dict[str, list[dict]] = {}
    for role in ("data", "db"):
        for name in sorted({line[role] for line in report}):
            disk = by_node[product.run(host, f"readlink -f {name}").out.strip()]
            found.setdefault(role, []).append({**disk, "id": name, "ends": bytes_of(product, host, disk)})
    return found


def too_few(product: Product, confirm: str) -> None:
    """A pool of 2+2 needs four hosts."""
    product.run("saltmaster", CODED)
    done = removal(product, f"confirm={confirm}")
    assert done.code != 0 and "needs 4 of type host: 3 would be left" in done.out, done.out
    product.run("saltmaster", UNCODED)


def too_full(product: Product, confirm: str, ids: list[int]) -> None:
    """The fullest OSD of those that stay would pass backfillfull_ratio, which is set to what it holds now."""
    ratio = product.ceph("osd dump")["backfillfull_ratio"]
    nodes = product.ceph("osd df")["nodes"]
    fullest = max(node["kb_used"] / node["kb"] for node in nodes if node["id"] not in ids)
    product.run("saltmaster", f"ceph osd set-backfillfull-ratio {fullest:.9f}")
    done = removal(product, f"confirm={confirm}")
    product.run("saltmaster", f"ceph osd set-backfillfull-ratio {ratio}")
    assert done.code != 0 and "where Ceph stops moving data" in done.out, done.out
    assert "halocline/removal" not in product.ceph("config-key ls")


def killed_while_it_drains(product: Product, confirm: str, ids: list[int]) -> None:
    """The master and the stage are killed while data leaves the OSDs, which go on running."""
    thread = threading.Thread(target=lambda: removal(product, f"confirm={confirm}"))
    thread.start()
    until(lambda: not any(weight(product, osd_id) for osd_id in ids), 300, "the OSDs weigh nothing")
    product.run("saltmaster", KILL, check=False)
    thread.join()
    assert "halocline/removal" in product.ceph("config-key ls")
    osds = {osd["osd"]: osd for osd in product.ceph("osd dump")["osds"]}
    assert all(osds[osd_id]["up"] for osd_id in ids)
    answering(product)
    assert hash_of(plan(product)) == confirm


def answering(product: Product) -> None:
    """Wait until a master that was killed and started again hears every minion."""
    until(lambda: salt_run(product.session, "manage.down", check=False).data == [], 120, "minions answer")


def weight(product: Product, osd_id: int) -> float:
    return next(node["crush_weight"] for node in product.ceph("osd tree")["nodes"] if node["id"] == osd_id)


def left(product: Product, host: str, ids: list[int], disks: dict[str, list[dict]]) -> None:
    """Nothing of the host is in the cluster, nothing of the cluster on the host but the bytes of its data disks."""
    until(lambda: product.whole(OSDS - BEHIND, MONITORS), 120, f"HEALTH_OK with {OSDS - BEHIND} OSDs")
    assert not set(ids) & set(product.ceph("osd ls"))
    names = {node["name"] for node in product.ceph("osd tree")["nodes"]}
    assert host not in names
    entities = {each["entity"] for each in product.ceph("auth ls")["auth_dump"]}
    assert not {f"osd.{osd_id}" for osd_id in ids} & entities
    assert "halocline/removal" not in product.ceph("config-key ls")
    assert product.run(
        host, "pgrep -x 'ceph-osd'; ls -A /etc/ceph/osd-devices /var/lib/ceph/osd", check=False
    ).out.split() == [
        "/etc/ceph/osd-devices:",
        "/var/lib/ceph/osd:",
    ]
    assert all(product.run(host, PARTS.format(disk["node"])).out.split() == [] for disk in disks["db"])
    assert all(len(product.run(host, PARTS.format(disk["node"])).out.split()) == 1 for disk in disks["data"])
    assert all(bytes_of(product, host, disk) == disk["ends"] for disk in disks["data"])


ROLES = {  # by role: the line without node3 or node2, and what shows that it has left and is back
    "mon": ("role-mon/cluster/node*", "role-mon/cluster/node[12]*", "node3", "mon"),
    "mgr": ("role-mgr/cluster/node*", "role-mgr/cluster/node[12]*", "node3", "mgr"),
    "mds": ("role-mds/cluster/node*", "role-mds/cluster/node[12]*", "node3", "mds"),
    "rgw": ("role-rgw/cluster/node[12]", "role-rgw/cluster/node1", "node2", "client.rgw"),
    "ganesha": ("role-ganesha/cluster/node[12]", "role-ganesha/cluster/node1", "node2", "client.ganesha"),
    "rbd-mirror": ("role-rbd-mirror/cluster/node3.sls\n", "", "node3", "client.rbd-mirror"),
    "client-cephfs": ("role-client-cephfs/cluster/client1.sls\n", "", "client1", "client.cephfs"),
    "alertmanager": ("role-alertmanager/cluster/client1.sls\n", "", "client1", None),
}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_leaves_and_comes_back(served: Product, role: str) -> None:
    """What it ran is stopped, its key refused from then on; the stages make it anew, and the cluster is whole."""
    line, other, host, entity = ROLES[role]
    until(served.whole, 120, "HEALTH_OK")
    with kept(served) as text:
        assert line in text
        policy(served, text.replace(line, other))
        planned = unchanged(served, lambda: plan(served))
        assert planned.code == 0 and f"{host}: " in planned.out, planned.out
        before = keys(served)
        done = removal(served, f"confirm={hash_of(planned)}")
        assert done.code == 0, done.out + done.err
        if entity and role != "mon":
            assert before - keys(served) == {f"{entity}.{host}"}
        assert units(served, host, role) == []
        assert "nothing leaves" in plan(served).out
    for name in ("configure", "deploy", "services"):
        assert served.run("saltmaster", f"salt-run stage.run {name}", limit=900).code == 0
    assert keys(served) == before
    until(served.whole, 300, f"HEALTH_OK with {role} of {host} back")


ADDED = {  # by role: a host that gets it, the part that it is told, and what shows that it is there
    "openattic": ("client1", "dashboard-access", "test -e /etc/ceph/dashboard.password"),
    "client-radosgw": ("client1", "client-radosgw", "test -e /etc/ceph/rgw-users.credentials"),
    "prometheus": ("node3", "prometheus", "systemctl is-active prometheus || systemctl is-enabled prometheus"),
}


@pytest.mark.parametrize("role", ADDED)
def test_what_a_host_was_given_is_taken_away_again(served: Product, role: str) -> None:
    """On a host beside those that have it."""
    host, part, there = ADDED[role]
    until(served.whole, 120, "HEALTH_OK")
    with kept(served) as text:
        policy(served, f"{text.rstrip()}\nrole-{role}/cluster/{host}.sls\n")
        assert served.run("saltmaster", "salt-run stage.run services", limit=900).code == 0
        assert served.run(host, there, check=False).code == 0
        policy(served, text)
        leaves(served, {host: [part]})
    assert served.run(host, there, check=False).code != 0
    assert served.run("saltmaster", "salt-run stage.run services", limit=900).code == 0
    until(served.whole, 300, f"HEALTH_OK without {role} on {host}")


def test_a_host_leaves_with_all_that_watches_the_cluster(served: Product) -> None:
    """With its node exporter, which every host has; another watches instead, and gives that back."""
    until(served.whole, 120, "HEALTH_OK")
    watching = ["prometheus", "prometheus-alertmanager", "prometheus-node-exporter"]
    state = f"systemctl is-active {' '.join(watching)}"
    assert served.run("client1", state).out.split() == ["active"] * 3
    with kept(served) as text:
        assert "cluster-ceph/cluster/*.sls" in text
        policy(served, text.replace("cluster-ceph/cluster/*.sls", "cluster-ceph/cluster/[!c]*.sls")
               .replace("/cluster/client1.sls", "/cluster/node3.sls"))  # fmt: skip
        assert served.run("saltmaster", "salt-run stage.run services", limit=900).code == 0
        leaves(served, {"client1": ["alertmanager", "client-cephfs", "node-exporter", "prometheus"]})
        assert served.run("client1", state, check=False).out.split() == ["inactive"] * 3
        assert served.run("node3", state).out.split() == ["active"] * 3
    for name in ("configure", "services"):
        assert served.run("saltmaster", f"salt-run stage.run {name}", limit=900).code == 0
    leaves(served, {"node3": ["alertmanager", "client-cephfs", "prometheus"]})
    assert served.run("client1", state).out.split() == ["active"] * 3
    assert served.run("node3", state, check=False).out.split() == ["inactive", "inactive", "active"]
    until(served.whole, 300, "HEALTH_OK, as it was")


def leaves(product: Product, parts: dict[str, list[str]]) -> None:
    """These parts of hosts leave, by the list's hash, and nothing does any more."""
    planned = unchanged(product, lambda: plan(product))
    for host, names in parts.items():
        listed = re.findall(rf"^\s*{host}: (\S+)$", planned.out, re.MULTILINE)
        assert {name.partition(".")[0] for name in listed} >= set(names), planned.out
    done = removal(product, f"confirm={hash_of(planned)}")
    assert done.code == 0, done.out + done.err
    assert "nothing leaves" in plan(product).out


def keys(product: Product) -> set[str]:
    return {each["entity"] for each in product.ceph("auth ls")["auth_dump"]}


def units(product: Product, host: str, role: str) -> list[str]:
    """The units of a role that run on a host, or would at its boot."""
    names = {"rgw": "ceph-radosgw@*", "ganesha": "nfs-ganesha*", "alertmanager": "*alertmanager*"}
    pattern = names.get(role, f"ceph-{role}@*")
    command = f"systemctl list-units --plain --no-legend --state=active '{pattern}'"
    return product.run(host, command, check=False).out.split()


def test_a_majority_of_monitors_is_refused_by_name(served: Product) -> None:
    with kept(served) as text:
        policy(served, text.replace("role-mon/cluster/node*", "role-mon/cluster/node1*"))
        refused = unchanged(served, lambda: removal(served))
        assert refused.code != 0 and "mon.node2, mon.node3: the majority of 3 monitors" in refused.out, refused.out
    assert served.run("saltmaster", "salt-run stage.run configure", limit=900).code == 0


LAST = {"mgr": "mgr.node3: no other manager runs", "mds": "mds.node3: the last metadata server of"}


@pytest.mark.parametrize("role", LAST)
def test_the_last_one_that_runs_is_refused_by_name(served: Product, role: str) -> None:
    """The others are down."""
    until(served.whole, 120, "HEALTH_OK")
    with kept(served) as text:
        policy(served, text.replace(f"role-{role}/cluster/node*", f"role-{role}/cluster/node[12]*"))
        for host in ("node1", "node2"):
            served.run(host, f"systemctl stop ceph-{role}@{host}")
        try:
            until(lambda: running(served, role) == {"node3"}, 180, f"only {role}.node3 is left")
            refused = removal(served)
            assert refused.code != 0 and LAST[role] in refused.out, refused.out
        finally:
            for host in ("node1", "node2"):
                served.run(host, f"systemctl start ceph-{role}@{host}")
    for name in ("configure", "deploy"):
        assert served.run("saltmaster", f"salt-run stage.run {name}", limit=900).code == 0
    until(served.whole, 300, "HEALTH_OK with all of them")


def running(product: Product, role: str) -> set[str]:
    """Who of a role the monitors know to run. While no manager is active, nobody else answers."""
    if role == "mgr":
        dump = product.ceph("mgr dump")
        return {dump["active_name"], *(each["name"] for each in dump["standbys"])} - {""}
    dump = product.ceph("fs dump")
    servers = [each for system in dump["filesystems"] for each in system["mdsmap"]["info"].values()]
    return {each["name"] for each in [*servers, *dump["standbys"]]}


@pytest.fixture(scope="module")
def leaving(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A cluster like `tiny` with one node more, without a monitor there."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("leaving"), "leaving", SUBNETS["leaving"])))
    product.guide()
    product.write(POLICY, re.sub(r"(role-m\w+)/cluster/node\*", r"\1/cluster/node[123]*", product.way.policy))
    product.session.verb("add", "node4", "--like", "node1")
    product.type("salt-run state.orch ceph.stage.prep")
    grow(product)
    until(lambda: product.whole(8), 300, "HEALTH_OK with node4")
    return product


def test_a_host_that_is_gone_is_given_up_by_name(leaving: Product, load: Callable) -> None:
    """Its copies are made anew from the others; until it is given up by name, what it had stays."""
    text = leaving.run("saltmaster", f"cat {POLICY}").out
    with load(leaving, until_seen(leaving), least=100) as busy, busy.fault():
        leaving.session.verb("stop", "node4")
        policy(leaving, without(text, "node4"))
        stays = removal(leaving)
        assert stays.code != 0 and "gone=node4" in stays.out, stays.out
        until(lambda: down(leaving) == 2, 120, "its OSDs are seen down")
        planned = plan(leaving, "gone=node4")
        assert planned.code == 0 and "its host is given up" in planned.out, planned.out
        done = removal(leaving, f"gone=node4 confirm={hash_of(planned)}")
        assert done.code == 0, done.out + done.err
        until(lambda: leaving.whole(6, STORAGE), 300, "HEALTH_OK without node4")
    assert "node4" not in {node["name"] for node in leaving.ceph("osd tree")["nodes"]}
    assert leaving.run("saltmaster", f"salt-run state.orch {DEPLOY}", limit=900).code == 0


def down(product: Product) -> int:
    return sum(not osd["up"] for osd in product.ceph("osd dump")["osds"])


def test_a_single_osd_is_drained_and_its_place_free(leaving: Product, load: Callable) -> None:
    """Its disk taken out of its host's file of the profile; refused before."""
    until(lambda: leaving.whole(6), 120, "HEALTH_OK")
    osd_id = first_osd(leaving, "node1")["id"]
    refused = leaving.run("saltmaster", f"salt-run osd.remove {osd_id}", check=False)
    assert refused.code == 2 and "is planned on node1" in refused.out
    unplanned(leaving, "node1")
    with load(leaving, until_seen(leaving), least=50) as busy, busy.fault():
        typed = f"salt-run osd.remove {osd_id}"
        dry = unchanged(leaving, lambda: leaving.run("saltmaster", f"{typed} test=true"), down="node4")
        assert f"would drain osd.{osd_id}" in dry.out
        done = leaving.run("saltmaster", typed, check=False, limit=900)
        assert done.code == 0, done.out
    assert osd_id not in leaving.ceph("osd ls")
    assert leaving.run("node1", f"test -e /etc/ceph/osd-devices/{osd_id}", check=False).code != 0


def test_an_osd_loses_its_weight_in_steps(leaving: Product, load: Callable) -> None:
    """Each as large as the one before; the next when nothing moves any more."""
    until(lambda: leaving.whole(5), 120, "HEALTH_OK")
    osd_id = first_osd(leaving, "node2")["id"]
    whole, seen = weight(leaving, osd_id), set()
    unplanned(leaving, "node2")
    with load(leaving, until_seen(leaving), least=50) as busy, busy.fault():
        planned = plan(leaving, "steps=4")
        assert "in 4 steps" in planned.out, planned.out
        done: list[Done] = []
        typed = f"confirm={hash_of(planned)} steps=4"
        thread = threading.Thread(target=lambda: done.append(removal(leaving, typed)))
        thread.start()
        while thread.is_alive():
            nodes = leaving.ceph("osd tree")["nodes"]
            seen |= {node["crush_weight"] for node in nodes if node["id"] == osd_id}
        assert done[0].code == 0, done[0].out + done[0].err
    assert osd_id not in leaving.ceph("osd ls")
    between = sorted(each for each in seen if 0 < each < whole)
    assert between == pytest.approx([whole / 4, whole / 2, whole * 3 / 4], rel=0.05), seen


def first_osd(product: Product, host: str) -> dict:
    return next(each for each in salt_run(product.session, "osd.report").data["osds"] if each["host"] == host)


def unplanned(product: Product, host: str) -> None:
    """Take the first OSD of a host out of the profile, and serve that."""
    path, data = (
        f"{PILLAR}/proposals/profile-tiny/stack/default/ceph/minions/{host}.yml",
        first_osd(product, host)["data"],
    )
    edit = f"import yaml; t = yaml.safe_load(open('{path}')); s = t['ceph']['storage']; "
    edit += f"[s[key].pop('{data}') for key in ('osds', 'disks')]; yaml.safe_dump(t, open('{path}', 'w'))"
    product.run("saltmaster", ["python3", "-c", edit])
    assert product.run("saltmaster", "salt-run stage.run configure", limit=900).code == 0
