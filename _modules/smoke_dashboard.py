"""A smoke test of the Ceph Dashboard, from the host with the admin's key: a user who may only read logs in."""

import json
import secrets

NAME = "halocline-smoke"
USERS = "mgr/dashboard/accessdb_v2"  # where the managers keep the dashboard's users, whether they serve it or not
CERTIFICATE = "mgr/dashboard/crt"  # where the managers keep the one that they show
ACCEPT = "application/vnd.ceph.api.v1.0+json"


def attempt() -> dict[str, list[str]]:
    """Log in at the dashboard's API and read the cluster's health: ``{passed, failed}``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_dashboard.attempt
    """
    url = __salt__["cluster_cli.ask"](["mgr", "services"]).get("dashboard")
    if not url:
        return {"passed": [], "failed": ["no manager serves it ('ceph mgr services'): see 'ceph mgr module ls'"]}
    clean()
    password = secrets.token_urlsafe(24)
    words = ["dashboard", "ac-user-create", NAME, "-i", "-", "--force-password", "read-only"]
    __salt__["cluster_cli.tell"](words, password)
    try:
        _log_in(url.rstrip("/"), password)
    finally:
        clean()
    return {"passed": [f"logged in at {url}"], "failed": []}


def clean() -> list[str]:
    """Take away the test's user; return a line for it where it was there.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_dashboard.clean
    """
    if f'"{NAME}"' not in (__salt__["cluster_cli.kept"](USERS) or ""):
        return []
    __salt__["cluster_cli.tell"](["dashboard", "ac-user-delete", NAME])
    return [f"user {NAME} of the dashboard"]


def _log_in(url: str, password: str) -> None:
    fetch, trusted = __salt__["smoke_web.fetch_json"], __salt__["cluster_cli.kept"](CERTIFICATE)
    headers = {"accept": ACCEPT, "content-type": "application/json"}
    login = json.dumps({"username": NAME, "password": password})
    said = fetch(f"{url}/api/auth", method="POST", body=login, headers=headers, trusted=trusted, ok=(201,))
    headers["authorization"] = f"Bearer {said['token']}"
    fetch(f"{url}/api/health/minimal", headers=headers, trusted=trusted)
