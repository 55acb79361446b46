"""iSCSI gateways, by the API of the one on this host (rbd-target-api), which passes changes on to the others."""

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping

import halocline
from salt.exceptions import CommandExecutionError

START = 120  # seconds until the API answers after its start
CALL = 300  # seconds for one call: an image is opened on every gateway, one after the other
READ = 60  # seconds for one that changes nothing: it takes less than one
USER = "admin"
Call = tuple[str, str, dict]  # a line for the admin, path and form of a call

UNITS = {"M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def config(host: str = "localhost", limit: float = START) -> dict:
    """Return the gateways' record: targets, portals, disks and initiators. Waits for an API that starts.

    host
        The gateway that is asked.
    limit
        Seconds to wait.

    The passwords of initiators are in it: for other modules here, not for a command line. Raises where none answers.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' iscsi.changes
    """
    return _patiently(host, "config?decrypt_passwords=true", limit)


def changes() -> list[str]:
    """Return what the gateways lack of this host's pillar, one line each, without passwords.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' iscsi.changes
    """
    planned, passwords = __pillar__["ceph"]["services"]["iscsi-targets"], __pillar__["ceph_secrets"]
    return [what for what, *_ in _todo(planned, passwords)]


def apply() -> list[str]:
    """Bring the gateways in line with this host's pillar; return what was done. What else they have stays.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' iscsi.apply
    """
    return bring(__pillar__["ceph"]["services"]["iscsi-targets"], __pillar__["ceph_secrets"])


def bring(planned: Mapping, passwords: Mapping[str, str]) -> list[str]:
    """Bring the gateways in line with a plan; return what was done. What else they have stays.

    planned
        ``{targets, portals}`` as the pillar's part ``iscsi-targets`` has them.
    passwords
        Of initiators, by the names that the plan gives them.

    CLI Example: for other modules here, as passwords are in it.
    """
    done = []
    # Each call changes the record that the next one is planned from: a target's gateways come before its disks.
    for what, path, form in _todo(planned, passwords):
        _call("localhost", path, form, what)
        done.append(what)
    return done


def tell(path: str, form: Mapping[str, str], what: str, method: str = "PUT") -> dict:
    """Make one call of this host's API; return its answer.

    path, form, method
        As ``GET /api`` tells them.
    what
        It, for an error.

    CLI Example: for other modules here.
    """
    return _call("localhost", path, dict(form), what, method)


def alone(host: str) -> list[str]:
    """Return a line for each target whose disks nobody could use without a gateway. On one that stays.

    host
        The gateway's host name.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' iscsi.alone igw2
    """
    return [
        f"{iqn}: {host} alone serves it: give it another gateway by gwcli there, or delete it"
        for iqn, target in sorted(config()["targets"].items())
        if target.get("disks") and target["portals"] and set(target["portals"]) == set(_portals(target, host))
    ]


def release(host: str) -> list[str]:
    """Take a gateway out of every target that another gateway serves too; return a line for each. On one that stays.

    Raises where it serves one alone (``alone``): nothing was changed then.

    host
        The leaving gateway's host name.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' iscsi.release igw2
    """
    if left := alone(host):
        raise CommandExecutionError("; ".join(left))
    done = []
    for iqn, target in sorted(config()["targets"].items()):
        names = _portals(target, host)
        for name in names if len(target["portals"]) > len(names) else ():
            _call("localhost", f"gateway/{iqn}/{name}", {}, f"{iqn}: without {name}", method="DELETE")
            done.append(f"{iqn}: without {name}")
    return done


def _portals(target: Mapping, host: str) -> list[str]:
    """A gateway's names among a target's portals: its host's, with or without the domain."""
    return [name for name in target.get("portals", {}) if name.partition(".")[0] == host]


def _todo(planned: Mapping, passwords: Mapping[str, str]) -> Iterator[Call]:
    """``(what, path, form)`` of each call to make, in order (`rbd-target-api`'s own words, GET /api)."""
    record = config()
    for iqn, plan in sorted(planned["targets"].items()):
        target = record["targets"].get(iqn, {})
        if not target:
            yield f"target {iqn}", f"target/{iqn}", {}
        portals = {
            address for portal in target.get("portals", {}).values() for address in portal["portal_ip_addresses"]
        }
        for address in planned["portals"]:
            if address not in portals:
                name = _patiently(address, "sysinfo/hostname")["data"]
                yield f"{iqn}: portal {address}", f"gateway/{iqn}/{name}", {"ip_address": address}
        for image, size in sorted(plan["images"].items()):
            yield from _image(iqn, image, size, record, target)
        for initiator, client in sorted(plan["initiators"].items()):
            yield from _initiator(iqn, initiator, client, target.get("clients", {}).get(initiator), passwords)


def _image(iqn: str, image: str, size: str, record: Mapping, target: Mapping) -> Iterator[Call]:
    if image not in record["disks"]:
        form = {"mode": "create", "size": size, "create_image": "true"}  # newer gateways make none unasked
        yield f"image {image} of {size}", f"disk/{image}", form
    elif _bytes(size) > (now := _size(image)):
        yield f"image {image} from {now} bytes to {size}", f"disk/{image}", {"mode": "resize", "size": size}
    if image not in target.get("disks", {}):
        yield f"{iqn}: {image}", f"targetlun/{iqn}", {"disk": image}


def _initiator(
    iqn: str, initiator: str, planned: Mapping, there: Mapping | None, passwords: Mapping[str, str]
) -> Iterator[Call]:
    path = f"{iqn}/{initiator}"
    auth = {"username": planned["user"], "password": passwords[planned["password"]]}
    if there is None:
        yield f"{iqn}: initiator {initiator}", f"client/{path}", {}
    if there is None or any(there["auth"][key] != value for key, value in auth.items()):
        form = {**auth, "mutual_username": "", "mutual_password": ""}
        yield f"{iqn}: user and password of {initiator}", f"clientauth/{path}", form
    for image in planned["images"]:
        if there is None or image not in there["luns"]:
            yield f"{iqn}: {image} for {initiator}", f"clientlun/{path}", {"disk": image}


def _size(image: str) -> int:
    client = __pillar__["ceph"]["services"]["igw"]["client"]
    return json.loads(halocline.run(["rbd", "--name", client, "--format", "json", "info", image]))["size"]


def _bytes(size: str) -> int:
    return int(size[:-1]) * UNITS[size[-1]]


def _patiently(host: str, path: str, limit: float = START) -> dict:
    """What a gateway's API answers; one that starts is waited for."""
    try:
        return halocline.until(lambda: _call(host, path), limit, retry=ConnectionError)
    except ConnectionError as err:
        raise CommandExecutionError(
            f"the iSCSI gateway {host} does not answer ({err}): look at 'systemctl status rbd-target-api' there"
        ) from err


def _call(host: str, path: str, form: dict | None = None, what: str = "read", method: str = "PUT") -> dict:
    """Call the API: GET without a form, else ``method``. Passwords are in header and body, never in its address."""
    port = __pillar__["ceph"]["services"]["igw"]["port"]
    data = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(
        f"http://{host}:{port}/api/{path}", data=data, method="GET" if data is None else method
    )
    login = f"{USER}:{__pillar__['ceph_secrets']['iscsi-api']}".encode()
    request.add_header("Authorization", f"Basic {base64.b64encode(login).decode()}")
    opener, limit = urllib.request.build_opener(urllib.request.ProxyHandler({})), READ if data is None else CALL
    try:
        with opener.open(request, timeout=limit) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as err:
        raise CommandExecutionError(f"{what}: the iSCSI gateway says {err.code}: {_message(err.read())}") from err
    except TimeoutError as err:  # it takes connections: it does not start, it hangs
        raise CommandExecutionError(
            f"{what}: the iSCSI gateway {host} has not answered within {limit} s: look at 'systemctl status "
            "rbd-target-api' and 'ceph -s' there"
        ) from err
    except OSError as err:  # nobody listens yet, or it ends
        raise ConnectionError(str(err)) from err


def _message(body: bytes) -> str:
    try:
        return json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:200]
