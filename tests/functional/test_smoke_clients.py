"""Clients of a smoke test, each against a service that is played: what is right passes, what is wrong is named."""

import datetime
import json
from types import SimpleNamespace

import halocline
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

NAME = "halocline-smoke"


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
    """An object gateway: buckets and objects by path. It loses ``sick`` paths and refuses some requests at first."""

    def __init__(self, sick=(), refused=0):
        self.kept, self.sick, self.refused, self.asked = {}, sick, refused, []

    def fetch(self, url, method="GET", body="", headers=None, trusted=None, ok=(200,)):
        path = url.partition("//")[2].partition("/")[2]
        self.asked.append((method, path))
        if any(word in url for word in self.sick):
            raise CommandExecutionError(f"{url}: status 503")
        if method == "PUT" and self.refused:
            self.refused -= 1
            raise CommandExecutionError(f"{url}: status 401: AccessDenied")
        if method == "PUT":
            self.kept[path] = body
        elif method == "DELETE":
            del self.kept[path]
        elif method == "POST":
            token = {"token": {"project": {"id": "p1"}}}
            return {"body": json.dumps(token), "headers": {"x-subject-token": "t"}, "status": 201}
        return {"body": self.kept.get(path, ""), "headers": {}, "status": 200}


def admin(words, ok=(0,), **_):
    """radosgw-admin, which has no user yet: of that its commands think differently."""
    status = {("user", "info"): 22, ("user", "rm"): 2, ("metadata", "get"): 2}.get(tuple(words[1:3]), 0)
    if status and status not in ok:
        raise CommandExecutionError(f"exit status {status}")
    return json.dumps({"keys": [{"access_key": "a", "secret_key": "s"}]}) if "create" in words else ""


def test_each_address_of_the_gateways_is_tried_and_the_broken_one_named(python_module):
    module, gateway = python_module("smoke_s3"), Gateway(sick=["node2"])
    own = SimpleNamespace(run=admin, tried=halocline.tried)
    with LoaderModuleMock({module: {"halocline": own, "__salt__": {"smoke_web.fetch": gateway.fetch}}}):
        told = module.attempt({"front": "http://node1:80", "rgw.node2": "http://node2:80"}, None)
    assert told["passed"] == ["front"] and "rgw.node2: http://node2:80/halocline-smoke-2: status 503" in told["failed"]
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


@pytest.mark.parametrize(("refused", "passes"), [(1, True), (2, False)])
def test_a_gateway_whose_connection_to_keystone_was_closed_is_asked_once_more(python_module, refused, passes):
    module, gateway = python_module("smoke_swift"), Gateway(refused=refused)
    identity = {"url": "https://k:5000", "user": "rgw", "project": "service", "domain": "Default"}
    dunders = {"__salt__": {"smoke_web.fetch": gateway.fetch}, "__pillar__": {"ceph_secrets": {"use": "word"}}}
    with LoaderModuleMock({module: dunders}):
        told = module.attempt({**identity, "account_in_url": True}, "use", "https://front:443")
    if passes:
        assert told["failed"] == [] and "refused at first" in told["passed"][0] and gateway.kept == {}
    else:
        assert "status 401" in told["failed"][0]


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


def test_containers_and_users_that_a_killed_test_left_go_and_others_stay(python_module):
    for name, listed, removed in (
        ("smoke_swift", '["p1/halocline-smoke", "p1/mine", "halocline-smoke-2"]', ["--tenant=p1"]),
        ("smoke_s3", '{"user_id": "halocline-smoke"}', ["--purge-data"]),
    ):
        asked = []

        def run(words, asked=asked, listed=listed, **_):
            asked.append(words)
            return listed if words[2] in ("list", "get") else ""

        with LoaderModuleMock({python_module(name): {"halocline": SimpleNamespace(run=run)}}):
            assert len(python_module(name).clean()) == 1
        assert len(asked) == 2 and set(removed) < set(asked[1])
