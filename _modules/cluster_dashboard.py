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
STORE = "mgr/dashboard/"  # where the cluster keeps what the module shows
OURS = "halocline/dashboard-certificate"  # in the cluster: digests of the certificates that a stage set last
KEPT = "halocline/dashboard-admin"  # and whom a password was set for, with a hash to know it by
END = "-----END CERTIFICATE-----"


def pending(certificate, key, port=None, given=False, instead_of=()):
    """Return what stands between the cluster and a dashboard served as wanted, a line each; none where it is.

    certificate, key
        Files on this host, PEM.
    port
        The managers' TCP port for it; without one the cluster's setting.
    given
        Whether the site gave them. Else a certificate that somebody gave the cluster by hand stays.
    instead_of
        Modules that cannot run beside it.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard.pending /etc/ceph/dashboard.crt /etc/ceph/dashboard.key
    """
    enabled, wanted = _enabled(), _wanted(certificate, key, given)
    lines = [f"module {name} is enabled" for name in instead_of if name in enabled]
    lines += [f"the {name} is another one" for name, text in wanted.items() if _stored(f"{STORE}{name}") != text]
    if "dashboard" not in enabled:
        return [*lines, "module dashboard is not enabled"]
    return lines or _unserved(wanted["crt"], port)


def serve(certificate, key, port=None, given=False, instead_of=()):
    """Let the managers serve the dashboard (arguments as for ``pending``); return when they do, or raise.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard.serve /etc/ceph/dashboard.crt /etc/ceph/dashboard.key
    """
    tell, enabled, wanted = __salt__["cluster_cli.tell"], _enabled(), _wanted(certificate, key, given)
    for name in sorted(enabled & set(instead_of)):
        tell(["mgr", "module", "disable", name])
    if wanted["crt"] == _read(certificate):  # the one before too: a run may end between this and the next
        tell(["config-key", "set", OURS, " ".join(map(_digest, (_stored(f"{STORE}crt") or "", wanted["crt"])))])
    for name, text in wanted.items():
        if _stored(f"{STORE}{name}") != text:
            tell(["config-key", "set", f"{STORE}{name}", "-i", "-"], stdin=text)
    if "dashboard" in enabled:  # it reads port and certificate at its start alone
        tell(["mgr", "module", "disable", "dashboard"])
    _tell(["mgr", "module", "enable", "dashboard"])

    def shown():
        if lines := _unserved(wanted["crt"], port):
            raise CommandExecutionError("; ".join(lines))

    _until(shown)


def password_differs(user):
    """Return whether the password that this host was told is not the one that was set last, or for another user.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard.password_differs admin
    """
    kept = json.loads(_stored(KEPT) or "{}")
    return not kept or kept["user"] != user or kept["hash"] != _hash(_password(), kept["salt"])


def set_password(user):
    """Give an administrator of the dashboard the password that this host was told; make the user where it is missing.

    False, and no password is given, where a user of this name was there before any stage gave one. Ceph's rules for
    passwords are passed over: they refuse any that holds such words as "osd", as a random one may.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard.set_password admin
    """
    password, words = _password(), [user, "-i", "-", "--force-password"]
    there = user in json.loads(_tell(["dashboard", "ac-user-show"]))
    mine = not there or json.loads(_stored(KEPT) or "{}").get("user") == user
    if not there:
        _tell(["dashboard", "ac-user-create", *words, "administrator"], password)
    elif mine:
        _tell(["dashboard", "ac-user-set-password", *words], password)
    salt = secrets.token_hex(16)
    kept = json.dumps({"user": user, "salt": salt, "hash": _hash(password, salt)})
    __salt__["cluster_cli.tell"](["config-key", "set", KEPT, "-i", "-"], stdin=kept)
    return mine


def gateways(wanted, test=False):
    """Let the dashboard know iSCSI gateways, by the password that this host was told; return those that it did not.

    Those that it knows beside them stay.

    wanted
        ``{host name: [user, HOST:PORT]}``.
    test
        Only say which.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard.gateways '{}' test=True
    """
    if not wanted:
        return []
    tell = __salt__["cluster_cli.tell"] if test else _tell  # before the first run nobody answers: no need to wait
    known = json.loads(tell(["dashboard", "iscsi-gateway-list"]))["gateways"]
    password = __pillar__["ceph_secrets"]["dashboard-iscsi"]
    urls = {name: f"http://{user}:{password}@{target}" for name, (user, target) in wanted.items()}
    todo = {name: url for name, url in urls.items() if known.get(name, {}).get("service_url") != url}
    for name, url in todo.items() if not test else ():
        if name in known:
            _tell(["dashboard", "iscsi-gateway-rm", name])
        _tell(["dashboard", "iscsi-gateway-add", "-i", "-", name], url)
    return sorted(todo)


def _password():
    return __pillar__["ceph_secrets"]["dashboard"]


def _hash(password, salt):
    return hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), n=2**14, r=8, p=1).hex()


def _enabled():
    return set(__salt__["cluster_cli.ask"](["mgr", "module", "ls"])["enabled_modules"])


def _wanted(certificate, key, given):
    """What the managers are to serve: this host's files, or what somebody gave the cluster by hand and no stage did."""
    stored = {name: _stored(f"{STORE}{name}") for name in ("crt", "key")}
    if stored["crt"] and not given and _digest(stored["crt"]) not in (_stored(OURS) or ""):
        return stored
    return {"crt": _read(certificate), "key": _read(key)}


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path):
    """A file's text; empty where it is not there yet, as in test mode."""
    return Path(path).read_text(encoding="ascii").strip() if Path(path).exists() else ""


def _stored(name):
    """A text that the cluster keeps; ``None`` where it keeps none of that name."""
    if name not in __salt__["cluster_cli.ask"](["config-key", "ls"]):
        return None
    return __salt__["cluster_cli.tell"](["config-key", "get", name]).strip()


def _unserved(certificate, port):
    """What is not so where the active manager says that it serves the dashboard."""
    ask, tell = __salt__["cluster_cli.ask"], __salt__["cluster_cli.tell"]
    url = ask(["mgr", "services"]).get("dashboard")
    if not url:
        return ["no manager serves it"]
    parts = urlsplit(url)
    wanted = port or int(tell(["config", "get", "mgr", "mgr/dashboard/ssl_server_port"]))
    if parts.scheme != "https" or parts.port != wanted:
        return [f"it is served at {url}, expected https and port {wanted}"]
    try:
        shown = ssl.get_server_certificate((parts.hostname, parts.port), timeout=10)
    except OSError as err:
        return [f"{url} does not answer: {err}"]
    first = certificate[: certificate.find(END)] + END  # the host's own, of a chain
    if "".join(shown.split()) != "".join(first.split()):
        return [f"{url} shows another certificate"]
    return []


def _tell(words, stdin=None):
    """Tell the managers, who know nothing of their modules while they are starting."""
    return _until(lambda: __salt__["cluster_cli.tell"](words, stdin=stdin))


def _until(what):
    """Try until it does not raise any more."""
    end = time.monotonic() + LIMIT
    while True:
        try:
            return what()
        except CommandExecutionError as err:
            if time.monotonic() > end:
                raise CommandExecutionError(f"after {LIMIT} s: {err}") from err
        time.sleep(1)
