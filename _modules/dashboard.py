"""The Ceph Dashboard of the cluster, on a host with the admin's key: served as wanted, its admin's password set once.

What is wanted is compared with what is served: the address that the managers' map names, the certificate that is
shown there. So an interrupted run is completed by the next one.
"""

import hashlib
import json
import secrets
import ssl
import time
from pathlib import Path
from urllib.parse import urlsplit

from salt.exceptions import CommandExecutionError

LIMIT = 120  # seconds until the managers serve it: they start anew when a module comes or goes
KEPT = "halocline/dashboard-admin"  # in the cluster: whom a password was set for, and a hash to know it by
END = "-----END CERTIFICATE-----"


def pending(certificate, key, port, instead_of=()):
    """Return what stands between the cluster and a dashboard served as wanted, a line each; none where it is.

    certificate, key
        Files on this host, PEM.
    port
        The managers' TCP port for it.
    instead_of
        Modules that cannot run beside it.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' dashboard.pending /etc/ceph/dashboard.crt /etc/ceph/dashboard.key 8443
    """
    enabled = _enabled()
    lines = [f"module {name} is enabled" for name in instead_of if name in enabled]
    lines += [f"the {name} is another one" for name, text in _texts(certificate, key) if _stored(name) != text]
    if "dashboard" not in enabled:
        return [*lines, "module dashboard is not enabled"]
    return lines or _unserved(certificate, port)


def serve(certificate, key, port, instead_of=()):
    """Let the managers serve the dashboard (arguments as for ``pending``); return when they do, or raise.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' dashboard.serve /etc/ceph/dashboard.crt /etc/ceph/dashboard.key 8443
    """
    tell, enabled = __salt__["ceph_cli.tell"], _enabled()
    for name in enabled & set(instead_of):
        tell(["mgr", "module", "disable", name])
    for name, text in _texts(certificate, key):
        if _stored(name) != text:
            tell(["config-key", "set", f"mgr/dashboard/{name}", "-i", "-"], stdin=text)
    if "dashboard" in enabled:  # it reads port and certificate at its start alone
        tell(["mgr", "module", "disable", "dashboard"])
    # A manager that has just begun does not know its modules yet.
    _until(lambda: [] if tell(["mgr", "module", "enable", "dashboard"]) is not None else ["not enabled"])
    _until(lambda: _unserved(certificate, port))


def password_differs(user):
    """Return whether the password that this host was told is not the one that was set last, or for another user.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' dashboard.password_differs admin
    """
    if KEPT not in __salt__["ceph_cli.ask"](["config-key", "ls"]):
        return True
    kept = json.loads(__salt__["ceph_cli.tell"](["config-key", "get", KEPT]))
    return kept["user"] != user or kept["hash"] != _hash(_password(), kept["salt"])


def set_password(user):
    """Give an administrator of the dashboard the password that this host was told; make the user where it is missing.

    Ceph's rules for passwords are passed over: they refuse any that holds such words as "osd", as a random one may.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' dashboard.set_password admin
    """
    tell, password = __salt__["ceph_cli.tell"], _password()
    words = [user, "-i", "-", "--force-password"]
    create = ["dashboard", "ac-user-create", *words, "administrator"]  # says so where the user exists, and leaves it
    _until(lambda: [] if tell(create, stdin=password) is not None else ["no user"])
    tell(["dashboard", "ac-user-set-password", *words], stdin=password)
    salt = secrets.token_hex(16)
    kept = json.dumps({"user": user, "salt": salt, "hash": _hash(password, salt)})
    tell(["config-key", "set", KEPT, "-i", "-"], stdin=kept)


def _password():
    return __pillar__["ceph_secrets"]["dashboard"]


def _hash(password, salt):
    return hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), n=2**14, r=8, p=1).hex()


def _enabled():
    return set(__salt__["ceph_cli.ask"](["mgr", "module", "ls"])["enabled_modules"])


def _texts(certificate, key):
    return [("crt", _read(certificate)), ("key", _read(key))]


def _read(path):
    """A file's text; empty where it is not there yet, as in test mode."""
    return Path(path).read_text(encoding="ascii").strip() if Path(path).exists() else ""


def _stored(name):
    """What the managers are to serve; ``None`` where nothing is stored."""
    known = f"mgr/dashboard/{name}"
    if known not in __salt__["ceph_cli.ask"](["config-key", "ls"]):
        return None
    return __salt__["ceph_cli.tell"](["config-key", "get", known]).strip()


def _unserved(certificate, port):
    """What is not so where the active manager says that it serves the dashboard."""
    url = __salt__["ceph_cli.ask"](["mgr", "services"]).get("dashboard")
    if not url:
        return ["no manager serves it"]
    parts = urlsplit(url)
    if parts.scheme != "https" or parts.port != port:
        return [f"it is served at {url}, expected https and port {port}"]
    try:
        shown = ssl.get_server_certificate((parts.hostname, parts.port), timeout=10)
    except OSError as err:
        return [f"{url} does not answer: {err}"]
    wanted = _read(certificate)[: _read(certificate).find(END)] + END  # the host's own, of a chain
    if "".join(shown.split()) != "".join(wanted.split()):
        return [f"{url} shows another certificate"]
    return []


def _until(what):
    """Try until nothing is wrong any more; raise with what still is."""
    end = time.monotonic() + LIMIT
    while True:
        try:
            wrong = what()
        except CommandExecutionError as err:
            wrong = [str(err)]
        if not wrong:
            return
        if time.monotonic() > end:
            raise CommandExecutionError(f"after {LIMIT} s: {'; '.join(wrong)}")
        time.sleep(1)
