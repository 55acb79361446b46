"""Metrics of the product itself, through the runner that writes them: logs, certificates, proposals, hosts."""

import datetime
import json

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from saltmaster import Master

from proposals.disks import arguments, plan
from proposals.files import atomic
from proposals.files.site import minion_file, site
from proposals.policy import store
from proposals.reference import machines
from proposals.stages.replies import Problem, Replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions
from runners.engine.cluster import maintained
from runners.engine.runs import stage_lock, stage_log

END = datetime.datetime(2031, 5, 6, tzinfo=datetime.UTC)
JOB = {"stage": "deploy", "jid": "20261123100000000000", "pid": 1, "user": "root", "arguments": ["ceph.stage.deploy"]}
HOSTS = ["osdnode1", "osdnode2", "osdnode3"]


def certificate(end):
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    made = x509.CertificateBuilder(name, name, key.public_key(), 7, end - datetime.timedelta(9), end)
    return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master on which a stage ran, with a certificate, and a profile of which a disk went since."""
    made = salt_factories.salt_master_daemon("metrics", factory_class=Master)
    opts = made.opts()
    paths, raw = site(opts), machines.inventory("apollo")
    log = stage_log.new(opts, JOB)
    stage_log.add(log, "end", result="failed", reason="in step a")
    for asked in (["ratio=9", "name=whole"], ["ratio=9", "name=stale", "target=osdnode2"]):
        store.populate(paths.proposals, plan.peek(raw, arguments.parse(asked)), propose_policy=False)
    chosen = {"ceph": {"profiles": {"whole": ["osdnode1"], "stale": ["osdnode2"], "by-hand": ["osdnode3"]}}}
    atomic.write(paths.current / minion_file(opts["id"]), json.dumps(chosen))
    atomic.write(paths.given / "tls.crt", certificate(END) + certificate(END + datetime.timedelta(100)))
    atomic.write(paths.given / "none.crt", "no certificate")
    for name, host in raw["hosts"].items():
        atomic.write(paths.inventory / f"{name}.json", json.dumps({**host, "hostname": name}))
    return made


@pytest.fixture
def asked(monkeypatch):
    """The functions that hosts are asked, of whom osdnode2 is silent and osdnode3 in maintenance, silent too."""
    questions = []

    def ask(opts, of, several, timeout=60):
        questions.append([one.function for one in several])
        waits = {"differs": {"a": [1, 2]}, "told": {}, "answers": True}
        told = {"test.ping": True, "daemons.settings": {"osd.1": waits}}
        problems = [Problem(minion, "does not answer", silent=True) for minion in HOSTS[1:]]
        return {one.function: Replies({HOSTS[0]: told[one.function]}, problems) for one in several}

    monkeypatch.setattr(minions, "ours", lambda opts: HOSTS)
    monkeypatch.setattr(jobs, "ask_apart", ask)
    monkeypatch.setattr(jobs, "cluster", lambda *_: [])
    monkeypatch.setattr(maintained, "questions", lambda opts: [])
    monkeypatch.setattr(maintained, "known", lambda opts, replies: ([Kept(HOSTS[2])], ""))
    return questions


class Kept:
    def __init__(self, minion):
        self.minion = minion


def numbers(path):
    return dict(line.rsplit(" ", 1) for line in path.read_text().splitlines() if not line.startswith("#"))


@pytest.mark.slow
def test_all_of_it_is_written(master, asked, tmp_path):
    done = master.runners()["metrics.write"](str(tmp_path))
    assert done["text"] == "written"
    own, hosts = numbers(tmp_path / "halocline.prom"), numbers(tmp_path / "halocline_hosts.prom")
    assert own['halocline_stage_success{stage="deploy"}'] == own['halocline_stage_running{stage="deploy"}'] == "0"
    assert float(own['halocline_certificate_end_timestamp_seconds{file="tls.crt"}']) == END.timestamp()
    assert not any("none.crt" in name for name in own)
    assert own['halocline_proposal_stale{proposal="whole"}'] == "0"
    assert hosts['halocline_host_daemons_waiting{minion="osdnode1"}'] == "1"
    assert [hosts[f'halocline_host_silent{{minion="{name}"}}'] for name in HOSTS] == ["0", "1", "0"]
    assert oct((tmp_path / "halocline.prom").stat().st_mode)[-3:] == "644"  # node_exporter is no root
    shown = master.runners()["metrics.show"]()["text"]
    assert set(own) | set(hosts) == {line.rsplit(" ", 1)[0] for line in shown.splitlines() if line[0] != "#"}


@pytest.mark.slow
def test_a_disk_that_went_makes_a_proposal_stale(master, asked, tmp_path):
    paths = site(master.opts())
    file = paths.inventory / "osdnode2.json"
    before = file.read_text()
    host = json.loads(before)
    stored = store.stored_proposal(paths.proposals, "stale")
    data = stored["hosts"]["osdnode2"]["osds"][0]["data"]
    host["ceph_disks"] = [disk for disk in host["ceph_disks"] if disk["id"] != data]
    file.write_text(json.dumps(host))
    try:
        master.runners()["metrics.write"](str(tmp_path))
    finally:
        file.write_text(before)
    own = numbers(tmp_path / "halocline.prom")
    assert own['halocline_proposal_stale{proposal="stale"}'] == "1"
    assert not any("by-hand" in name for name in own)


@pytest.mark.slow
def test_no_host_is_asked_while_a_stage_runs(master, asked, tmp_path, monkeypatch):
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {**JOB, "log": "/none"})
    done = master.runners()["metrics.write"](str(tmp_path))
    assert done["text"] == "written; stage deploy runs: no host was asked"
    assert [path.name for path in tmp_path.iterdir()] == ["halocline.prom"] and asked == []


def test_a_cluster_that_cannot_be_asked_leaves_out_what_it_alone_knows(master, asked, tmp_path, monkeypatch):
    def hangs(*_):
        raise ProposalError("no monitor answered")

    monkeypatch.setattr(jobs, "cluster", hangs)
    assert master.runners()["metrics.write"](str(tmp_path))["text"] == "written"
    assert asked == [["test.ping"]]
    names = numbers(tmp_path / "halocline_hosts.prom")
    assert 'halocline_host_silent{minion="osdnode2"}' in names and not any("waiting" in name for name in names)


@pytest.mark.slow
def test_a_master_that_takes_no_jobs_is_said_and_its_own_numbers_are_written(master, asked, tmp_path, monkeypatch):
    def refuses(*_):
        raise ProposalError("the Salt master takes no jobs")

    with monkeypatch.context() as dead:
        dead.setattr(jobs, "ask_apart", refuses)
        assert "takes no jobs" in master.runners()["metrics.write"](str(tmp_path))["error"]
        assert [path.name for path in tmp_path.iterdir()] == ["halocline.prom"]
    master.runners()["metrics.write"](str(tmp_path))
    before = (tmp_path / "halocline_hosts.prom").read_text()
    monkeypatch.setattr(jobs, "ask_apart", refuses)
    master.runners()["metrics.write"](str(tmp_path))
    assert (tmp_path / "halocline_hosts.prom").read_text() == before  # how old it is tells the alert


@pytest.mark.parametrize("folder", ["relative", "/no/such/folder", ""])
def test_another_folder_is_refused(master, folder):
    assert "the folder that node_exporter reads was expected" in master.runners()["metrics.write"](folder)["error"]
