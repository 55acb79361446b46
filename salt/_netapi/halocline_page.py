"""The page's server, run by ``salt-api``: static files, Salt's own login and its runner client, and nothing else.

Salt's own module ``rest_cherrypy`` is left out of it: to whoever can log in it tells the master's whole event bus
(``/events``, ``/ws``), whatever their rights; it takes a cookie for a login, and lets pages of every origin read its
answers. All three as read in ``salt/netapi/rest_cherrypy/app.py`` of Salt 3008.3;
``tests/functional/test_page_attacks.py`` asks both. Here is no cookie and no event, one client, a list of functions.

Its options are ``halocline_page`` in the master's configuration, written by ``salt-run page.enable``.
"""

import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import salt.auth
import salt.exceptions
import salt.netapi

try:
    import cheroot.server
    import cherrypy

    from runners.engine.page import page_tls
except ImportError:
    cherrypy = None

from runners.engine.page import page_rights

SECTION = "halocline_page"
FILES = Path(page_rights.__file__).resolve().parents[3] / "srv" / "page"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
TOKEN = re.compile(r"[0-9a-f]{32,128}")  # as salt.auth makes them; it names a file of the master's cache
LARGEST = 1 << 18  # bytes of a request
THREADS = 40  # each browser that watches a stage holds one
REFUSED = tuple(
    getattr(salt.exceptions, f"{name}Error")
    for name in ("Authentication", "Authorization", "EauthAuthentication", "TokenAuthentication")
)
PATIENCE = 3600  # seconds that a function may take: a dry run of a large cluster
HEADERS = [
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Strict-Transport-Security", "max-age=31536000"),
    ("Cache-Control", "no-store"),
]


class Login(NamedTuple):
    """Somebody who logged in here: what they may ask, until when (seconds since the epoch)."""

    user: str
    may: tuple[str, ...]
    expire: float


def __virtual__() -> bool | tuple[bool, str]:  # noqa: N807
    if SECTION not in __opts__:
        return False, f"the master's configuration has no {SECTION}"
    return True if cherrypy else (False, "Salt's Python has no CherryPy")


def start() -> None:
    """Serve the page until salt-api ends. There is no way without TLS."""
    wanted = __opts__[SECTION]
    opts = {**__opts__, "netapi_enable_clients": ["runner"], "rest_timeout": PATIENCE}
    cheroot.server.ssl_adapters[SECTION] = page_tls.Adapter  # type: ignore[attr-defined]  # its stub lacks it
    cherrypy.config.update(
        {
            "environment": "production",
            "server.socket_host": wanted["host"],
            "server.socket_port": wanted["port"],
            "server.thread_pool": THREADS,
            "server.max_request_body_size": LARGEST,
            "server.ssl_module": SECTION,
            "server.ssl_certificate": wanted["certificate"],
            "server.ssl_private_key": wanted["key"],
        }
    )
    everywhere = {
        "request.dispatch": cherrypy.dispatch.MethodDispatcher(),
        "request.process_request_body": False,
        "request.show_tracebacks": False,
        "error_page.default": _refused,
        "tools.response_headers.on": True,
        "tools.response_headers.headers": HEADERS,
        "tools.gzip.on": True,
        "tools.gzip.mime_types": ["text/*", "application/json"],
    }
    cherrypy.quickstart(Page(opts, wanted["by"]), "/", {"/": everywhere})


