"""Alertmanager of the monitoring stage: who is told of an alert, in Alertmanager's own words, without a secret."""

from collections.abc import Iterable, Iterator, Mapping

from proposals.services.given import FOLDER
from proposals.services.service import PlannedCluster
from proposals.services.service_plan import ServicePlan, join
from proposals.settings.kinds import wrong

PROCESS = "prometheus-aler or alertmanager"
SECRETS = "/etc/prometheus/secrets"
PEERS = 9094  # TCP: between Alertmanagers
KEY = "monitoring: alertmanager"
# Words of Alertmanager's configuration whose value is a secret; each has a twin with _file (prometheus.io,
# alerting/latest/configuration).
PLAIN = frozenset(
    {"smtp_auth_password", "smtp_auth_secret", "slack_api_url", "victorops_api_key", "opsgenie_api_key"}
    | {"wechat_api_secret", "auth_password", "auth_secret", "password", "credentials", "bearer_token", "api_key"}
    | {"client_secret", "routing_key", "service_key", "api_secret", "token", "user_key", "bot_token", "secret_key"}
    | {"webhook_url", "mattermost_webhook_url", "alert_source_token", "app_token", "slack_app_token"}
    | {"rocketchat_token", "rocketchat_token_id", "token_id"}
)
# Where a site says nothing alerts are shown, by Alertmanager itself and by the dashboard, and sent to nobody.
NOBODY: Mapping = {"receivers": [{"name": "nobody"}]}


def plan(cluster: PlannedCluster, written: Mapping | None) -> ServicePlan:
    """Plan every Alertmanager: its configuration, the secrets in it, and the others, who send what it could not.

    written
        Alertmanager's own words; None where the site has none.
    """
    minions = cluster.members("alertmanager")
    config = _config(NOBODY if written is None else written)
    files = [str(value) for key, value in _entries(config) if _names_file(key, value)]
    lacking = [
        wrong(f"{KEY}: {key}", value, f"the name of a file in {FOLDER}, of mode 0600")
        for key, value in _entries(config)
        if _names_file(key, value) and str(value) not in cluster.given
    ]
    told = {"config": _rewritten(config), "given": list(dict.fromkeys(files))}
    own = [_server(cluster, minion, minions, told) for minion in minions]
    return join([ServicePlan(problems=(*_plain(config), *lacking)), *own])


def _server(cluster: PlannedCluster, minion: str, minions: list[str], common: Mapping) -> ServicePlan:
    others = [cluster.target(other, PEERS) for other in minions if other != minion]
    listens = cluster.target(minion, PEERS) if others else ""  # alone it has nobody to listen to
    arguments = [f"--cluster.listen-address={listens}", *(f"--cluster.peer={other}" for other in others)]
    return ServicePlan(
        parts={"alertmanager": {minion: {**common, "arguments": arguments}}},
        secrets={minion: {f"alertmanager-{name}": name for name in common["given"]}},
        ports={minion: {PEERS: PROCESS}} if others else {},
    )


def _config(written: Mapping) -> Mapping:
    """alertmanager.yml, with a route where the site wrote none."""
    receivers = written["receivers"]
    return {"route": {"receiver": receivers[0]["name"], "group_by": ["alertname"]} if receivers else {}, **written}


def _entries(value: object) -> Iterator[tuple[str, object]]:
    """Every key with its value, at any depth."""
    if isinstance(value, list):
        for element in value:
            yield from _entries(element)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key), inner
            yield from _entries(inner)


def _plain(config: Mapping) -> Iterable[str]:
    """Secrets that stand in the configuration itself."""
    plain = [(key, key) for key, _ in _entries(config) if key in PLAIN]
    # Of other receivers api_url is the address of a service, of Slack's it is all that one needs to write there.
    slack = [inner for key, value in _entries(config) if key == "slack_configs" for inner, _ in _entries(value)]
    plain += [(f"slack_configs: {key}", key) for key in slack if key == "api_url"]
    return (
        f"{KEY}: {where} holds a secret: put it into a file of {FOLDER} and write '{key}_file: NAME OF THAT FILE'"
        for where, key in plain
    )


def _names_file(key: str, value: object) -> bool:
    """Whether a value names a file that the site gives; a path is of the host's own, such as of a CA."""
    return key.endswith("_file") and not str(value).startswith("/")


def _rewritten(value: object) -> object:
    """The same with every given file where a host will have it."""
    if isinstance(value, list):
        return [_rewritten(element) for element in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: f"{SECRETS}/{inner}" if _names_file(str(key), inner) else _rewritten(inner) for key, inner in value.items()
    }
