"""``ceph.stage.dashboard``: the Ceph Dashboard in the managers, over TLS, and its admin's access.

The role openattic asks for it, or ``dashboard`` of the site's settings, where the defaults are not wanted::

    dashboard: {port: 8444, user: admin}

A site's own certificate and key are ``dashboard.crt`` and ``dashboard.key`` of the given files, as PEM; without them
the master's host makes a certificate with every manager's name and address. Ceph's own
``dashboard create-self-signed-cert`` names no host (src/pybind/mgr/mgr_util.py), so no client could check it.
"""

from collections.abc import Mapping

from proposals.services import given, iscsi, monitoring
from proposals.services.service import PlannedCluster, Service
from proposals.services.service_plan import ServicePlan, join

PORT = 8443  # docs.ceph.com, mgr/dashboard: ssl_server_port
PASSWORD = "dashboard.admin"


def plan(cluster: PlannedCluster) -> ServicePlan:
    """Plan the managers' module, its certificate and settings, its admin's password and who may know it."""
    settings = cluster.settings["dashboard"]
    if not cluster.members("openattic") and "dashboard" not in cluster.settings.written:
        return ServicePlan()
    files, problems = given.certificate("dashboard", cluster)
    managers = cluster.members("mgr")
    return join(
        [
            ServicePlan(
                parts={"dashboard-mgr": {minion: {} for minion in managers}} if managers else {},
                ports={minion: {settings["port"] or PORT: "ceph-mgr"} for minion in managers},
                passwords=frozenset({PASSWORD}),
                problems=tuple(problems),
            ),
            *(_settled(cluster, minion, settings, files) for minion in cluster.members("master")[:1]),
            *(_access(minion) for minion in cluster.members("openattic", "master")),
        ]
    )


def _settled(cluster: PlannedCluster, minion: str, settings: Mapping, files: list[str]) -> ServicePlan:
    """What the master's host tells the cluster: the module's settings, its certificate and admin."""
    port = {"ssl_server_port": str(settings["port"])} if settings["port"] else {}
    options = {"ssl": "true", **port, **_links(cluster)}
    part = {
        "port": settings["port"],
        "user": settings["user"],
        "options": {"mgr": {f"mgr/dashboard/{option}": value for option, value in options.items()}},
        "certificate": "given" if files else "made",
        "names": cluster.names(cluster.members("mgr")),  # any of them may be the active one
        "gateways": _gateways(cluster),
    }
    api = {"dashboard-iscsi": iscsi.API_PASSWORD} if cluster.members("igw") else {}
    return ServicePlan(parts={"dashboard": {minion: part}}, secrets={minion: {**api, **{file: file for file in files}}})


def _access(minion: str) -> ServicePlan:
    return ServicePlan(parts={"dashboard-access": {minion: {}}}, secrets={minion: {"dashboard": PASSWORD}})


def _links(cluster: PlannedCluster) -> dict[str, str]:
    """Where the dashboard finds what watches the cluster (docs.ceph.com, mgr/dashboard: monitoring)."""
    known = {"prometheus": "PROMETHEUS_API_HOST", "alertmanager": "ALERTMANAGER_API_HOST", "grafana": "GRAFANA_API_URL"}
    urls = monitoring.urls(cluster)
    # The managers ask Grafana for each picture first, and nobody they trust has signed a certificate of a host's own.
    unsigned = "grafana" in urls and not given.certificate("grafana", cluster)[0]
    return {known[what]: url for what, url in urls.items()} | ({"GRAFANA_API_SSL_VERIFY": "false"} if unsigned else {})


def _gateways(cluster: PlannedCluster) -> dict[str, list[str]]:
    """Where ceph-iscsi's gateways are asked, and as whom. Object gateways the dashboard finds itself."""
    return {
        cluster.hostname(minion): [iscsi.API_USER, cluster.target(minion, iscsi.API_PORT)]
        for minion in cluster.members("igw")
    }


SERVICE = Service(
    name="dashboard",
    plan=plan,
    parts=("dashboard-mgr", "dashboard", "dashboard-access"),
)
