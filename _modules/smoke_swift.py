"""A smoke test of Swift by Keystone, on a gateway's host: as the gateways' own user, whose password that host has."""

import json
import secrets
from collections.abc import Mapping
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

NAME = "halocline-smoke"
LIMIT = 120  # seconds one command may take


def attempt(identity: Mapping[str, Any], use: str, endpoint: str, trusted: str | None = None) -> dict[str, list[str]]:
    """Get a token of Keystone; by it put, get and delete an object through the gateways: ``{passed, failed}``.

    identity
        The site's ``rgw_keystone``: url, user, project, domain, account_in_url.
    use
        Where in this minion's ``ceph_secrets`` the user's password lies.
    endpoint, trusted
        As for ``smoke_s3.attempt``, of one address.

    CLI Example:

    .. code-block:: bash

        salt 'node1' smoke_swift.attempt '{...}' rgw.node1/keystone-password https://192.168.0.100:443
    """
    try:
        token, project = _token(identity, __pillar__["ceph_secrets"][use])
        account = f"/AUTH_{project}" if identity["account_in_url"] else ""
        said = _object(f"{endpoint}/swift/v1{account}/{NAME}", {"x-auth-token": token}, trusted)
    except CommandExecutionError as err:
        return {"passed": [], "failed": [str(err)]}
    return {"passed": [f"a token of {identity['url']}, a container through {endpoint}{said}"], "failed": []}


def clean() -> list[str]:
    """Take away the test's container, on the host with the admin's key; return a line for each.

    The account of the project, which gateways make at its first request, is the site's and stays.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_swift.clean
    """
    done = []
    for bucket in json.loads(_admin("bucket", "list")):
        tenant, _, name = bucket.rpartition("/")
        if name == NAME:
            own = [f"--tenant={tenant}"] if tenant else []
            _admin("bucket", "rm", f"--bucket={NAME}", *own, "--purge-objects")
            done.append(f"container {bucket}")
    return done


def _token(identity: Mapping[str, Any], password: str) -> tuple[str, str]:
    """A token and its project's id (docs.openstack.org, api-ref/identity/v3: password authentication, scoped)."""
    domain = {"name": identity["domain"]}
    user = {"name": identity["user"], "domain": domain, "password": password.strip()}
    scope = {"project": {"name": identity["project"], "domain": domain}}
    asked = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}
    said = __salt__["smoke_web.fetch"](
        f"{identity['url'].rstrip('/')}/v3/auth/tokens",
        method="POST",
        body=json.dumps(asked),
        headers={"content-type": "application/json"},
        ok=(201,),
    )
    return said["headers"]["x-subject-token"], json.loads(said["body"])["token"]["project"]["id"]


def _object(url: str, headers: Mapping[str, str], trusted: str | None) -> str:
    """Put, get and delete an object; what is to be said of it.

    A gateway of Ceph 16.2 that asks Keystone over a connection which Keystone has closed meanwhile (curl's error 55 in
    its log) answers 401; asked again it takes a new one.
    """
    said = ""

    def ask(method: str, path: str = "", body: str = "") -> str:
        request = {"method": method, "body": body, "headers": headers, "trusted": trusted}
        return __salt__["smoke_web.fetch"](f"{url}{path}", **request, ok=(200, 201, 202, 204))["body"]

    text = secrets.token_hex(4096)
    try:
        ask("PUT")
    except CommandExecutionError as err:
        if "status 401" not in str(err):
            raise
        ask("PUT")
        said = " (refused at first, as where Keystone closes the gateway's connection: a longer KeepAliveTimeout helps)"
    try:
        ask("PUT", "/object", text)
        if ask("GET", "/object") != text:
            raise CommandExecutionError("what was read is not what was written")
        ask("DELETE", "/object")
    finally:
        ask("DELETE")
    return said


def _admin(*words: str) -> str:
    return halocline.run(["radosgw-admin", *words], limit=LIMIT)
