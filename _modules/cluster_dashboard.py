"""The Ceph Dashboard of the cluster, on a host with the admin's key: served as planned.

The plan is compared with what is served: the address that the managers' map names, the certificate that is shown
there. So an interrupted run is completed by the next one.
"""

import hashlib
import re
import ssl
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import halocline
from salt.exceptions import CommandExecutionError

STARTING = 30  # seconds until managers that start anew serve it again
LIMIT = 120  # seconds until the managers serve it: they start anew when a module comes or goes
STORE = "mgr/dashboard/"  # where the cluster keeps what the module shows
OURS = "halocline/dashboard-certificate"  # in the cluster: digests of the certificates that a stage set last
PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.S)  # a site's file may say more before


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
    seen = _seen()
    enabled, planned = seen["enabled"], _planned(seen, certificate, key, from_site)
    lines = [f"module {name} is enabled" for name in instead_of if name in enabled]
    lines += [f"the {name} is another one" for name, text in planned.items() if seen["stored"].get(name) != text]
    if "dashboard" not in enabled:
        return [*lines, "module dashboard is not enabled"]
    if lines or not _unserved(planned["crt"], port, seen["url"]):
        return lines
    try:  # managers that start anew, as where another module came or went, will serve it by themselves
        halocline.until(lambda: _serves(planned["crt"], port), STARTING)
    except CommandExecutionError as err:
        return [str(err)]
    return []


def serve(
    certificate: str, key: str, port: int | None = None, from_site: bool = False, instead_of: Collection[str] = ()
) -> None:
    """Let the managers serve the dashboard (arguments as for ``pending``); raise where they do not.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_dashboard.serve /etc/ceph/dashboard.crt /etc/ceph/dashboard.key
    """
    tell, seen = __salt__["cluster_cli.tell"], _seen()
    enabled, planned = seen["enabled"], _planned(seen, certificate, key, from_site)
    for name in sorted(enabled & set(instead_of)):
        tell(["mgr", "module", "disable", name])
    if planned["crt"] == _read(certificate):  # the one before too: a run may end between this and the next
        tell(["config-key", "set", OURS, " ".join(map(_digest, (seen["stored"].get("crt", ""), planned["crt"])))])
    for name, text in planned.items():
        if seen["stored"].get(name) != text:
            tell(["config-key", "set", f"{STORE}{name}", "-i", "-"], stdin=text)
    if "dashboard" in enabled:  # it reads port and certificate at its start alone
        tell(["mgr", "module", "disable", "dashboard"])
    __salt__["cluster_cli.tell_mgr"](["mgr", "module", "enable", "dashboard"])
    halocline.until(lambda: _serves(planned["crt"], port), LIMIT)


def _serves(certificate: str, port: int | None) -> None:
    """Raise CommandExecutionError where the managers do not serve the dashboard as planned."""
    if lines := _unserved(certificate, port, _seen()["url"]):
        raise CommandExecutionError("; ".join(lines))


def _seen() -> dict[str, Any]:
    """What the cluster says, over one connection: the modules that are enabled, the certificate and key that it
    keeps, the digests of ours, and where the dashboard is served.
    """
    asked = [
        ["mgr", "module", "ls"],
        *(["config-key", "dump", prefix] for prefix in (STORE, OURS)),
        ["mgr", "services"],
    ]
    modules, kept, ours, services = __salt__["cluster_cli.ask_all"](asked)
    stored = {name: kept[f"{STORE}{name}"].strip() for name in ("crt", "key") if f"{STORE}{name}" in kept}
    enabled = set(modules["enabled_modules"])
    return {"enabled": enabled, "stored": stored, "ours": ours.get(OURS, ""), "url": services.get("dashboard")}


def _planned(seen: Mapping[str, Any], certificate: str, key: str, from_site: bool) -> dict[str, str]:
    """What the managers are to serve: this host's files, or what somebody gave the cluster by hand and no stage did."""
    stored = seen["stored"]
    if stored.get("crt") and not from_site and _digest(stored["crt"]) not in seen["ours"]:
        return {"crt": stored["crt"], "key": stored.get("key", "")}
    return {"crt": _read(certificate), "key": _read(key)}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: str) -> str:
    """A file's text; empty where it is not there yet, as in test mode."""
    return Path(path).read_text(encoding="utf-8").strip() if Path(path).exists() else ""


def _unserved(certificate: str, port: int | None, url: str | None) -> list[str]:
    """What is not so at the address where the active manager says that it serves the dashboard."""
    if not url:
        return ["no manager serves it"]
    parts = urlsplit(url)
    expected = port or int(__salt__["cluster_cli.tell"](["config", "get", "mgr", "mgr/dashboard/ssl_server_port"]))
    if parts.scheme != "https" or not parts.hostname or parts.port != expected:
        return [f"it is served at {url}, expected https and port {expected}"]
    try:
        shown = ssl.get_server_certificate((parts.hostname, parts.port), timeout=10)
    except OSError as err:
        return [f"{url} does not answer: {err}"]
    if _first(shown) != _first(certificate):
        return [f"{url} shows another certificate"]
    return []


def _first(text: str) -> str:
    """A file's first certificate, which is the host's own of a chain, however its lines are broken."""
    found = PEM.search(text)
    return "".join(found[0].split()) if found else ""
