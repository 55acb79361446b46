"""Clients of a smoke test, each against a service that is played: what is right passes, what is wrong is named."""

import datetime
import json
import stat
from types import SimpleNamespace

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

NAME = "halocline-smoke"
KEY = "AQBKeYxnAAAAABAAq0aBcDeFgHiJkLmNoPqRsw=="
# Pools, namespaces and images are files; a key reaches its namespaces alone.
RBD = r"""
echo "rbd $*" >>{0}/asked
[ ! -e {0}/broken ] || {{ echo "rbd: error opening pool" >&2; exit 2; }}
case "$*" in
    "namespace ls --pool "*) echo "[$([ -d {0}/pool/$4 ] && echo '{{"name": "halocline-smoke"}}')]" ;;
    "namespace create --pool "*) mkdir {0}/pool/$4 ;;
    "namespace remove --pool "*) rmdir {0}/pool/$4 ;;
    "ls --format json "*) echo "[$([ -e {0}/pool/${{4%/*}}/image ] && echo '"image"')]" ;;
    "rm "*) rm {0}/pool/$(echo $2 | cut -d/ -f1)/image ;;
    *"import - "*) [ -s $4 ] && cat >{0}/pool/$(echo $7 | cut -d/ -f1)/image ;;
    *"export "*) cat {0}/pool/$(echo $6 | cut -d/ -f1)/image ;;
    *"rm "*) rm {0}/pool/$(echo $6 | cut -d/ -f1)/image ;;
    *) echo "what is $*" >&2; exit 22 ;;
esac
"""
CEPH = r"""
echo "ceph $*" >>{0}/asked
shift 2
case "$*" in
    "auth get-or-create client.halocline-smoke "*) printf '[client.halocline-smoke]\n\tkey = {1}\n' ;;
    "auth rm client.halocline-smoke") ;;
    "osd pool ls detail"*) cat {0}/pools ;;
    "config-key ls"*) [ -e {0}/record ] && echo '["halocline/smoke"]' || echo '[]' ;;
    "config-key get"*) cat {0}/record ;;
    "config-key set"*) printf '%s' "$4" >{0}/record ;;
    "config-key rm"*) rm -f {0}/record ;;
    "osd dump"*) echo '{{"flags": "sortbitwise,pausewr,purged_snapdirs"}}' ;;
    "health"*) echo '{{"checks": {{"POOL_FULL": {{"summary": {{"message": "1 pool(s) full"}}}}, "X": {{}}}}}}' ;;
    *) echo "what is $*" >&2; exit 22 ;;
esac
"""


@pytest.fixture
def host(tmp_path, monkeypatch, python_module):
    """A host with the admin's key, of a cluster with two pools of images, and one that is erasure-coded."""
    for name, text in (("rbd", RBD), ("ceph", CEPH)):
        (tmp_path / name).write_text("#!/bin/sh\n" + text.format(tmp_path, KEY))
        (tmp_path / name).chmod(0o755)
    (tmp_path / "pool").mkdir()
    kinds = {"a": (1, "rbd"), "b": (1, "rbd"), "ec": (3, "rbd"), "files": (1, "cephfs")}
    pools = [
        {"pool_name": name, "type": kind, "application_metadata": {use: {}}} for name, (kind, use) in kinds.items()
    ]
    (tmp_path / "pools").write_text(json.dumps(pools))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(python_module("smoke"), "KEYRING", tmp_path / "run/keyring")
    monkeypatch.setattr(python_module("smoke_rbd"), "WATCHED", 0)
    return tmp_path


