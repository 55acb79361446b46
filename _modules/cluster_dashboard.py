"""The Ceph Dashboard of the cluster, on a host with the admin's key: served as planned, its admin's password set once.

The plan is compared with what is served: the address that the managers' map names, the certificate that is shown
there. So an interrupted run is completed by the next one.
"""

import hashlib
import json
import secrets
import ssl
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 120  # seconds until the managers serve it: they start anew when a module comes or goes
STORE = "mgr/dashboard/"  # where the cluster keeps what the module shows
OURS = "halocline/dashboard-certificate"  # in the cluster: digests of the certificates that a stage set last
KEPT = "halocline/dashboard-admin"  # and whom a password was set for, with a hash to know it by
END = "-----END CERTIFICATE-----"


def pending(
    certificate: str, key: str, port: int | None = None, from_site: bool = False, instead_of: Collection[str] = ()
) -> list[str]:
    """Return what keeps the dashboard from being served as planned, a line each; none where it is.

    certificate, key
        Files on this host, PEM.
    port
        The managers' TCP port for it; without one the cluster's setting.
    from_site
        Whether they are the site's. Else a certificate that somebody gave the cluster by hand stays.
    instead_of
        Modules that cannot run beside it.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard.pending /etc/ceph/dashboard.crt /etc/ceph/dashboard.key
    """
    enabled, planned = _enabled(), _planned(certificate, key, from_site)
    lines = [f"module {name} is enabled" for name in instead_of if name in enabled]
    lines += [f"the {name} is another one" for name, text in planned.items() if _stored(f"{STORE}{name}") != text]
    if "dashboard" not in enabled:
        return [*lines, "module dashboard is not enabled"]
    return lines or _unserved(planned["crt"], port)


def serve(
    certificate: str, key: str, port: int | None = None, from_site: bool = False, instead_of: Collection[str] = ()
) -> None:
    """Let the managers serve the dashboard (arguments as for ``pending``); raise where they do not.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard.serve /etc/ceph/dashboard.crt /etc/ceph/dashboard.key
    """
    tell, enabled, planned = __salt__["cluster_cli.tell"], _enabled(), _planned(certificate, key, from_site)
    for name in sorted(enabled & set(instead_of)):
        tell(["mgr", "module", "disable", name])
    if planned["crt"] == _read(certificate):  # the one before too: a run may end between this and the next
        tell(["config-key", "set", OURS, " ".join(map(_digest, (_stored(f"{STORE}crt") or "", planned["crt"])))])
    for name, text in planned.items():
        if _stored(f"{STORE}{name}") != text:
            tell(["config-key", "set", f"{STORE}{name}", "-i", "-"], stdin=text)
    if "dashboard" in enabled:  # it reads port and certificate at its start alone
        tell(["mgr", "module", "disable", "dashboard"])
    _tell(["mgr", "module", "enable", "dashboard"])

    def served() -> None:
        if lines := _unserved(planned["crt"], port):
            raise CommandExecutionError("; ".join(lines))

    halocline.until(served, LIMIT)


def password_differs(user: str) -> bool:
    """Return whether the password in this host's pillar is not the one that was set last, or was for another user.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard.password_differs admin
    """
    kept = json.loads(_stored(KEPT) or "{}")
    return not kept or kept["user"] != user or kept["hash"] != _hash(_password(), kept["salt"])


def set_password(user: str) -> bool:
    """Give an administrator of the dashboard the password in this host's pillar; make the user where it is missing.

    False, and no password is given, where a user of this name was there before any stage gave one. Ceph's rules for
    passwords are passed over: they refuse any that holds such words as "osd", as a random one may.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard.set_password admin
    """
    password, words = _password(), [user, "-i", "-", "--force-password"]
    there = user in json.loads(_tell(["dashboard", "ac-user-show"]))
    ours = not there or json.loads(_stored(KEPT) or "{}").get("user") == user
    if not there:
        _tell(["dashboard", "ac-user-create", *words, "administrator"], password)
    elif ours:
        _tell(["dashboard", "ac-user-set-password", *words], password)
    salt = secrets.token_hex(16)
    kept = json.dumps({"user": user, "salt": salt, "hash": _hash(password, salt)})
    __salt__["cluster_cli.tell"](["config-key", "set", KEPT, "-i", "-"], stdin=kept)
    return ours


