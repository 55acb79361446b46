"""The stage removal with a real master and two real minions, as it is typed; the cluster behind them is a file."""

import json
from contextlib import ExitStack

import pytest
from saltmaster import CHECKOUT, Master, serve
from test_removal_asked import FSID, NODES, POLICY, WHOLE, WITHOUT, host

from proposals.disks import arguments, plan
from proposals.files import atomic
from proposals.files.site import site
from proposals.inventory import kept
from proposals.pillar import named
from proposals.policy import store

pytestmark = pytest.mark.processes
# The one module that asks a cluster, on a file: OSDs that weigh nothing are empty at once.
CLUSTER = """
import json
from pathlib import Path

STATE = Path("PLACE")


def ask(words, stdin=None):
    state, asked = json.loads(STATE.read_text()), " ".join(words)
    osds = {int(number): osd for number, osd in state["osds"].items()}
    hosts = sorted({osd["host"] for osd in osds.values()})
    answers = {
        "osd tree": {"nodes": [
            *({"id": -at - 1, "type": "host", "name": host,
               "children": [n for n, osd in osds.items() if osd["host"] == host]} for at, host in enumerate(hosts)),
            *({"id": n, "type": "osd", "name": f"osd.{n}", "crush_weight": osd["weight"]} for n, osd in osds.items())]},
        "osd dump": {"flags": "", "full_ratio": 0.95, "backfillfull_ratio": 0.9, "pools": [], "osds": [
            {"osd": n, "uuid": osd["fsid"], "up": osd["up"], "in": 1, "weight": 1, "state": ["exists"], "up_from": 1}
            for n, osd in osds.items()]},
        "osd df": {"nodes": [{"id": n, "kb": 100, "kb_used": 9, "kb_used_data": 9, "pgs": 8 if osd["weight"] else 0}
                             for n, osd in osds.items()]},
        "df": {"pools": []}, "osd pool ls detail": [], "osd crush dump": {"buckets": [], "rules": []},
        "quorum_status": {"quorum_names": ["node1"], "monmap": {"mons": [{"name": "node1"}]}},
        "mgr dump": {"active_name": "node1", "standbys": []}, "fs dump": {"filesystems": [], "standbys": []},
        "auth ls": {"auth_dump": [{"entity": name, "key": "x", "caps": {}} for name in state["keys"]]},
        "config-key dump halocline/maintenance/": {},
        "config dump": [], "config-key ls": list(state["kept"]), "mgr metadata": [], "mds metadata": [],
        "status": state["status"],
    }
    return answers[asked]


def ask_all(questions):
    return [ask(words) for words in questions]


def tell(words, stdin=None):
    state = json.loads(STATE.read_text())
    state["told"].append(" ".join(words))
    match words:
        case ["config", "get", *_]:
            return "250"
        case ["config-key", "set", key, *_]:
            state["kept"][key] = stdin
        case ["config-key", "rm", key]:
            del state["kept"][key]
        case ["config-key", "get", key]:
            return state["kept"][key]
        case ["osd", "crush", "reweight-subtree", host, weight]:
            for osd in state["osds"].values():
                osd["weight"] = float(weight) if osd["host"] == host else osd["weight"]
        case ["osd", "purge", number, *_]:
            assert not state["osds"][number]["up"]
            del state["osds"][number]
        case ["auth", "rm", name]:
            state["keys"].remove(name)
    STATE.write_text(json.dumps(state))
    return ""


def kept(key):
    return tell(["config-key", "get", key]) if key in ask(["config-key", "ls"]) else None


def keep(key, text):
    tell(["config-key", "set", key], text)
    return True


def forget(key):
    tell(["config-key", "rm", key])
    return True


def tell_all(commands):
    for words in commands:
        tell(words)
    return True


def refused(words):
    return tell(words)
"""
RETIRE = """
import json
from pathlib import Path

STATE = Path("PLACE")


def _state():
    return json.loads(STATE.read_text())


def left(fsids):
    return {fsid: number for fsid, number in _state()["hosts"].get(__grains__["id"], {}).items() if fsid in fsids}


def retire(osd_id, fsid):
    state = _state()
    state["osds"][str(osd_id)]["up"] = 0
    STATE.write_text(json.dumps(state))
    return {"stopped": osd_id}


def free(osd_id):
    state = _state()
    own = state["hosts"][__grains__["id"]]
    state["hosts"][__grains__["id"]] = {fsid: number for fsid, number in own.items() if number != osd_id}
    STATE.write_text(json.dumps(state))
    return {"freed": []}
"""