def test_images_are_written_and_read_in_each_pool_of_images_by_a_key_of_the_tests_own(modules, host):
    modules["smoke.begin"](["rbd"])
    assert modules["smoke_rbd.attempt"]() == {"passed": ["pool a", "pool b"], "failed": [], "skipped": []}
    asked = (host / "asked").read_text()
    assert f"osd profile rbd pool=a namespace={NAME}, profile rbd pool=b namespace={NAME}\n" in asked
    assert "pool ec" not in asked and "pool=ec" not in asked and "files" not in asked
    assert KEY not in asked
    assert stat.S_IMODE((host / "run/keyring").stat().st_mode) == 0o600 and KEY in (host / "run/keyring").read_text()
    assert modules["smoke_rbd.clean"]() == [f"RBD namespace a/{NAME}", f"RBD namespace b/{NAME}"]
    assert modules["smoke.end"]() and not (host / "run/keyring").exists() and not (host / "record").exists()
    assert modules["smoke_rbd.clean"]() == []


def test_what_a_killed_test_left_of_images_goes(modules, host):
    (host / "pool/a").mkdir()
    (host / "pool/a/image").write_text("left")
    assert modules["smoke_rbd.clean"]() == [f"RBD namespace a/{NAME}"]
    assert list((host / "pool").iterdir()) == []


def test_a_pool_that_fails_is_named_and_no_key_is(modules, host):
    (host / "pool/b").touch()  # no namespace can be made there
    told = modules["smoke_rbd.attempt"]()
    assert told["passed"] == ["pool a"] and told["failed"][0].startswith("pool b: 'rbd namespace create")
    (host / "broken").touch()
    with pytest.raises(CommandExecutionError, match="error opening pool") as err:
        modules["smoke_rbd.attempt"]()
    assert KEY not in str(err.value)


def test_a_pool_whose_operations_wait_is_named_after_a_limit(modules, host, python_module, monkeypatch):
    monkeypatch.setattr(python_module("smoke_rbd"), "LIMIT", 0.5)
    (host / "rbd").write_text("#!/bin/sh\ncase $* in *create*) exec sleep 60 ;; esac\necho '[]'\n")
    told = modules["smoke_rbd.attempt"]()
    assert told["passed"] == [] and len(told["failed"]) == 2
    assert "did not end within 0.5 s: its operations wait" in told["failed"][0]


def test_the_record_holds_what_both_runs_tried(modules, host):
    assert modules["smoke.left"]() == []
    modules["smoke.begin"](["s3"])
    modules["smoke.begin"](["rbd"])
    assert modules["smoke.left"]() == ["rbd", "s3"]


def test_a_paused_and_a_full_cluster_are_named(modules, host):
    assert modules["smoke.standing"]() == [
        "the flag pausewr is set: writes wait ('ceph osd dump')",
        "POOL_FULL: 1 pool(s) full",
    ]


@pytest.mark.parametrize(
    ("method", "path", "body"), [("PUT", "/halocline-smoke", ""), ("PUT", "/halocline-smoke/object", "text")]
)
def test_requests_of_s3_are_signed_as_amazons_own_library_does(python_module, method, path, body):
    own = python_module("smoke_s3")
    now = "20261123T120000Z"
    headers = own._signed(method, "10.0.0.1:443", path, body, "access", "secret", now)
    theirs = AWSRequest(method=method, url=f"https://10.0.0.1:443{path}", data=body)
    for name in ("host", "x-amz-date", "x-amz-content-sha256"):
        theirs.headers[name] = headers[name]
    theirs.context = {"timestamp": now, "payload_signing_enabled": True}
    auth = S3SigV4Auth(Credentials("access", "secret"), "s3", "default")
    signature = auth.signature(auth.string_to_sign(theirs, auth.canonical_request(theirs)), theirs)
    assert headers["authorization"].endswith(f"Signature={signature}")


class Gateway:
    """An object gateway: buckets and objects by path; ``sick`` are paths that it loses."""

    def __init__(self, sick=()):
        self.kept, self.sick, self.asked = {}, sick, []

    def fetch(self, url, method="GET", body="", headers=None, trusted=None, ok=(200,)):
        path = url.partition("//")[2].partition("/")[2]
        self.asked.append((method, path))
        if any(word in url for word in self.sick):
            raise CommandExecutionError(f"{url}: status 503")
        if method == "PUT":
            self.kept[path] = body
        elif method == "DELETE":
            del self.kept[path]
        elif method == "POST":
            token = {"token": {"project": {"id": "p1"}}}
            return {"body": json.dumps(token), "headers": {"x-subject-token": "t"}, "status": 201}
        return {"body": self.kept.get(path, ""), "headers": {}, "status": 200}


