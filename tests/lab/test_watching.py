"""What the product tells of machines and of itself, on the first cluster.

No host of a lab has a RAID controller or a switch that speaks LLDP: their tools are programs of this test, which print
what the vendors' documents show.
"""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from product import Product, until
from saltcli import salt_run

pytestmark = pytest.mark.big
TOOLS = Path(__file__).parents[1] / "fixtures" / "hardware" / "tools.yaml"
TOOL = "/usr/local/bin/storcli64"
LLDP = "/usr/local/bin/lldpcli"


@pytest.fixture
def machines(cluster: Product) -> Iterator[Product]:
    """The first cluster: node1 has a RAID controller with a volume that lacks a disk, and cables to a switch."""
    case = {case["name"]: case["calls"] for case in yaml.safe_load(TOOLS.read_text())}
    raid = next(iter(case["storcli, with a boot pair that lacks a disk and a capacitor"].values()))
    lldp = next(iter(case["lldpcli, with a switch that says all and one that has no name"].values()))
    for path, printed in ((TOOL, raid), (LLDP, lldp)):
        program = f"#!/bin/sh\ncat <<'END'\n{printed.strip()}\nEND\n"
        cluster.run("node1", f"printf %s {shlex.quote(program)} >{path}; chmod 755 {path}")
    yield cluster
    cluster.run("node1", f"rm -f {TOOL} {LLDP}")


def test_a_raid_volume_that_lacks_a_disk_is_named_and_holds_no_stage_back(machines: Product) -> None:
    found = salt_run(machines.session, "validate.all", check=False).data["findings"]
    (raid,) = [one for one in found if one["check"] == "raid_volume"]
    assert (raid["hosts"], raid["severity"]) == (["node1"], "warning") and "volume 0/0 is Dgrd" in raid["message"]
    assert [one for one in found if one["severity"] == "error"] == []
    assert salt_run(machines.session, "validate.deploy", check=False).returncode == 0


def test_cables_are_a_port_map_and_comments(machines: Product) -> None:
    printed = machines.run("saltmaster", "salt-run networks.cables", check=False)
    assert printed.code == 1  # the other hosts' switches tell nothing
    assert yaml.safe_load(printed.out) == {"node1": {"p1": "leaf1 1/7"}}
    assert "# node2: no switch told it anything (LLDP)" in printed.out


WATCHER = "client1"  # of the served cluster: Prometheus and Alertmanager
FOLDER = "/var/lib/prometheus/node-exporter"
HOOKED = "/srv/stage-hooked"
# A webhook on the master's host, which keeps what it is told.
HOOK = """
import http.server, sys
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        with open(sys.argv[1], "a") as file:
            file.write(self.rfile.read(int(self.headers["Content-Length"])).decode() + chr(10))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", 9998), Hook).serve_forever()
"""
GIVEN = "/srv/pillar/ceph/keys/given/stage-webhook"
SECRET = "T0S3CRET9"


def written(product: Product) -> str:
    """All numbers that the timer's program writes, begun by hand so that nobody waits for five minutes."""
    product.run("saltmaster", "systemctl start halocline-metrics.service")
    return product.run("saltmaster", f"cat {FOLDER}/halocline.prom {FOLDER}/halocline_hosts.prom").out


def asked(product: Product, path: str) -> list[dict]:
    """What Prometheus answers to a query, or which rules it has."""
    told = json.loads(product.run(WATCHER, f"curl -gsf 'http://127.0.0.1:9090/api/v1/{path}'").out)
    found: list[dict] = told["data"].get("result", told["data"].get("groups"))
    return found


def test_prometheus_is_told_of_the_product_and_has_its_rules(served: Product) -> None:
    numbers = written(served)
    assert 'halocline_stage_success{stage="deploy"} ' in numbers
    assert 'halocline_host_silent{minion="node1"} 0' in numbers
    assert served.run("saltmaster", "systemctl is-active halocline-metrics.timer").out.strip() == "active"
    until(
        lambda: bool(asked(served, "query?query=halocline_written_timestamp_seconds")), 60, "node_exporter tells of it"
    )
    rules = {rule["name"] for group in asked(served, "rules") for rule in group["rules"]}
    assert {"HaloclineStageFailed", "HaloclineHostSilent"} <= rules


def test_a_host_that_is_silent_is_told(served: Product) -> None:
    served.run("node3", "systemctl stop salt-minion")
    try:
        until(lambda: 'halocline_host_silent{minion="node3"} 1' in written(served), 300, "node3 is silent")
        silent = "query?query=ALERTS{alertname=%22HaloclineHostSilent%22}"
        until(lambda: bool(asked(served, silent)), 120, "the alert is pending")
    finally:
        served.run("node3", "systemctl start salt-minion")
    until(lambda: 'halocline_host_silent{minion="node3"} 0' in written(served), 300, "node3 answers again")


@pytest.fixture
def hooked(cluster: Product) -> Iterator[Product]:
    """The cluster's master with a webhook."""
    unit = ["systemd-run", "--unit", "stage-hook", "python3", "-c", HOOK, HOOKED]
    cluster.run("saltmaster", f"rm -f {HOOKED}; : >{HOOKED}")
    cluster.run("saltmaster", unit)
    cluster.write(GIVEN, f"http://127.0.0.1:9998/{SECRET}\n")
    yield cluster
    cluster.run("saltmaster", f"rm -f {GIVEN} {HOOKED}; systemctl stop stage-hook", check=False)


def test_a_webhook_is_told_of_a_stage_and_who_ran_it_is_kept(hooked: Product) -> None:
    until(lambda: hooked.run("saltmaster", "salt-run webhook.test", check=False).code == 0, 60, "the webhook listens")
    assert hooked.stage("ceph.stage.discovery").code == 0

    def told() -> list[dict]:
        return [json.loads(line) for line in hooked.run("saltmaster", f"cat {HOOKED}").out.splitlines()]

    until(lambda: len(told()) >= 3, 60, "the webhook is told of the end")
    assert [(one["event"], one.get("stage")) for one in told()[-2:]] == [("begin", "discovery"), ("end", "discovery")]
    newest = salt_run(hooked.session, "history.show").data["entries"][-1]
    assert (newest["what"], newest["result"]) == ("state.orch ceph.stage.discovery", "done")
    places = "/var/log/halocline /var/log/salt /var/cache/salt/master"
    assert hooked.run("saltmaster", f"grep -rl {SECRET} {places}", check=False).code == 1
    hooked.run("saltmaster", "systemctl stop stage-hook")
    assert hooked.stage("ceph.stage.discovery").code == 0  # nobody listens: no stage fails by it
