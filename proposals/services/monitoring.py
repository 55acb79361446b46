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

from collections.abc import Iterable, Mapping

from proposals.services import alerting, given
from proposals.services.service import Command, PlannedCluster, Service
from proposals.services.service_plan import ServicePlan, join

PORTS = {"ceph": 9283, "node": 9100, "prometheus": 9090, "alertmanager": 9093, "grafana": 3000}
INTERVAL = 15  # seconds: what Ceph's module expects where nothing else is said (src/pybind/mgr/prometheus/module.py)
# Seconds: Ceph's rules over node exporters look at one minute (rate()[1m] in ceph_default_alerts.yml), in which two
# measurements have to lie, else CephNodeNetworkPacketDrops and CephNodeNetworkPacketErrors never fire.
NODES = 30
RULES = "/etc/prometheus/site"
# Alerts of the product itself, whose numbers the master's host tells (salt/ceph/service/metrics).
OWN_RULES = ("/etc/prometheus/halocline.yml", "salt://ceph/service/prometheus/files/halocline.yml")
OPTION = "mgr/prometheus/scrape_interval"
GRAFANA_PASSWORD = "grafana.admin"


def plan(cluster: PlannedCluster) -> ServicePlan:
    """Plan who watches, whom, by which rules, and who is told."""
    watchers, alerters = cluster.members("prometheus"), cluster.members("alertmanager")
    settings = cluster.settings["monitoring"]
    if not watchers:
        asked = alerters or "monitoring" in cluster.settings.written
        lacking = "monitoring: no minion has the role prometheus: add a line to policy.cfg"
        return ServicePlan(problems=(lacking,) if asked else ())
    exporters = sorted(cluster.roles)
    return join(
        [
            ServicePlan(
                parts={"node-exporter": {minion: {} for minion in exporters}},
                cluster={"scrape_interval": settings["scrape_interval"]},
            ),
            _listening(exporters, "node", "prometheus-node or node_exporter"),
            _watching(cluster, watchers, settings),
            _listening(watchers, "prometheus", "prometheus"),
            _listening(cluster.members("mgr"), "ceph", "ceph-mgr"),
            alerting.plan(cluster, settings["alertmanager"]),
            _listening(alerters, "alertmanager", alerting.PROCESS),
            *([_grafana(cluster, watchers)] if settings["grafana"] else []),
        ]
    )


def commands(planned: Mapping, existing: Mapping) -> Iterable[Command]:
    """What is still to do: Ceph's own exporter, which is a module of the managers, and how fresh its numbers are, which
    it reads at its start: it goes before that is set, so that a run that ends in between is gone on with.
    """
    enabled = "prometheus" in existing["modules"]
    if other := float(existing["scrape_interval"] or INTERVAL) != planned["scrape_interval"]:
        if enabled:
            yield ["mgr", "module", "disable", "prometheus"]
        yield ["config", "set", "mgr", OPTION, str(planned["scrape_interval"])]
    if other or not enabled:
        yield ["mgr", "module", "enable", "prometheus"]


def urls(cluster: PlannedCluster) -> dict[str, str]:
    """Where each of the programs that people look at answers, of those that are planned: ``{prometheus: http://…}``."""
    watchers, alerters = cluster.members("prometheus"), cluster.members("alertmanager")
    minions_of = {"prometheus": watchers, "alertmanager": alerters if watchers else []}
    if cluster.settings["monitoring"]["grafana"]:
        minions_of["grafana"] = watchers
    schemes = {"grafana": "https"}  # it is shown inside of the dashboard, where a browser wants TLS
    return {
        what: f"{schemes.get(what, 'http')}://{cluster.target(minions[0], PORTS[what])}"
        for what, minions in minions_of.items()
        if minions
    }


def _prometheus(cluster: PlannedCluster, interval: int, rules: list[list[str]]) -> dict:
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
        job("node", sorted(cluster.roles), **({"scrape_interval": f"{NODES}s"} if interval > NODES else {})),
        job("prometheus", cluster.members("prometheus")),
        job("alertmanager", cluster.members("alertmanager")),
    ]
    alerters = [cluster.target(minion, PORTS["alertmanager"]) for minion in cluster.members("alertmanager")]
    return {
        "global": {
            "scrape_interval": f"{interval}s",
            "evaluation_interval": f"{interval}s",
            "external_labels": {"cluster": str(cluster.settings["fsid"])},
        },
        "rule_files": ["/etc/prometheus/ceph/*.yml", *(path for path, _ in rules)],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": alerters}]}]},
        "scrape_configs": jobs,
    }


def _watching(cluster: PlannedCluster, watchers: list[str], settings: Mapping) -> ServicePlan:
    """Prometheus: its configuration, our rule file and the site's own (where each lies on a host, and its source)."""
    own = [[f"{RULES}/{_name(source)}", source] for source in settings["custom_alerts"]]
    rules = [list(OWN_RULES), *own]
    kept = settings["retention"]
    part = {
        "config": _prometheus(cluster, settings["scrape_interval"], rules),
        "rules": rules,
        "arguments": [f"--storage.tsdb.retention.time={kept}"] if kept else [],
    }
    problems = tuple(_twins(settings["custom_alerts"]))
    return ServicePlan(parts={"prometheus": dict.fromkeys(watchers, part)}, problems=problems)


def _name(source: str) -> str:
    """By which a rule file of the site's lies on a host."""
    return source.rpartition("/")[2]


def _twins(sources: list[str]) -> Iterable[str]:
    """Rule files of one name: the last would take the others' place."""
    names = [_name(source) for source in sources]
    for name in sorted({name for name in names if names.count(name) > 1}):
        named = " and ".join(source for source in sources if _name(source) == name)
        yield f"monitoring: custom_alerts: {named} are one file {name} on a host: give one of them another name"


def _grafana(cluster: PlannedCluster, watchers: list[str]) -> ServicePlan:
    """Grafana beside each Prometheus, with Ceph's dashboards; from a package source that the site has."""
    files, problems = given.certificate("grafana", cluster)
    part = {"port": PORTS["grafana"], "certificate": "given" if files else "made"}
    own = ServicePlan(
        parts={"grafana": {minion: {**part, "names": cluster.names([minion])} for minion in watchers}},
        secrets={minion: {"grafana": GRAFANA_PASSWORD, **{file: file for file in files}} for minion in watchers},
        passwords=frozenset({GRAFANA_PASSWORD}),
        problems=tuple(problems),
    )
    return join([own, _listening(watchers, "grafana", "grafana or grafana-server")])


def _listening(minions: Iterable[str], what: str, process: str) -> ServicePlan:
    return ServicePlan(ports={minion: {PORTS[what]: process} for minion in minions})


SERVICE = Service(
    name="monitoring",
    plan=plan,
    commands=commands,
    on_master="ceph.service.metrics",
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
