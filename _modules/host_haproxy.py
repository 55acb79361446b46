"""The gateways behind this host's HAProxy, by its socket: one is drained before it stops, and taken back after."""

import csv
import http.client
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

SOCKET = Path("/run/ceph-rgw-haproxy.sock")  # of salt/ceph/service/rgw-frontend/files/haproxy.cfg.j2
CONF = Path("/etc/ceph/rgw-frontend/haproxy.cfg")
BACKEND = "rgw"
HEALTH = "/swift/healthcheck"  # what HAProxy itself asks of a gateway
LIMIT = 10  # seconds for an answer
CONNECT = 3  # seconds for one of a gateway, as HAProxy has
DRAINED = 60  # seconds that requests may take which are under way: HAProxy's own timeout there


def drain(names: Sequence[str], limit: float = DRAINED) -> dict[str, int]:
    """Give gateways no new request, and wait until they have none; return how many each still has.

    HAProxy forgets it when it is loaded anew; one that is down by then gets no request by its health check.

    names
        The gateways' names in the backend. One that is not there is left out.
    limit
        Seconds to wait.

    CLI Example:

    .. code-block:: bash

        salt 'lb1' host_haproxy.drain '[rgw.node1]'
    """
    _set(names, "drain")

    def busy() -> None:
        if any(_sessions(names).values()):
            raise TimeoutError

    try:
        halocline.until(busy, limit, retry=TimeoutError)
    except TimeoutError:
        return _sessions(names)
    return _sessions(names)


def ready(names: Sequence[str]) -> list[str]:
    """Give gateways requests again, once they are well; return which.

    names
        As for ``drain``.

    CLI Example:

    .. code-block:: bash

        salt 'lb1' host_haproxy.ready '[rgw.node1]'
    """
    return _set(names, "ready")


def servers() -> dict[str, bool]:
    """Return the gateways behind it, each with whether it gets requests (``show stat``: status).

    CLI Example:

    .. code-block:: bash

        salt 'lb1' host_haproxy.servers
    """
    return {name: row["status"].startswith(("UP", "no check")) for name, row in _rows().items()}


def outdated() -> bool:
    """Return whether it still has the gateways at other places, or speaks otherwise to them, than pillar says.

    CLI Example:

    .. code-block:: bash

        salt 'lb1' host_haproxy.outdated
    """
    return CONF.exists() and _written() != [f"server {name} {address} {options}" for name, address, options in _told()]


def held() -> bool:
    """Return whether it must stay as it is: it serves clients by gateways at their former places, and none answers yet
    at the place that it is to be given. They take on a new port, or TLS, as they are restarted.

    CLI Example:

    .. code-block:: bash

        salt 'lb1' host_haproxy.held
    """
    if not outdated():
        return False
    try:
        serves = any(servers().values())
    except CommandExecutionError:  # it does not run
        return False
    return serves and not any(_answers(address, tls="ssl" in options) for _, address, options in _told())


def _written() -> list[str]:
    """The gateways of its configuration, a line each."""
    return [line for line in map(str.strip, CONF.read_text().splitlines()) if line.startswith("server ")]


def _told() -> list[tuple[str, str, str]]:
    """The gateways as they are to be: name, address with port, HAProxy's options."""
    planned = __pillar__["ceph"]["services"]["rgw-frontend"]["servers"]
    return [(gateway["name"], gateway["address"], gateway["options"]) for gateway in planned]


def _answers(place: str, tls: bool) -> bool:
    """Whether a gateway answers at its place, with TLS where HAProxy is to speak it, and says that it is well."""
    line = http.client.HTTPConnection(place, timeout=CONNECT)
    if tls:
        speaks = ssl.create_default_context()
        speaks.check_hostname, speaks.verify_mode = False, ssl.CERT_NONE  # HAProxy verifies; here nothing is told
        line = http.client.HTTPSConnection(place, timeout=CONNECT, context=speaks)
    try:
        line.request("GET", HEALTH)
        return line.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()


def _set(names: Sequence[str], state: str) -> list[str]:
    known = sorted(_sessions(names))
    for name in known:
        if said := _asked(f"set server {BACKEND}/{name} state {state}").strip():
            raise CommandExecutionError(f"HAProxy does not set {name} to {state}: {said}")
    return known


def _sessions(names: Sequence[str]) -> dict[str, int]:
    """How many sessions each has, by ``scur`` of ``show stat``."""
    rows = _rows()
    return {name: int(rows[name]["scur"]) for name in names if name in rows}


def _rows() -> dict[str, dict[str, str]]:
    """HAProxy's own table of statistics: the backend's servers, by name."""
    rows = csv.DictReader(_asked("show stat").removeprefix("# ").splitlines())
    return {row["svname"]: row for row in rows if row["pxname"] == BACKEND and row["svname"] != "BACKEND"}


def _asked(command: str) -> str:
    """What HAProxy answers: one command a connection."""
    answer = b""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(LIMIT)
            line.connect(str(SOCKET))
            line.sendall(command.encode() + b"\n")
            while part := line.recv(65536):
                answer += part
    except OSError as err:
        raise CommandExecutionError(
            f"HAProxy does not answer at {SOCKET} ({err.strerror or err}): ceph.stage.radosgw configures it anew"
        ) from err
    return answer.decode(errors="replace")
