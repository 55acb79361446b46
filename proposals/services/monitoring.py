"""``ceph.stage.monitoring``: Prometheus with Ceph's own alert rules, Alertmanager, node exporters, Grafana where asked.

The roles prometheus and alertmanager ask for it. ``monitoring`` of the site's settings, each key where the default is
not wanted::

    monitoring:
      scrape_interval: 30                                 # seconds
      retention: 90d
      custom_alerts: ['salt://site/our-rules.yml']        # files of the master's own file root
      alertmanager:                                       # Alertmanager's own words
        receivers:
          - name: admins
            email_configs:
              - {to: 'a@example.com', from: 'b@example.com', smarthost: 'mail:587', auth_username: b,
                 auth_password_file: smtp}                # a secret is the name of a file that the site gives
      grafana: true
"""

import re
from collections.abc import Iterable, Mapping

from proposals.services import alerting
from proposals.services.service import Cluster, Command, Plan, Service

KEYS = ("scrape_interval", "retention", "custom_alerts", "alertmanager", "grafana")
INTERVAL = 15  # seconds: what Ceph's module expects where nothing else is said (src/pybind/mgr/prometheus/module.py)
PORTS = {"ceph": 9283, "node": 9100, "prometheus": 9090, "alertmanager": 9093, "grafana": 3000}
RULES = "/etc/prometheus/site"
RULE_FILE = re.compile(r"salt://(?:[A-Za-z0-9][A-Za-z0-9._-]*/)*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*\.ya?ml)")
RETENTION = re.compile(r"[1-9][0-9]{0,4}[hdwy]")
OPTION = "mgr/prometheus/scrape_interval"
GRAFANA_PASSWORD = "grafana.admin"


def plan(cluster: Cluster, made: Plan) -> None:
    """Plan who watches, whom, by which rules, and who is told."""
    watchers, alerters = cluster.members("prometheus"), cluster.members("alertmanager")
    said = made.settings("monitoring", cluster.settings.get("monitoring"), KEYS)
    if not watchers:
        if alerters or said:
            made.problems.append("monitoring: no minion has the role prometheus: add a line to policy.cfg")
        return
    interval, arguments = _seconds(said.get("scrape_interval"), made), _retention(said.get("retention"), made)
    rules = _rules(said.get("custom_alerts"), made)
    config = _prometheus(cluster, interval, rules)
    for minion in sorted(cluster.roles):
        made.run("node-exporter", minion)
        _listens(made, minion, "node", "prometheus-node or node_exporter")
    for minion in watchers:
        made.run("prometheus", minion, config=config, rules=rules, arguments=arguments)
        _listens(made, minion, "prometheus", "prometheus")
    for minion in cluster.members("mgr"):
        _listens(made, minion, "ceph", "ceph-mgr")
    alerting.plan(cluster, made, said.get("alertmanager"))
    for minion in alerters:
        _listens(made, minion, "alertmanager", alerting.PROCESS)
    if said.get("grafana") not in (None, False, True):
        made.wrong("monitoring: grafana", said["grafana"], "true or false")
    elif said.get("grafana"):
        _grafana(cluster, made, watchers)
    made.cluster = {"scrape_interval": interval}


def commands(told: Mapping, found: Mapping) -> Iterable[Command]:
    """What is still to do: Ceph's own exporter, which is a module of the managers, and how fresh its numbers are, which
    it reads at its start.
    """
    enabled = "prometheus" in found["modules"]
    if other := float(found["scrape_interval"] or INTERVAL) != told["scrape_interval"]:
        yield ["config", "set", "mgr", OPTION, str(told["scrape_interval"])]
        if enabled:
            yield ["mgr", "module", "disable", "prometheus"]
    if other or not enabled:
        yield ["mgr", "module", "enable", "prometheus"]


def urls(cluster: Cluster) -> dict[str, str]:
    """Where each of the programs that people look at answers, of those that are planned: ``{prometheus: http://…}``."""
    said = cluster.settings.get("monitoring")
    watchers, alerters = cluster.members("prometheus"), cluster.members("alertmanager")
    found = {"prometheus": watchers, "alertmanager": alerters if watchers else []}
    if isinstance(said, Mapping) and said.get("grafana") is True:
        found["grafana"] = watchers
    schemes = {"grafana": "https"}  # it is shown inside of the dashboard, where a browser wants TLS
    return {
        what: f"{schemes.get(what, 'http')}://{cluster.target(minions[0], PORTS[what])}"
        for what, minions in found.items()
        if minions
    }


