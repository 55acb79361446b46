"""Alertmanager of the monitoring stage: who is told of an alert, in Alertmanager's own words, without a secret."""

from collections.abc import Mapping

from proposals.services.service import Cluster, Plan

PROCESS = "prometheus-aler or alertmanager"
SECRETS = "/etc/prometheus/secrets"
PEERS = 9094  # TCP: between Alertmanagers
SAID = "monitoring: alertmanager"
# Words of Alertmanager's configuration whose value is a secret; each has a twin with _file (prometheus.io,
# alerting/latest/configuration).
PLAIN = frozenset(
    {"smtp_auth_password", "smtp_auth_secret", "slack_api_url", "victorops_api_key", "opsgenie_api_key"}
    | {"wechat_api_secret", "auth_password", "auth_secret", "password", "credentials", "bearer_token", "api_key"}
    | {"client_secret", "routing_key", "service_key", "api_secret", "token", "user_key", "bot_token", "secret_key"}
)
# Where a site says nothing alerts are shown, by Alertmanager itself and by the dashboard, and sent to nobody.
NOBODY: Mapping = {"receivers": [{"name": "nobody"}]}


def plan(cluster: Cluster, made: Plan, said: object) -> None:
    """Plan every Alertmanager: its configuration, the secrets in it, and the others, who send what it could not."""
    minions = cluster.members("alertmanager")
    given: list[str] = []
    config = _named(_config(said, made), cluster, made, given)
    for minion in minions:
        others = [cluster.target(each, PEERS) for each in minions if each != minion]
        listens = cluster.target(minion, PEERS) if others else ""  # alone it has nobody to listen to
        arguments = [f"--cluster.listen-address={listens}", *(f"--cluster.peer={other}" for other in others)]
        made.run("alertmanager", minion, config=config, given=given, arguments=arguments)
        made.tell(minion, **{f"alertmanager-{name}": name for name in given})
        if others:
            made.ports.setdefault(minion, {})[PEERS] = PROCESS


def _config(said: object, made: Plan) -> dict:
    """alertmanager.yml, with a route where the site wrote none."""
    if said is None:
        said = NOBODY
    receivers = said.get("receivers") if isinstance(said, Mapping) else None
    if not isinstance(receivers, list) or not all(isinstance(one, Mapping) and one.get("name") for one in receivers):
        made.wrong(SAID, said, "a mapping with 'receivers', a list with a name each")
        return {}
    first = {"receiver": receivers[0]["name"], "group_by": ["alertname"]} if receivers else {}
    return {"route": first, **said}


def _named(said: object, cluster: Cluster, made: Plan, given: list[str]) -> object:
    """The same with every secret's file where a host will have it; what is no file's name is a problem."""
    if isinstance(said, list):
        return [_named(one, cluster, made, given) for one in said]
    if not isinstance(said, Mapping):
        return said
    return {key: _value(str(key), value, cluster, made, given) for key, value in said.items()}


def _value(key: str, value: object, cluster: Cluster, made: Plan, given: list[str]) -> object:
    if key in PLAIN:
        made.problems.append(
            f"{SAID}: {key} holds a secret: put it into a file of <pillar_root>/ceph/keys/given and write "
            f"'{key}_file: NAME OF THAT FILE'"
        )
    if not key.endswith("_file") or str(value).startswith("/"):  # a path of the host's own, such as of a CA
        return _named(value, cluster, made, given)
    if value not in cluster.given:
        made.wrong(f"{SAID}: {key}", value, "the name of a file in <pillar_root>/ceph/keys/given, of mode 0600")
    elif value not in given:
        given.append(str(value))
    return f"{SECRETS}/{value}"
