"""``ceph.stage.dashboard``: the Ceph Dashboard in the managers, over TLS, and its admin's access.

The role openattic asks for it, or ``dashboard`` of the site's settings, where the defaults are not wanted::

    dashboard: {port: 8444, user: admin}

A site's own certificate and key are ``dashboard.crt`` and ``dashboard.key`` of the given files, as PEM; without them
the master's host makes a certificate with every manager's name and address. Ceph's own
``dashboard create-self-signed-cert`` names no host (src/pybind/mgr/mgr_util.py), so no client could check it.
"""

import re

from proposals.services import iscsi, monitoring
from proposals.services.service import Cluster, Plan, Service

KEYS = ("port", "user")
PORT = 8443  # docs.ceph.com, mgr/dashboard: ssl_server_port
USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
PASSWORD = "dashboard.admin"


def plan(cluster: Cluster, made: Plan) -> None:
    """Plan the managers' module, its certificate and settings, its admin's password and who may know it."""
    admins = cluster.members("openattic")
    if not admins and "dashboard" not in cluster.settings:
        return
    said = made.settings("dashboard", cluster.settings.get("dashboard"), KEYS)
    port = made.port("dashboard: port", said.get("port"), PORT)
    user = str(said.get("user", "admin"))
    if not USER.fullmatch(user):
        made.wrong("dashboard: user", user, "a name of letters, digits, '.', '_', '@', '-'")
    given = made.certificate("dashboard", cluster)
    managers = cluster.members("mgr")
    for minion in managers:
        made.run("dashboard-mgr", minion)
        made.ports.setdefault(minion, {})[port] = "ceph-mgr"
    made.passwords.add(PASSWORD)
    options = {"ssl": "true", **({"ssl_server_port": str(port)} if "port" in said else {}), **_links(cluster)}
    for minion in cluster.members("master")[:1]:
        made.run(
            "dashboard",
            minion,
            port=said.get("port"),
            user=user,
            options={"mgr": {f"mgr/dashboard/{option}": value for option, value in options.items()}},
            certificate="given" if given else "made",
            names=cluster.names(managers),  # any of them may be the active one
            gateways=_gateways(cluster),
        )
        if cluster.members("igw"):
            made.tell(minion, **{"dashboard-iscsi": iscsi.API_PASSWORD})
        made.tell(minion, **{name: name for name in given})
    for minion in cluster.members("openattic", "master"):
        made.run("dashboard-access", minion)
        made.tell(minion, dashboard=PASSWORD)


def _links(cluster: Cluster) -> dict[str, str]:
    """Where the dashboard finds what watches the cluster (docs.ceph.com, mgr/dashboard: monitoring)."""
    known = {"prometheus": "PROMETHEUS_API_HOST", "alertmanager": "ALERTMANAGER_API_HOST", "grafana": "GRAFANA_API_URL"}
    return {known[what]: url for what, url in monitoring.urls(cluster).items()}


def _gateways(cluster: Cluster) -> dict[str, list[str]]:
    """Where ceph-iscsi's gateways are asked, and as whom. Object gateways the dashboard finds itself."""
    return {
        cluster.hostname(minion): [iscsi.API_USER, cluster.target(minion, iscsi.API_PORT)]
        for minion in cluster.members("igw")
    }


SERVICE = Service(
    name="dashboard",
    settings=("dashboard",),
    plan=plan,
    parts=("dashboard-mgr", "dashboard", "dashboard-access"),
)
