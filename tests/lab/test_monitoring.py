"""Monitoring: everybody is watched, Ceph's own alert comes and goes, whoever is to be told is told."""

import json
from typing import Any

import pytest
from product import PILLAR, STORAGE, Product, until

WATCHER = "client1"
# A receiver on the host of Alertmanager: keeps each message in a file, where the password is the one that was given.
HOOK = r"""
import base64, http.server, sys
port, kept, password = sys.argv[1:]
wanted = "Basic " + base64.b64encode(("ceph:" + open(password).read().strip()).encode()).decode()
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        right = self.headers["Authorization"] == wanted
        if right:
            with open(kept, "a") as file:
                file.write(text.strip() + "\n")
        self.send_response(200 if right else 401)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(port)), Hook).serve_forever()
"""


def api(product: Product, port: int, path: str) -> Any:
    """What Prometheus or Alertmanager answers."""
    return json.loads(product.run(WATCHER, f"curl -sf 'http://127.0.0.1:{port}/api/{path}'").out)


def up(product: Product) -> dict[str, set[str]]:
    """The hosts that Prometheus reaches, by job."""
    found: dict[str, set[str]] = {}
    for one in api(product, 9090, "v1/targets")["data"]["activeTargets"]:
        if one["health"] == "up":
            found.setdefault(one["labels"]["job"], set()).add(one["labels"]["instance"])
    return found


def alerts(product: Product) -> dict[str, dict[str, str]]:
    """The alerts that Alertmanager holds, by name: their labels."""
    return {one["labels"]["alertname"]: one["labels"] for one in api(product, 9093, "v2/alerts")}


def test_managers_and_all_hosts_are_watched(served: Product) -> None:
    hosts = set(served.session.hosts)
    # a guest of a kernel test may be a minion of this master too, and is watched as well
    until(lambda: up(served).get("node", set()) >= hosts, 60, f"node exporters of {hosts}")
    until(lambda: up(served).get("ceph") == set(STORAGE), 60, "the managers' exporter")
    assert up(served)["alertmanager"] == {WATCHER}
    (health,) = api(served, 9090, "v1/query?query=ceph_osd_up==1")["data"]["result"][:1]
    assert health["metric"]["ceph_daemon"].startswith("osd.")


def test_ceph_s_own_rules_are_loaded_and_the_sites_beside_them(served: Product) -> None:
    groups = api(served, 9090, "v1/rules")["data"]["groups"]
    names = {rule["name"] for group in groups for rule in group["rules"]}
    assert {"CephHealthError", "CephOSDDown", "CephOSDDownHigh", "LabCopyOfCephOSDDown"} <= names


@pytest.mark.big
def test_an_osd_that_stops_raises_ceph_s_alert_and_one_that_starts_again_resolves_it(served: Product) -> None:
    """CephOSDDownHigh as Ceph's package has it: a sixth of the OSDs is more than its tenth. CephOSDDown waits five
    minutes: of it the lab's own rules hold a copy that waits a moment, and says so by its name.
    """
    until(lambda: up(served).get("ceph") == set(STORAGE), 60, "the managers' exporter")
    hook = ["systemd-run", "--unit", "hook", "python3", "-c", HOOK, "9999", "/srv/hooked", "/srv/hook.password"]
    served.run(WATCHER, f"echo {receivers_password(served)} >/srv/hook.password; : >/srv/hooked")
    served.run(WATCHER, hook)
    host = served.ceph("osd find 0")["crush_location"]["host"]
    wanted = {"CephOSDDownHigh", "LabCopyOfCephOSDDown"}
    try:
        served.run(host, "systemctl stop ceph-osd@0")
        until(lambda: wanted <= set(alerts(served)), 120, "Ceph's alert of an OSD that is down")
        assert alerts(served)["CephOSDDownHigh"]["cluster"] == served.ceph("status")["fsid"]
        until(lambda: hooked(served, "firing") >= wanted, 60, "whoever is to be told is told")
    finally:
        served.run(host, "systemctl start ceph-osd@0")
    until(lambda: not wanted & set(alerts(served)), 120, "the alert goes when the OSD is back")
    until(lambda: hooked(served, "resolved") >= wanted, 60, "whoever was told is told that it is over")


def receivers_password(product: Product) -> str:
    return product.run("saltmaster", f"cat {PILLAR}/keys/given/hook").out.strip()


def hooked(product: Product, status: str) -> set[str]:
    """The alerts of which the receiver was told this."""
    messages = [json.loads(line) for line in product.run(WATCHER, "cat /srv/hooked").out.splitlines()]
    return {one["labels"]["alertname"] for message in messages for one in message["alerts"] if one["status"] == status}


def test_the_receivers_password_is_alertmanagers_alone(served: Product) -> None:
    assert served.run(WATCHER, "stat -c '%a %U' /etc/prometheus/secrets/hook").out.strip() == "400 prometheus"
    password = receivers_password(served)
    assert len(password) == 16 and password not in served.run(WATCHER, "cat /etc/prometheus/alertmanager.yml").out


@pytest.mark.big
def test_what_fails_on_a_host_is_named_and_what_was_stopped_comes_back(served: Product) -> None:
    """A rule file that is not there: Prometheus goes on with what it has. Grafana, of which Debian has no package. All
    others come up.
    """
    own = f"{PILLAR}/stack/ceph/cluster.yml"
    edit = "s#site/lab-rules.yml#site/gone.yml#; s#^monitoring:#&\\n  grafana: true#"
    served.run("saltmaster", f"cp {own} /srv/kept-own; sed -i '{edit}' {own}")
    served.run("node1", "systemctl stop prometheus-node-exporter")
    served.run(WATCHER, "systemctl stop prometheus-alertmanager")
    try:
        served.stage("ceph.stage.configure")
        done = served.stage("ceph.stage.monitoring", check=False)
        assert done.code == 1
        assert "monitoring: prometheus: FAILED: client1: ceph-service-prometheus-rules-2" in done.out
        assert "monitoring: grafana: FAILED: client1: ceph-service-grafana-packages" in done.out
        assert served.run("node1", "systemctl is-active prometheus-node-exporter").out.strip() == "active"
        assert (
            served.run(WATCHER, "systemctl is-active prometheus prometheus-alertmanager").out.split() == ["active"] * 2
        )
    finally:
        served.run("saltmaster", f"cp /srv/kept-own {own}")
        served.stage("ceph.stage.configure")
    assert served.stage("ceph.stage.monitoring").code == 0
