"""A smoke test of object gateways by S3, from the host with the admin's key: buckets, an object in each, gone again.

The client is this module: requests of S3 with Signature Version 4 (docs.aws.amazon.com, AmazonS3, sig-v4-header-based
auth). Its user is the test's own, whose key radosgw-admin makes; it is in no argument, no answer and no file.
"""

import datetime
import hashlib
import hmac
import json
import secrets
import urllib.parse
from collections.abc import Mapping

import halocline
from salt.exceptions import CommandExecutionError

NAME = "halocline-smoke"
LIMIT = 120  # seconds one command may take
ABSENT = 2  # ENOENT: radosgw-admin's exit status where there is no such record; that of "user info" is 22
REGION = "default"


def attempt(endpoints: Mapping[str, str], trusted: str | None = None) -> dict[str, list[str]]:
    """Put, get and delete an object through every address: ``{passed, failed}``, a line for each.

    endpoints
        ``{what it is: URL}``.
    trusted
        The certificates that the site gave, as PEM: one of them has to be shown.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_s3.attempt '{node1: "http://node1:80"}'
    """
    clean()
    words = ["user", "create", f"--uid={NAME}", "--display-name=Smoke test of Halocline"]
    (key,) = json.loads(_admin(*words))["keys"]
    told: dict[str, list[str]] = {"passed": [], "failed": []}
    try:
        for number, (what, url) in enumerate(endpoints.items(), start=1):
            try:
                _object(url, f"/{NAME}-{number}", key, trusted)
                told["passed"].append(what)
            except CommandExecutionError as err:
                told["failed"].append(f"{what}: {err}")
    finally:
        clean()
    return told


def clean() -> list[str]:
    """Take away the test's user with its buckets; return a line for it where it was there.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_s3.clean
    """
    there = json.loads(_admin("metadata", "get", f"user:{NAME}", ok=(0, ABSENT)) or "{}")
    if there:
        _admin("user", "rm", f"--uid={NAME}", "--purge-data", "--purge-keys", ok=(0, ABSENT))
    return [f"user {NAME} of the object gateways, with its buckets"] if there else []


def _object(url: str, bucket: str, key: Mapping[str, str], trusted: str | None) -> None:
    text = secrets.token_hex(4096)
    _ask(url, "PUT", bucket, "", key, trusted)
    _ask(url, "PUT", f"{bucket}/object", text, key, trusted)
    if _ask(url, "GET", f"{bucket}/object", "", key, trusted) != text:
        raise CommandExecutionError("what was read is not what was written")
    _ask(url, "DELETE", f"{bucket}/object", "", key, trusted)
    _ask(url, "DELETE", bucket, "", key, trusted)


def _ask(url: str, method: str, path: str, body: str, key: Mapping[str, str], trusted: str | None) -> str:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    headers = _signed(method, urllib.parse.urlsplit(url).netloc, path, body, key["access_key"], key["secret_key"], now)
    request = {"method": method, "body": body, "headers": headers, "trusted": trusted, "ok": (200, 204)}
    return __salt__["smoke_web.fetch"](f"{url}{path}", **request)["body"]


def _signed(method: str, host: str, path: str, body: str, access: str, secret: str, now: str) -> dict[str, str]:
    """The headers of a request without a query, signed for now (``20261123T120000Z``); host as its header has it."""
    digest = hashlib.sha256(body.encode()).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": now}
    names = ";".join(headers)
    canonical = [method, path, "", *(f"{name}:{value}" for name, value in headers.items()), "", names, digest]
    scope = f"{now[:8]}/{REGION}/s3/aws4_request"
    hashed = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, "\n".join(["AWS4-HMAC-SHA256", now, scope, hashed]).encode(), "sha256").hex()
    asked = f"AWS4-HMAC-SHA256 Credential={access}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "authorization": asked}


def _admin(*words: str, ok: tuple[int, ...] = (0,)) -> str:
    return halocline.run(["radosgw-admin", *words], ok=ok, limit=LIMIT, secret=True)