def admin(words, **_):
    """radosgw-admin, which has no user yet."""
    return json.dumps({"keys": [{"access_key": "a", "secret_key": "s"}]}) if "create" in words else ""


def test_each_address_of_the_gateways_is_tried_and_the_broken_one_named(python_module):
    module, gateway = python_module("smoke_s3"), Gateway(sick=["node2"])
    own = SimpleNamespace(run=admin)
    with LoaderModuleMock({module: {"halocline": own, "__salt__": {"smoke_web.fetch": gateway.fetch}}}):
        told = module.attempt({"front": "http://node1:80", "rgw.node2": "http://node2:80"}, None)
    assert told["passed"] == ["front"] and "rgw.node2: http://node2:80/halocline-smoke: status 503" in told["failed"]
    assert gateway.kept == {}


@pytest.mark.parametrize(("in_url", "path"), [(True, "swift/v1/AUTH_p1/"), (False, "swift/v1/")])
def test_swift_is_tried_by_a_token_and_its_container_goes(python_module, in_url, path):
    module, gateway = python_module("smoke_swift"), Gateway()
    identity = {"url": "https://k:5000", "user": "rgw", "project": "service", "domain": "Default"}
    words = ({**identity, "account_in_url": in_url}, "use", "https://front:443")
    dunders = {"__salt__": {"smoke_web.fetch": gateway.fetch}, "__pillar__": {"ceph_secrets": {"use": "secret-word"}}}
    with LoaderModuleMock({module: dunders}):
        told = module.attempt(*words)
        assert told["failed"] == [] and "secret-word" not in str(told)
        assert ("PUT", f"{path}{NAME}") in gateway.asked and gateway.kept == {}
        gateway.sick = ["k:5000"]
        assert "k:5000" in module.attempt(*words)["failed"][0]


class Prometheus:
    """Numbers by query; time is 100."""

    def __init__(self, up, scraped, health=101, alertmanagers=("a:9093",)):
        self.up, self.scraped, self.health, self.alertmanagers = up, scraped, health, alertmanagers

    def fetch_json(self, url):
        if url.endswith("/alertmanagers"):
            return {"data": {"activeAlertmanagers": [{"url": f"http://{each}/api/v2"} for each in self.alertmanagers]}}
        values = {"vector": [({}, 100)], "timestamp%28ceph": [({"job": "ceph"}, self.health)]}
        values["timestamp%28up"] = [({"job": job, "instance": name}, at) for (job, name), at in self.scraped.items()]
        values["up"] = [({"job": job, "instance": name}, at) for (job, name), at in self.up.items()]
        found = next(found for word, found in values.items() if f"query={word}" in url)
        return {"data": {"result": [{"metric": metric, "value": [100, str(value)]} for metric, value in found]}}


NODE, CEPH_JOB = ("node", "node1"), ("ceph", "node1")


@pytest.mark.parametrize(
    ("prometheus", "wrong"),
    [
        (Prometheus({NODE: 1, CEPH_JOB: 1}, {NODE: 101, CEPH_JOB: 101}), None),
        (
            Prometheus({NODE: 1, CEPH_JOB: 1}, {NODE: 99, CEPH_JOB: 101}),
            "not scraped since the test began: node of node1",
        ),
        (Prometheus({CEPH_JOB: 1}, {CEPH_JOB: 101}), "not scraped since the test began: node of node1"),
        (Prometheus({NODE: 0, CEPH_JOB: 1}, {NODE: 101, CEPH_JOB: 101}), "no answer to Prometheus: node of node1"),
        (Prometheus({NODE: 1, CEPH_JOB: 1}, {NODE: 101, CEPH_JOB: 101}, health=50), "tell no ceph_health_status"),
        (Prometheus({NODE: 1, CEPH_JOB: 1}, {NODE: 101, CEPH_JOB: 101}, alertmanagers=()), "not send alerts to a:9093"),
    ],
)
def test_an_exporter_that_stopped_is_named_though_its_last_sample_is_still_served(python_module, prometheus, wrong):
    module = python_module("smoke_metrics")
    dunders = {"__salt__": {"smoke_web.fetch_json": prometheus.fetch_json}, "SLACK": 0}
    with LoaderModuleMock({module: dunders}):
        told = module.attempt("http://p:9090", 0, [list(NODE), list(CEPH_JOB)], ["a:9093"])
    assert bool(told["passed"]) == (wrong is None)
    assert [line for line in told["failed"] if wrong not in line] == [] if wrong else told["failed"] == []