def _prometheus(cluster: Cluster, interval: int, rules: list[list[str]]) -> dict:
    """prometheus.yml: everybody by address, so that no name service stands between, and by Ceph's name of the host,
    which Ceph's dashboards look for (docs.ceph.com, mgr/prometheus: node exporter and instance labels).
    """

    def job(name: str, minions: Iterable[str], **more: object) -> dict:
        targets = [
            {"targets": [cluster.target(minion, PORTS[name])], "labels": {"instance": cluster.hostname(minion)}}
            for minion in minions
        ]
        return {"job_name": name, "static_configs": targets, **more}

    jobs = [
        job("ceph", cluster.members("mgr"), honor_labels=True),
        job("node", sorted(cluster.roles)),
        job("prometheus", cluster.members("prometheus")),
        job("alertmanager", cluster.members("alertmanager")),
    ]
    alerters = [cluster.target(minion, PORTS["alertmanager"]) for minion in cluster.members("alertmanager")]
    return {
        "global": {
            "scrape_interval": f"{interval}s",
            "evaluation_interval": f"{interval}s",
            "external_labels": {"cluster": str(cluster.settings.get("fsid"))},
        },
        "rule_files": ["/etc/prometheus/ceph/*.yml", *(path for path, _ in rules)],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": alerters}]}]},
        "scrape_configs": jobs,
    }


def _grafana(cluster: Cluster, made: Plan, watchers: list[str]) -> None:
    """Grafana beside each Prometheus, with Ceph's dashboards; from a package source that the site has."""
    given = made.certificate("grafana", cluster)
    made.passwords.add(GRAFANA_PASSWORD)
    for minion in watchers:
        certificate = {"certificate": "given" if given else "made", "names": cluster.names([minion])}
        made.run("grafana", minion, port=PORTS["grafana"], **certificate)
        made.tell(minion, grafana=GRAFANA_PASSWORD, **{name: name for name in given})
        _listens(made, minion, "grafana", "grafana or grafana-server")


def _listens(made: Plan, minion: str, what: str, process: str) -> None:
    made.ports.setdefault(minion, {})[PORTS[what]] = process


def _seconds(said: object, made: Plan) -> int:
    if said is not None and (type(said) is not int or not 5 <= said <= 300):
        made.wrong("monitoring: scrape_interval", said, "whole seconds, 5 to 300")
        return INTERVAL
    return INTERVAL if said is None else said


def _retention(said: object, made: Plan) -> list[str]:
    if said is None:
        return []
    if not RETENTION.fullmatch(str(said)):
        made.wrong("monitoring: retention", said, "a time such as 36h, 90d, 8w or 1y")
    return [f"--storage.tsdb.retention.time={said}"]


def _rules(said: object, made: Plan) -> list[list[str]]:
    """The site's own rule files: where each lies on a host, and its source."""
    found = [(one, RULE_FILE.fullmatch(str(one))) for one in (said if isinstance(said, list) else [said])]
    for one, part in found if said is not None else ():
        if not part:
            made.wrong("monitoring: custom_alerts", one, "a list of rule files such as salt://site/our-rules.yml")
    return [[f"{RULES}/{part['name']}", str(one)] for one, part in found if part]


SERVICE = Service(
    name="monitoring",
    settings=("monitoring",),
    plan=plan,
    commands=commands,
    parts=("node-exporter", "prometheus", "alertmanager", "grafana"),
    units={  # as Debian, SUSE and RHEL-like packages name them
        "node-exporter": tuple(
            f"{name}.service" for name in ("prometheus-node-exporter", "prometheus-node_exporter", "node_exporter")
        ),
        "prometheus": ("prometheus.service",),
        "alertmanager": ("prometheus-alertmanager.service", "alertmanager.service"),
        "grafana": ("grafana-server.service",),
    },
)