# No unit runs, and where tests do there may be no systemd to say so.
UNITS = """

def running(units, boots=True):
    return []
"""


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master on which node4 was configured once and is no more; it and the master's own host run."""
    made = salt_factories.salt_master_daemon("leaves", factory_class=Master)
    paths, state = site(made.opts()), made.root / "cluster.json"
    for number, name in enumerate((*NODES, "salt"), start=1):
        atomic.write(paths.inventory / f"{name}.json", json.dumps(host(number, name)))
    networks = {"public_network": "10.0.0.0/24", "cluster_network": "10.0.0.0/24"}
    store.fragments(paths.proposals, (*NODES, "salt"), fsid=FSID, networks=networks)
    store.populate(paths.proposals, plan.peek(kept.load_inventory(paths.inventory), arguments.parse({"target": "n*"})))
    retire = (CHECKOUT / "_modules/daemons_retire.py").read_text()
    assert 'ROOT = Path("/")' in retire
    own = {"cluster_cli": CLUSTER, "osd_retire": RETIRE}
    own = {name: text.replace("PLACE", str(state)) for name, text in own.items()}
    own["daemons_retire"] = retire.replace('ROOT = Path("/")', f'ROOT = Path("{made.root}/host")') + UNITS
    own["host_keys"] = "def inspect(ask):\n    return {}\n"
    for name, text in own.items():
        atomic.write(made.root / f"salt/_modules/{name}.py", text)
    with ExitStack() as running:
        running.enter_context(made.started())
        for name in ("salt", "node4"):
            overrides = {"grains": {"id": name, "host": name}}
            running.enter_context(made.salt_minion_daemon(name, overrides=overrides).started())
        synced = made.salt_cli().run("saltutil.sync_all", minion_tgt="*")
        assert synced.returncode == 0, synced
        atomic.write(paths.proposals / "policy.cfg", POLICY)
        serve(made.opts())  # four more hosts would have to answer before keys are made
        named.note(paths, named.known(paths))
        atomic.write(paths.proposals / "policy.cfg", WITHOUT)
        done = made.typed("policy.push")
        assert done.returncode == 0, done
        osds = [(fsid, node) for node, each in sorted(named.known(paths).items()) for fsid in each["osds"]]
        osds = {str(at): {"fsid": f, "host": n, "up": 1, "weight": 5.5} for at, (f, n) in enumerate(osds)}
        hosts = {"node4": {osd["fsid"]: int(at) for at, osd in osds.items() if osd["host"] == "node4"}}
        status = {**WHOLE["status"], "health": {"checks": {}}}
        told = {"osds": osds, "hosts": hosts, "keys": ["mgr.node4", "client.site"], "kept": {}, "told": []}
        state.write_text(json.dumps({**told, "status": status}))
        yield made


def cluster(master):
    return json.loads((master.root / "cluster.json").read_text())


def test_a_host_leaves_as_it_is_typed(master):
    """Planned; refused without the hash; carried out with it; then nothing more."""
    before = cluster(master)
    planned = master.typed("stage.plan", "removal")
    assert (planned.returncode, planned.stderr) == (0, ""), planned.stdout
    assert "would drain osd.6, osd.7 in one movement" in planned.stdout
    assert "would  node4: osd.6: stopped by ok-to-stop and safe-to-destroy" in planned.stdout
    confirm = planned.stdout.partition("(hash ")[2].partition(")")[0]
    refused = master.typed("stage.run", "removal")
    assert refused.returncode == 2 and "nothing was confirmed: nothing was changed" in refused.stdout, refused
    assert {**cluster(master), "told": []} == before
    done = master.typed("stage.run", "removal", f"confirm={confirm}")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "stage removal: done, changed" in done.stdout
    after = cluster(master)
    assert sorted(map(int, after["osds"])) == list(range(6)) and after["hosts"] == {"node4": {}}
    assert (after["keys"], after["kept"]) == (["client.site"], {})
    assert "osd crush reweight-subtree node4 0" in after["told"]
    again = master.typed("state.orch", "ceph.stage.removal", f'pillar={{"ceph_confirm": "{confirm}"}}')
    assert (again.returncode, again.stderr) == (0, ""), again
    assert "nothing leaves" in again.stdout and {**cluster(master), "told": []} == {**after, "told": []}
