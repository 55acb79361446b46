"""A smoke test of metrics: Prometheus has scraped everybody since the test began, and everybody answered.

What was scraped before is no proof: Prometheus shows the last sample of a target for five minutes. So each target's
``up`` has to be younger than the test, by Prometheus' own clock (prometheus.io, prometheus/latest/querying/basics).
"""

import urllib.parse
from collections.abc import Iterable, Mapping, Sequence

import halocline
from salt.exceptions import CommandExecutionError

SLACK = 20  # seconds that a scrape may take beyond its interval: the usual time limit of one is 10
HEALTH = "ceph_health_status"


def attempt(
    url: str, interval: int, targets: Sequence[Sequence[str]], alertmanagers: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Wait until Prometheus has scraped every target anew, and judge: ``{passed, failed}``.

    url
        Where Prometheus answers.
    interval
        Seconds between two scrapes.
    targets
        ``[job, instance]`` of everybody who is watched.
    alertmanagers
        ``HOST:PORT`` of those to whom Prometheus sends alerts.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_metrics.attempt http://client1:9090 15 '[[node, node1]]'
    """
    (now,) = _asked(url, "vector(time())").values()
    wanted = {(str(job), str(instance)) for job, instance in targets}

    def fresh() -> None:
        scraped = _asked(url, "timestamp(up)")
        if late := {target for target in wanted if scraped.get(target, 0) < now}:
            raise CommandExecutionError(f"not scraped since the test began: {_names(late)}")
        managers = any(job == "ceph" for job, _ in wanted)
        if managers and max(_asked(url, f"timestamp({HEALTH})").values(), default=0) < now:
            raise CommandExecutionError(f"the managers tell no {HEALTH}: see 'ceph mgr services'")

    failed = []
    try:
        halocline.until(fresh, 2 * interval + SLACK)
    except CommandExecutionError as err:
        failed.append(str(err))
    values = _asked(url, "up")
    if down := {target for target in wanted if values.get(target) == 0}:
        failed.append(f"{url}: no answer to Prometheus: {_names(down)}")
    if unknown := sorted(set(alertmanagers) - _known(url)):
        failed.append(f"{url}: Prometheus does not send alerts to {', '.join(unknown)}")
    passed = [] if failed else [f"{url}: {len(wanted)} targets answer"]
    return {"passed": passed, "failed": failed}


def _known(url: str) -> set[str]:
    """The Alertmanagers that Prometheus sends to (prometheus.io, prometheus/latest/querying/api: alertmanagers)."""
    said = __salt__["smoke_web.fetch_json"](f"{url}/api/v1/alertmanagers")["data"]["activeAlertmanagers"]
    return {urllib.parse.urlsplit(one["url"]).netloc for one in said}


def _asked(url: str, query: str) -> Mapping[tuple[str, str], float]:
    """The values of a query by job and instance."""
    path = f"/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    result = __salt__["smoke_web.fetch_json"](url + path)["data"]["result"]
    return {(one["metric"].get("job", ""), one["metric"].get("instance", "")): float(one["value"][1]) for one in result}


def _names(targets: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{job} of {instance}" for job, instance in sorted(targets))