def gateways(planned: Mapping[str, Sequence[str]], test: bool = False) -> list[str]:
    """Let the dashboard know iSCSI gateways, by the password in this host's pillar; return those that it did not.

    Those that it knows beside them stay.

    planned
        ``{host name: [user, HOST:PORT]}``.
    test
        Only say which.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard.gateways '{}' test=True
    """
    if not planned:
        return []
    tell = __salt__["cluster_cli.tell"] if test else _tell  # before the first run nobody answers: no need to wait
    listed = json.loads(tell(["dashboard", "iscsi-gateway-list"]))["gateways"]
    password = __pillar__["ceph_secrets"]["dashboard-iscsi"]
    urls = {name: f"http://{user}:{password}@{target}" for name, (user, target) in planned.items()}
    todo = {name: url for name, url in urls.items() if listed.get(name, {}).get("service_url") != url}
    for name, url in todo.items() if not test else ():
        if name in listed:
            _tell(["dashboard", "iscsi-gateway-rm", name])
        _tell(["dashboard", "iscsi-gateway-add", "-i", "-", name], url)
    return sorted(todo)


def _password() -> str:
    return __pillar__["ceph_secrets"]["dashboard"]


def _hash(password: str, salt: str) -> str:
    return hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), n=2**14, r=8, p=1).hex()


def _enabled() -> set[str]:
    return set(__salt__["cluster_cli.ask"](["mgr", "module", "ls"])["enabled_modules"])


def _planned(certificate: str, key: str, from_site: bool) -> dict[str, str]:
    """What the managers are to serve: this host's files, or what somebody gave the cluster by hand and no stage did."""
    stored = {name: _stored(f"{STORE}{name}") for name in ("crt", "key")}
    if stored["crt"] and not from_site and _digest(stored["crt"]) not in (_stored(OURS) or ""):
        return stored
    return {"crt": _read(certificate), "key": _read(key)}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: str) -> str:
    """A file's text; empty where it is not there yet, as in test mode."""
    return Path(path).read_text(encoding="ascii").strip() if Path(path).exists() else ""


def _stored(name: str) -> str | None:
    """A text that the cluster keeps; ``None`` where it keeps none of that name."""
    if name not in __salt__["cluster_cli.ask"](["config-key", "ls"]):
        return None
    return __salt__["cluster_cli.tell"](["config-key", "get", name]).strip()


def _unserved(certificate: str, port: int | None) -> list[str]:
    """What is not so where the active manager says that it serves the dashboard."""
    ask, tell = __salt__["cluster_cli.ask"], __salt__["cluster_cli.tell"]
    url = ask(["mgr", "services"]).get("dashboard")
    if not url:
        return ["no manager serves it"]
    parts = urlsplit(url)
    expected = port or int(tell(["config", "get", "mgr", "mgr/dashboard/ssl_server_port"]))
    if parts.scheme != "https" or parts.port != expected:
        return [f"it is served at {url}, expected https and port {expected}"]
    try:
        shown = ssl.get_server_certificate((parts.hostname, parts.port), timeout=10)
    except OSError as err:
        return [f"{url} does not answer: {err}"]
    first = certificate[: certificate.find(END)] + END  # the host's own, of a chain
    if "".join(shown.split()) != "".join(first.split()):
        return [f"{url} shows another certificate"]
    return []


def _tell(words: Sequence[str], stdin: str | None = None) -> str:
    """Tell the managers, who know nothing of their modules while they are starting."""
    return halocline.until(lambda: __salt__["cluster_cli.tell"](words, stdin=stdin), LIMIT)