class Page:
    """The page's files, by their names alone; ``login``, ``logout`` and ``run`` below it."""

    exposed = True

    def __init__(self, opts: dict[str, Any], by: str) -> None:
        self.opts, self.by = opts, by
        self.logins: dict[str, Login] = {}
        self.lock = threading.Lock()
        self.files = {path.name: path.read_bytes() for path in FILES.iterdir() if path.suffix in TYPES}
        self.login, self.logout, self.run = (Asked(each) for each in (self._login, self._logout, self._run))

    def GET(self, *path: str, **query: str) -> bytes:  # noqa: N802
        name = "/".join(path) or "index.html"
        if query or name not in self.files:
            raise cherrypy.NotFound
        cherrypy.response.headers["Content-Type"] = f"{TYPES[Path(name).suffix]}; charset=utf-8"
        return self.files[name]

    def _login(self, asked: dict[str, Any], _: str) -> dict[str, Any]:
        user, password = asked.get("username"), asked.get("password")
        if not (isinstance(user, str) and isinstance(password, str) and user and password):
            raise cherrypy.HTTPError(400, "username and password, two texts, were expected")
        asked = {"username": user, "password": password, "eauth": self.by}
        token = salt.auth.Resolver(self.opts).mk_token(asked) or {}
        may = page_rights.granted(self.opts, token) if "token" in token else ()
        if not may:
            if "token" in token:
                self._forget(token["token"])
            raise cherrypy.HTTPError(401, "the user or the password is wrong, or the user has no right here")
        now = time.time()
        with self.lock:
            self.logins = {key: each for key, each in self.logins.items() if each.expire > now}
            self.logins[token["token"]] = Login(token["name"], may, token["expire"])
        return {"token": token["token"], "user": token["name"], "may": may, "expire": token["expire"]}

    def _logout(self, _: dict[str, Any], token: str) -> dict[str, Any]:
        self._known(token)
        with self.lock:
            self.logins.pop(token, None)
        self._forget(token)
        return {}

    def _run(self, asked: dict[str, Any], token: str) -> dict[str, Any]:
        login = self._known(token)
        function, words = asked.get("fun"), asked.get("kwarg", {})
        if function not in login.may:
            raise cherrypy.HTTPError(403, f"{login.user} may not ask for that here")
        if not isinstance(words, dict) or asked.keys() - {"fun", "kwarg"} or any(key[:2] == "__" for key in words):
            raise cherrypy.HTTPError(400, "fun and kwarg, a function and its arguments, were expected")
        with salt.netapi.NetapiClient(self.opts) as client:
            low = {"client": "runner", "fun": function, "kwarg": words, "token": token}
            return {"return": client.run(low)}

    def _forget(self, token: str) -> None:
        """Take a token out of the master's cache: the master itself takes no such request."""
        salt.auth.LoadAuth(self.opts).rm_token(token)

    def _known(self, token: str) -> Login:
        login = self.logins.get(token) if TOKEN.fullmatch(token) else None
        if login is None or login.expire <= time.time():
            raise cherrypy.HTTPError(401, "log in first")
        return login


class Asked:
    """An address that takes JSON by POST and answers JSON; Salt's errors become statuses without their details."""

    exposed = True

    def __init__(self, answer: Callable[[dict[str, Any], str], dict[str, Any]]) -> None:
        self.answer = answer

    def POST(self, **_: str) -> bytes:  # noqa: N802
        asked = _request()
        try:
            said = self.answer(asked, cherrypy.request.headers.get("X-Auth-Token", ""))
        except REFUSED as err:
            raise cherrypy.HTTPError(403, "Salt refused it: the login has ended, or its rights have") from err
        except (salt.exceptions.SaltDaemonNotRunning, salt.exceptions.SaltReqTimeoutError) as err:
            raise cherrypy.HTTPError(503, "the Salt master does not answer") from err
        except salt.exceptions.SaltClientTimeout as err:
            raise cherrypy.HTTPError(504, "the function has not ended yet") from err
        cherrypy.response.headers["Content-Type"] = "application/json"
        return json.dumps(said).encode()


def _request() -> dict[str, Any]:
    """What was sent. A form, a page of another origin and what is no JSON object are refused."""
    headers = cherrypy.request.headers
    if headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
        raise cherrypy.HTTPError(415, "Content-Type application/json was expected")
    if headers.get("Origin", cherrypy.request.base) != cherrypy.request.base:
        raise cherrypy.HTTPError(403, "a page of another origin may not ask here")
    try:
        length = int(headers.get("Content-Length", 0))  # a negative one would be read until the client hangs up
        asked = json.loads(cherrypy.request.rfile.read(length)) if 0 <= length <= LARGEST else None
        json.dumps(asked, ensure_ascii=False).encode()  # what is no UTF-8 Salt cannot pack
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise cherrypy.HTTPError(400, "a JSON object was expected")
    return asked


def _refused(status: str, message: str, traceback: str, version: str) -> bytes:
    cherrypy.response.headers["Content-Type"] = "application/json"
    return json.dumps({"error": message if status[:1] == "4" or status[:3] in ("503", "504") else "it failed"}).encode()
