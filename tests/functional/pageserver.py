"""A real master and a real salt-api that serve the page on loopback, and a client that sends what it is told to."""

import json
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import salt.utils.yaml
from browser import Browser, browser
from saltmaster import CHECKOUT, Master

from proposals.reference import machines

PASSWORD = "correct horse battery"
SALT_API = "from salt.scripts import salt_api; salt_api()"
PATIENCE = 120  # seconds: salt-api has to load
OPEN = ssl._create_unverified_context()  # whose certificate it is, other tests look at


class Said(NamedTuple):
    """An answer: status, headers with names in lower case, JSON or text."""

    status: int
    headers: dict[str, str]
    body: Any


class Served(NamedTuple):
    """A master whose page is served: ``alice`` may look, ``bob`` may change, both with PASSWORD."""

    master: Master
    port: int
    stock: int  # of Salt's own rest_cherrypy, which the page does without

    def send(self, path: str, body: Any = None, method: str = "", port: int = 0, **headers: str) -> Said:
        """Send a request as it is told; a body that is no text is sent as JSON."""
        scheme, told = ("http", None) if port else ("https", OPEN)
        if body is not None and not isinstance(body, str):
            body, headers = json.dumps(body), {"Content-Type": "application/json"} | headers
        request = urllib.request.Request(
            f"{scheme}://127.0.0.1:{port or self.port}{path}",
            None if body is None else body.encode(),
            {key.replace("_", "-"): value for key, value in headers.items()},
            method=method or ("GET" if body is None else "POST"),
        )
        try:
            with urllib.request.urlopen(request, context=told, timeout=120) as answer:
                return _said(answer.status, answer)
        except urllib.error.HTTPError as err:
            return _said(err.code, err)

    def login(self, user: str, password: str = PASSWORD) -> str:
        """Log in; the token."""
        said = self.send("/login", {"username": user, "password": password})
        assert said.status == 200, said
        return said.body["token"]

    def ask(self, token: str, fun: str, **kwarg: Any) -> Said:
        """Ask a function as the page does."""
        return self.send("/run", {"fun": fun, "kwarg": kwarg}, X_Auth_Token=token)


def _said(status: int, answer: Any) -> Said:
    text = answer.read().decode()
    headers = {key.lower(): value for key, value in answer.headers.items()}
    return Said(status, headers, json.loads(text) if "json" in headers.get("content-type", "") else text)


@contextmanager
def apollo(made: Any, name: str, model: str) -> Iterator[Served]:
    """A served master of a name that discovery has seen apollo's hosts for; one disk has that model.

    made
        Salt's factories for tests."""
    master = made.salt_master_daemon(name, factory_class=Master)
    folder = master.pillar / "inventory"
    folder.mkdir(parents=True)
    hosts = machines.inventory("apollo")["hosts"]
    hosts["osdnode1"]["ceph_disks"][0]["model"] = model
    for host, told in hosts.items():
        (folder / f"{host}.json").write_text(json.dumps(told))
    (master.pillar / "proposals").mkdir()
    with serving(master) as page:
        for host in hosts:
            master.accept(host)
        yield page


@contextmanager
def serving(master: Master) -> Iterator[Served]:
    """Enable the page on a master that does not run yet, start it and salt-api."""
    port, stock = free(), free()
    own = {"sharedsecret": PASSWORD, "rest_cherrypy": {"port": stock, "host": "127.0.0.1", "disable_ssl": True}}
    # What the page does without gets more than a site would give it: the tests say what that would cost.
    own |= {"timeout": 2, "gather_job_timeout": 3}  # nobody answers here
    own |= {"netapi_enable_clients": ["runner", "local", "wheel"]}
    (master.root / "conf/master.d/own.conf").write_text(salt.utils.yaml.safe_dump(own))
    told = {"readers": "alice", "operators": "bob", "by": "sharedsecret", "host": "127.0.0.1", "port": port}
    said = master.runners()["page.enable"](**told)
    assert "error" not in said, said
    log = (master.root / "salt-api.log").open("wb")
    words = [sys.executable, "-c", SALT_API, "-c", str(Path(master.config_file).parent), "-l", "warning"]
    with log, master.started():
        api = subprocess.Popen(words, stdout=log, stderr=log, cwd=CHECKOUT)
        try:
            for each in (port, stock):
                _wait(each, api, master.root / "salt-api.log")
            yield Served(master, port, stock)
        finally:
            api.terminate()
            api.wait(60)


def free() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(port: int, api: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert api.poll() is None, log.read_text()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(log.read_text())


@contextmanager
def opened(page: Served) -> Iterator[Browser]:
    """A browser that shows the page's login."""
    with browser(free) as window:
        window.open(f"https://127.0.0.1:{page.port}/", "document.querySelectorAll('#views a').length")
        yield window


def enter(window: Browser, user: str, password: str = PASSWORD) -> None:
    """Log in by the page's own form."""
    window.type("#username", user)
    window.type("#password", password)
    window.click("#login [type=submit]")
