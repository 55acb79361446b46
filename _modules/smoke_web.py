"""One HTTP request of a smoke test's clients, without a proxy, with a limit; whom they trust."""

import http.client
import json
import socket
import ssl
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salt.exceptions import CommandExecutionError

LIMIT = 20  # seconds until an answer begins, and between two pieces of it
LONGEST = 1 << 24  # bytes of an answer that are read
SHOWN = 200  # characters of an answer that a message shows
# Where families of distributions keep the certificates that a host trusts; Salt's own Python looks elsewhere.
SYSTEM = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")
PARTIAL_CHAIN = 0x80000  # X509_V_FLAG_PARTIAL_CHAIN: a certificate that is trusted itself needs no issuer


def fetch(
    url: str,
    method: str = "GET",
    body: str = "",
    headers: Mapping[str, str] | None = None,
    trusted: str | None = None,
    ok: tuple[int, ...] = (200,),
) -> dict[str, Any]:
    """Return what a server answers: ``{status, headers, body}``; raise with status and its own words if not ok.

    url, method, body, headers
        The request. Nothing of it goes into an error but method and address.
    trusted
        Certificates as PEM: one of them has to be shown, whatever name it is for. None: the certificate is checked as
        the system does it, by name and issuer.
    ok
        The statuses that are right.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_web.fetch http://node1:9283/
    """
    where = urllib.parse.urlsplit(url)
    path = (where.path or "/") + (f"?{where.query}" if where.query else "")
    connection = _connection(where, trusted)
    try:
        connection.request(method, path, body.encode() or None, dict(headers or {}))
        answer = connection.getresponse()
        text = answer.read(LONGEST).decode(errors="replace")
    except (OSError, http.client.HTTPException, ValueError) as err:
        why = f"no answer within {LIMIT} s" if isinstance(err, socket.timeout) else str(err) or type(err).__name__
        raise CommandExecutionError(f"{where.scheme}://{where.netloc}: {why}") from None
    finally:
        connection.close()
    if answer.status not in ok:
        said = f": {text.strip()[:SHOWN]}" if text.strip() else ""
        address = f"{where.scheme}://{where.netloc}{where.path}"
        raise CommandExecutionError(f"{method} {address}: status {answer.status}{said}")
    return {
        "status": answer.status,
        "headers": {key.lower(): value for key, value in answer.getheaders()},
        "body": text,
    }


def fetch_json(url: str, **request: Any) -> Any:
    """Return the JSON that a server answers. Arguments and errors as for ``fetch``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_web.fetch_json http://client1:9090/api/v1/targets
    """
    body = fetch(url, **request)["body"]
    try:
        return json.loads(body)
    except ValueError:
        raise CommandExecutionError(f"{url.partition('?')[0]}: no JSON: {body[:SHOWN]}") from None


def _connection(where: urllib.parse.SplitResult, trusted: str | None) -> http.client.HTTPConnection:
    host = where.hostname or ""
    if where.scheme != "https":
        return http.client.HTTPConnection(host, where.port, timeout=LIMIT)
    context = ssl.create_default_context(cadata=trusted or None)
    if trusted:
        context.check_hostname = False
        context.verify_flags |= PARTIAL_CHAIN
    else:
        for path in filter(lambda path: Path(path).is_file(), SYSTEM):
            context.load_verify_locations(path)
    return http.client.HTTPSConnection(host, where.port, timeout=LIMIT, context=context)
