"""iSCSI gateways, asked and told through the API of this one (rbd-target-api), which tells the others."""

import base64
import json
import time
import urllib.error
import urllib.parse
import urllib.request

from salt.exceptions import CommandExecutionError

START = 120  # seconds until the API answers after its start
CALL = 300  # seconds for one call: an image is opened on every gateway, one after the other
USER = "admin"
UNITS = {"M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def config(host="localhost"):
    """Return the gateways' record: targets, portals, disks and initiators. Waits for an API that starts.

    host
        The gateway that is asked.

    The passwords of initiators are in it: for other modules here, not for a command line. Raises where none answers.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' iscsi.changes
    """
    return _patiently(host, "config?decrypt_passwords=true")


def changes():
    """Return what the gateways lack of what this host was told, one line each, without passwords.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' iscsi.changes
    """
    return [what for what, *_ in _todo()]


def apply():
    """Bring the gateways in line with what this host was told; return what was done. What else they have stays.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' iscsi.apply
    """
    done = []
    # Each call changes the record that the next one is planned from: a target's gateways come before its disks.
    for what, path, form in _todo():
        _call("localhost", path, form, what)
        done.append(what)
    return done


def _todo():
    """``(what, path, form)`` of each call to make, in order (`rbd-target-api`'s own words, GET /api)."""
    told = __pillar__["ceph"]["services"]["iscsi-targets"]
    found = config()
    for iqn, wanted in sorted(told["targets"].items()):
        target = found["targets"].get(iqn, {})
        if not target:
            yield f"target {iqn}", f"target/{iqn}", {}
        portals = {each for one in target.get("portals", {}).values() for each in one["portal_ip_addresses"]}
        for address in told["portals"]:
            if address not in portals:
                name = _patiently(address, "sysinfo/hostname")["data"]
                yield f"{iqn}: portal {address}", f"gateway/{iqn}/{name}", {"ip_address": address}
        for image, size in sorted(wanted["images"].items()):
            yield from _image(iqn, image, size, found, target)
        for initiator, said in sorted(wanted["initiators"].items()):
            yield from _initiator(iqn, initiator, said, target.get("clients", {}).get(initiator))


def _image(iqn, image, size, found, target):
    if image not in found["disks"]:
        yield f"image {image} of {size}", f"disk/{image}", {"mode": "create", "size": size}
    elif _bytes(size) > (now := _size(image)):
        yield f"image {image} from {now} bytes to {size}", f"disk/{image}", {"mode": "resize", "size": size}
    if image not in target.get("disks", {}):
        yield f"{iqn}: {image}", f"targetlun/{iqn}", {"disk": image}


def _initiator(iqn, initiator, said, has):
    where = f"{iqn}/{initiator}"
    auth = {"username": said["user"], "password": __pillar__["ceph_secrets"][said["password"]]}
    if has is None:
        yield f"{iqn}: initiator {initiator}", f"client/{where}", {}
    if has is None or any(has["auth"][key] != value for key, value in auth.items()):
        form = {**auth, "mutual_username": "", "mutual_password": ""}
        yield f"{iqn}: user and password of {initiator}", f"clientauth/{where}", form
    for image in said["images"]:
        if has is None or image not in has["luns"]:
            yield f"{iqn}: {image} for {initiator}", f"clientlun/{where}", {"disk": image}


def _size(image):
    told = __pillar__["ceph"]["services"]["igw"]
    command = ["rbd", "--name", told["client"], "--format", "json", "info", image]
    return json.loads(__salt__["commands.run"](command))["size"]


def _bytes(size):
    return int(size[:-1]) * UNITS[size[-1]]


def _patiently(host, path):
    """What a gateway's API answers; one that starts is waited for."""
    end = time.monotonic() + START
    while True:
        try:
            return _call(host, path)
        except ConnectionError as err:
            if time.monotonic() > end:
                raise CommandExecutionError(
                    f"the iSCSI gateway {host} does not answer after {START} s ({err}): look at rbd-target-api there"
                ) from err
            time.sleep(1)


def _call(host, path, form=None, what="read"):
    """Call the API: GET without a form, else PUT. Passwords are in header and body, never in its address."""
    port = __pillar__["ceph"]["services"]["igw"]["port"]
    data = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(  # noqa: S310
        f"http://{host}:{port}/api/{path}", data=data, method="GET" if data is None else "PUT"
    )
    login = f"{USER}:{__pillar__['ceph_secrets']['iscsi-api']}".encode()
    request.add_header("Authorization", f"Basic {base64.b64encode(login).decode()}")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=CALL) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as err:
        raise CommandExecutionError(f"{what}: the iSCSI gateway says {err.code}: {_said(err.read())}") from err
    except OSError as err:  # nobody listens yet, or it ends
        raise ConnectionError(str(err)) from err


def _said(body):
    try:
        return json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:200]
