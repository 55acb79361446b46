"""Settings of what watches the cluster: monitoring and the dashboard."""

import re
from collections.abc import Mapping

from proposals.settings.cluster import LAYER
from proposals.settings.kinds import PORT, Flag, Own, Setting, Text, Whole
from proposals.settings.mappings import Group, Many

RULE_FILE = re.compile(r"salt://(?:[A-Za-z0-9][A-Za-z0-9._-]*/)*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*\.ya?ml)")
USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


def _has_receivers(found: object) -> bool:
    receivers = found.get("receivers") if isinstance(found, Mapping) else None
    return isinstance(receivers, list) and all(isinstance(one, Mapping) and one.get("name") for one in receivers)


MONITORING = Group(
    (
        Setting(
            "scrape_interval",
            Whole(5, 300, "whole seconds"),
            "seconds between two measurements of Prometheus and of Ceph's exporter",
            default=15,
            source="Ceph's src/pybind/mgr/prometheus/module.py",
        ),
        Setting(
            "retention",
            Text("a time such as 36h, 90d, 8w or 1y", re.compile(r"[1-9][0-9]{0,4}[hdwy]").fullmatch),
            "how long Prometheus keeps what it measured; its own default where nothing is said",
        ),
        Setting(
            "custom_alerts",
            Many(Text("a rule file such as salt://site/our-rules.yml", RULE_FILE.fullmatch)),
            "alert rules of your own, files of the master's file root",
            default=[],
        ),
        Setting(
            "alertmanager",
            Own("a mapping with 'receivers', a list with a name each", _has_receivers),
            "who is told of alerts, in Alertmanager's own words; they are only shown where nothing is said",
            source="prometheus.io, alerting/latest/configuration",
        ),
        Setting("grafana", Flag(), "Grafana with Ceph's dashboards beside Prometheus", default=False),
    )
)
DASHBOARD = Group(
    (
        Setting(
            "port",
            PORT,
            "TCP port of the managers; the cluster's own, 8443 at first, where nothing is said",
            source="docs.ceph.com, mgr/dashboard (ssl_server_port)",
        ),
        Setting(
            "user",
            Text("a name of letters, digits, '.', '_', '@', '-'", USER.fullmatch),
            "the dashboard's admin, whom the product makes",
            default="admin",
        ),
    ),
    bare=True,
)
SETTINGS = (
    Setting(
        "monitoring",
        MONITORING,
        "Prometheus, Alertmanager, Grafana, where a minion has the role prometheus",
        default={},
        place=LAYER,
    ),
    Setting("dashboard", DASHBOARD, "the Ceph Dashboard; the role openattic asks for it too", default={}, place=LAYER),
)
