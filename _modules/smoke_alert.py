"""A smoke test of alerts: one of the test's own comes to Alertmanager and goes again.

It is silenced before it is sent, so nobody is told of it; whether a message would arrive is not proven. That Prometheus
sends its alerts there is proven by the test of metrics.
"""

import datetime
import json
import urllib.parse
from collections.abc import Sequence
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

ALERT = "HaloclineSmokeTest"
BY = "halocline-smoke"  # who made the silence: by this it is found again
LIMIT = 60  # seconds until an alert is shown, or gone
LASTS = 600  # seconds after which silence and alert end by themselves
JSON = {"content-type": "application/json"}


def attempt(alertmanagers: Sequence[str]) -> dict[str, list[str]]:
    """Send an alert to every Alertmanager, see it, end it: ``{passed, failed}``, a line for each.

    alertmanagers
        Where each answers.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_alert.attempt '["http://client1:9093"]'
    """
    told: dict[str, list[str]] = {"passed": [], "failed": []}
    for url in alertmanagers:
        try:
            _there_and_back(url)
            told["passed"].append(f"{url}: an alert came and went")
        except CommandExecutionError as err:
            told["failed"].append(f"{url}: {err}")
    return told


def clean(alertmanagers: Sequence[str]) -> list[str]:
    """Take away the test's silences; return a line for each. Its alert ends by itself.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_alert.clean '["http://client1:9093"]'
    """
    done = []
    for url in alertmanagers:
        for one in _ask(url, "silences"):
            if one["createdBy"] == BY and one["status"]["state"] != "expired":
                _send(url, f"silence/{one['id']}", None, "DELETE")
                done.append(f"silence {one['id']} of {url}")
    return done


def _there_and_back(url: str) -> None:
    start, end = _time(0), _time(LASTS)
    matcher = {"name": "alertname", "value": ALERT, "isRegex": False}
    about = {"startsAt": start, "endsAt": end, "createdBy": BY, "comment": "a smoke test tries alerts"}
    _send(url, "silences", {"matchers": [matcher], **about})
    try:
        alert = {"labels": {"alertname": ALERT}, "startsAt": start}
        _send(url, "alerts", [{**alert, "endsAt": end}])
        halocline.until(lambda: _shown(url, True), LIMIT)
        _send(url, "alerts", [{**alert, "endsAt": _time(0)}])
        halocline.until(lambda: _shown(url, False), LIMIT)
    finally:
        clean([url])


def _shown(url: str, wanted: bool) -> None:
    query = urllib.parse.urlencode({"filter": f'alertname="{ALERT}"'})
    if bool(_ask(url, f"alerts?{query}")) != wanted:
        raise CommandExecutionError("an alert that was sent is not shown" if wanted else "an alert does not end")


def _ask(url: str, path: str) -> Any:
    return __salt__["smoke_web.fetch_json"](f"{url}/api/v2/{path}")


def _send(url: str, path: str, body: Any, method: str = "POST") -> None:
    text = "" if body is None else json.dumps(body)
    __salt__["smoke_web.fetch"](f"{url}/api/v2/{path}", method=method, body=text, headers=JSON)


def _time(later: float) -> str:
    """A moment as Alertmanager reads it, so many seconds from now."""
    now = datetime.datetime.now(datetime.UTC)
    return (now + datetime.timedelta(seconds=later)).isoformat()