class Alertmanager:
    """Silences and alerts; ``deaf`` shows no alert. An alert that no silence covers is a message to somebody."""

    def __init__(self, deaf=False):
        self.silences, self.alerts, self.deaf, self.told = {}, [], deaf, []

    def fetch(self, url, method="GET", body="", headers=None):
        path, data = url.partition("/api/v2/")[2], json.loads(body) if body else None
        if path == "silences":
            self.silences["s1"] = {"id": "s1", "createdBy": data["createdBy"], "status": {"state": "active"}}
        elif path == "alerts":
            self.told += [] if self.silences else data
            self.alerts = [one["labels"]["alertname"] for one in data if self.lasts(one)]
        else:
            assert method == "DELETE"
            del self.silences[path.partition("/")[2]]
        return {"body": "", "status": 200, "headers": {}}

    def lasts(self, one):
        start, end = (datetime.datetime.fromisoformat(one[key]) for key in ("startsAt", "endsAt"))
        return end - start > datetime.timedelta(minutes=5)

    def fetch_json(self, url):
        if url.endswith("silences"):
            foreign = {"id": "x", "createdBy": "somebody", "status": {"state": "active"}}
            return [*self.silences.values(), foreign]
        return [] if self.deaf else self.alerts


def test_an_alert_comes_and_goes_silenced_and_others_silences_stay(python_module, monkeypatch):
    module = python_module("smoke_alert")
    for deaf in (False, True):
        played = Alertmanager(deaf)
        asked = {"smoke_web.fetch": played.fetch, "smoke_web.fetch_json": played.fetch_json}
        with LoaderModuleMock({module: {"__salt__": asked, "LIMIT": 0}}):
            told = module.attempt(["http://a:9093"])
        if deaf:
            assert told == {"passed": [], "failed": ["http://a:9093: an alert that was sent is not shown"]}
        else:
            assert told == {"passed": ["http://a:9093: an alert came and went"], "failed": []}
        assert played.silences == {} and played.told == []


@pytest.mark.parametrize("served", [True, False])
def test_the_dashboards_user_may_only_read_and_goes_whatever_comes(python_module, served):
    module, users, asked = python_module("smoke_dashboard"), [], []

    def tell(words, stdin=None):
        users[:] = [stdin] if "ac-user-create" in words else []
        asked.append(words)

    def fetch_json(url, **request):
        if not served:
            raise CommandExecutionError(f"{url}: refused")
        assert request["trusted"] == "PEM" and (users[0] in request.get("body", "") or "health" in url)
        return {"token": "t"}

    salt = {"cluster_cli.tell": tell, "smoke_web.fetch_json": fetch_json}
    salt["cluster_cli.ask"] = lambda words: {"dashboard": "https://node1:8443/"}
    salt["cluster_cli.kept"] = lambda key: ('{"halocline-smoke": 1}' if users else "{}") if "db" in key else "PEM"
    with LoaderModuleMock({module: {"__salt__": salt}}):
        if served:
            assert module.attempt() == {"passed": ["logged in at https://node1:8443/"], "failed": []}
        else:
            with pytest.raises(CommandExecutionError, match="refused"):
                module.attempt()
    assert users == [] and "read-only" in asked[0] and asked[-1][1] == "ac-user-delete"
