"""What an attacker tries at the page, through a real salt-api and master: nothing is shown, nothing is run."""

import contextlib
import http.client
import json
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest
import salt.client
import salt.config
import salt.exceptions
import salt.runner
import salt.utils.event
import salt.wheel
from pageserver import OPEN, PASSWORD, serving
from saltmaster import Master

from proposals.reference import machines
from runners.engine.page import page_rights

REFUSED = (salt.exceptions.TokenAuthenticationError, salt.exceptions.AuthorizationError)
pytestmark = pytest.mark.processes
NASTY = "<script>alert(1)</script><img src=x onerror=alert(1)>"
SECRET = "AQAsecretthatnobodyshouldsee=="
STOCK = ("events", "ws", "hook", "hook/x", "jobs", "minions", "keys", "stats", "token", "app", "static/x")
OTHERS = ("state.orch", "test.arg", "salt.cmd", "page.enable", "page.disable", "proposal.populate", "secret.rotate")
ODD = ("view.start ", "VIEW.START", "view.start;x", "viewxstart", "view", ".", "", None, 7, ["view.start"], {"a": 1})
BODIES = ("", "[]", "{", "7", '"x"', "null", "[" * 100_000, '[{"fun": "view.start"}]', "fun=view.start")


@pytest.fixture(scope="module")
def served(salt_factories):
    master = salt_factories.salt_master_daemon("page", factory_class=Master)
    folder = master.pillar / "inventory"
    folder.mkdir(parents=True)
    host = next(iter(machines.inventory("apollo")["hosts"].values()))
    host["ceph_disks"][0]["model"] = NASTY
    (folder / "node1.json").write_text(json.dumps(host))
    (folder / f"{NASTY.replace('/', '.')}.json").write_text(json.dumps(host))
    (master.pillar / "proposals").mkdir()
    with serving(master) as page:
        yield page


@pytest.fixture(scope="module")
def alice(served):
    return served.login("alice")


@pytest.fixture(scope="module")
def bob(served):
    return served.login("bob")


def test_who_may_look_sees_and_who_may_change_may(served, alice, bob):
    """What the rest of this file refuses is there: the search can find it."""
    assert served.ask(alice, "view.start").body["return"]["user"] == "alice"
    assert served.ask(bob, "operate.policy", text="x/*\n").body["return"]["wrong"]
    page = served.send("/")
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")


def test_without_a_login_nothing_is_answered(served, alice):
    for token in ("", "x", "0" * 64, "../" * 9 + "etc/passwd", alice[:-1], alice.upper() + "g"):
        for function in ("view.start", "operate.run"):
            assert served.ask(token, function).status == 401, token
    assert served.send("/run", {"fun": "view.start"}).status == 401
    for cookie in (f"session_id={alice}", f"token={alice}"):
        assert served.send("/run", {"fun": "view.start"}, Cookie=cookie).status == 401
    assert served.send("/run", {"fun": "view.start", "token": alice}).status == 401


@pytest.mark.parametrize(
    "told", [("alice", "wrong"), ("mallory", PASSWORD), ("^filename", PASSWORD), ("", ""), ("*", "x")]
)
def test_a_login_needs_a_password_and_a_right(served, told):
    said = served.send("/login", {"username": told[0], "password": told[1]})
    assert said.status in (400, 401) and "token" not in said.body
    assert served.send("/login", {"username": {"a": 1}, "password": PASSWORD, "eauth": "auto"}).status == 400
    assert served.send("/login", {"username": told[0], "password": "wrong", "eauth": "auto"}).status in (400, 401)


def test_a_token_ends_with_its_login_and_one_of_others_is_none(served):
    token = served.login("alice")
    assert served.ask(token, "view.start").status == 200
    assert served.send("/logout", {}, X_Auth_Token=token).status == 200
    assert served.ask(token, "view.start").status == 401
    with pytest.raises(REFUSED):  # Salt itself knows it no more
        directly(served, token, "view.start")
    assert served.ask(stock(served, "mallory")["token"], "view.start").status == 401


def test_who_may_look_may_change_nothing(served, alice):
    for function in page_rights.CHANGE:
        assert served.ask(alice, function, text="", stage="prep").status == 403
        with pytest.raises(REFUSED):
            directly(served, alice, function, text="", stage="prep")


@pytest.mark.parametrize("function", [*OTHERS, *ODD], ids=str)
def test_no_other_runner_is_run(served, bob, function):
    said = served.send("/run", {"fun": function}, X_Auth_Token=bob)
    assert said.status == 403 and "may not ask" in said.body["error"]


@pytest.mark.parametrize("function", OTHERS)
def test_salt_itself_refuses_what_the_page_would_not_ask(served, bob, function):
    """The second wall: the token's own rights, whoever asks with it."""
    assert directly(served, bob, "view.start")["user"] == "bob"
    with pytest.raises(REFUSED):
        directly(served, bob, function, mods="x", arg="x")
    refused = served.send("/run", {"client": "runner", "fun": function, "token": bob}, port=served.stock)
    assert refused.status == 401


def test_no_wheel_and_no_function_on_minions(served, bob):
    for more in ({"client": "wheel"}, {"client": "local", "tgt": "*"}, {"arg": ["x"]}, {"token": "x"}, {"kwargs": {}}):
        said = served.send("/run", {"fun": "view.start", **more}, X_Auth_Token=bob)
        assert said.status == 400, more
    opts = client(served)
    with salt.wheel.WheelClient(opts) as wheel, pytest.raises(REFUSED):
        wheel.cmd_sync({"fun": "key.list_all", "token": bob})
    with salt.client.LocalClient(mopts=opts) as local, pytest.raises(REFUSED):
        local.run_job("*", "test.ping", token=bob)


@pytest.mark.parametrize("key", ["pillar", "mods", "saltenv", "orchestration_jid", "file"])
def test_no_argument_that_is_not_the_functions_own(served, bob, key):
    said = served.ask(bob, "view.start", **{key: {"ceph_only": "x"}})
    assert "is not an argument" in said.body["return"]["error"]
    for told in ("__out", "__pub_user", "__user__", "__kwarg__"):
        assert served.ask(bob, "view.start", **{told: "root"}).status == 400
    assert served.send("/run", {"fun": "view.start", "kwarg": ["x"]}, X_Auth_Token=bob).status == 400


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:20] or "none")
def test_what_is_no_request_is_refused(served, bob, body):
    for path in ("/login", "/run", "/logout"):
        said = served.send(path, body, "POST", Content_Type="application/json", X_Auth_Token=bob)
        assert said.status == 400 and said.body["error"] == "a JSON object was expected"


@pytest.mark.parametrize("words", [{"name": "\ud800"}, {"\ud800": "x"}], ids=["value", "key"])
def test_what_is_no_utf8_is_refused_before_salt_breaks_over_it(served, bob, words):
    assert served.ask(bob, "view.proposal", **words).status == 400
    assert served.send("/login", {"username": "\ud800", "password": PASSWORD}).status == 400


@pytest.mark.parametrize("length", ["-1", "-262144", "x", ""])
def test_what_has_no_length_is_not_read(served, length):
    """A negative one would be read until the client hangs up, before anybody has logged in."""
    said = served.send("/run", "{}", "POST", Content_Type="application/json", Content_Length=length)
    assert said.status == 400


def test_what_is_too_large_is_not_read(served, bob):
    try:
        said = served.send("/run", "x" * 3_000_000, "POST", Content_Type="application/json", X_Auth_Token=bob)
    except urllib.error.URLError:  # it hangs up while we send
        return
    assert said.status == 413


def test_a_page_of_another_site_asks_in_vain(served, bob):
    ask = {"fun": "view.start"}
    evil = served.send("/run", ask, X_Auth_Token=bob, Origin="https://evil.example")
    assert evil.status == 403 and "user" not in json.dumps(evil.body)
    for origin in ("null", f"http://127.0.0.1:{served.port}", f"https://127.0.0.1:{served.stock}"):
        assert served.send("/run", ask, X_Auth_Token=bob, Origin=origin).status == 403
    assert served.send("/run", ask, X_Auth_Token=bob, Origin=f"https://127.0.0.1:{served.port}").status == 200
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json"):  # no preflight
        assert served.send("/run", json.dumps(ask), "POST", Content_Type=kind, X_Auth_Token=bob).status == 415
    preflight = served.send("/run", method="OPTIONS", Origin="https://evil.example")
    answers = [evil, preflight, served.send("/", Origin="https://evil.example"), served.send("/none")]
    assert preflight.status == 405
    for each in answers:
        assert not [name for name in each.headers if name.startswith("access-control") or name == "set-cookie"]
        assert "frame-ancestors 'none'" in each.headers["content-security-policy"]
        assert each.headers["x-content-type-options"] == "nosniff"


def test_the_event_stream_tells_all_and_the_page_has_none(served, alice):
    """Of Salt's own module whoever can log in reads the whole bus: a secret is planted there and read."""
    mallory = stock(served, "mallory")["token"]
    read = urllib.request.Request(f"http://127.0.0.1:{served.stock}/events", headers={"X-Auth-Token": mallory})
    with urllib.request.urlopen(read, timeout=60) as stream:
        ended = threading.Event()
        threading.Thread(target=plant, args=(served.master.opts(), ended), daemon=True).start()
        line = b""
        while SECRET.encode() not in line:
            line = stream.readline()
        ended.set()
    for path in STOCK:
        for method in ("GET", "POST"):
            said = served.send(f"/{path}", method=method, X_Auth_Token=alice, Cookie=f"session_id={alice}")
            assert said.status in (404, 405, 411), (path, said)
            assert SECRET not in str(said.body)


def test_salts_own_module_is_as_it_was_read(served):
    """Why the page does without it: a cookie is a login, and pages of any origin may use it."""
    session = stock(served, "bob")
    asked = [{"client": "runner", "fun": "view.start"}]
    kind = {"Content_Type": "text/plain", "Origin": "https://evil.example"}
    said = served.send("/", json.dumps(asked), port=served.stock, Cookie=f"session_id={session['token']}", **kind)
    assert said.status == 200 and said.body["return"][0]["user"] == "bob"
    assert said.headers["access-control-allow-origin"] == "https://evil.example"
    assert said.headers["access-control-allow-credentials"] == "true"


@pytest.mark.parametrize(
    "path",
    [
        *("/../../../etc/passwd", "/..%2f..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd"),
        *(
            "/index.html%00.js",
            "/page.css/../../install/record.py",
            "/../install/record.py",
            "/.",
            "/..",
        ),
        *("/static/../../../etc/passwd", "/index.html?x=1", "/INDEX.HTML", "/login", "/run", "/answer", "/files"),
    ],
)
def test_no_path_leads_out(served, path):
    asked = http.client.HTTPSConnection("127.0.0.1", served.port, context=OPEN, timeout=60)
    asked.request("GET", path)
    said = asked.getresponse()
    body = said.read().decode()
    assert said.status in (400, 404, 405), body
    assert "root:" not in body and "import" not in body and "Traceback" not in body


def test_what_a_minion_says_is_data(served, alice):
    said = served.ask(alice, "view.hosts")
    assert said.headers["content-type"] == "application/json" and said.headers["x-content-type-options"] == "nosniff"
    assert "node1" in said.body["return"]["groups"][0]["hosts"]
    assert "not a minion" in str(said.body["return"]["lines"]) or "minion" in str(said.body["return"]["lines"])


def test_who_is_silent_holds_nobody_back(served):
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", served.port))) for _ in range(3)]
        assert served.send("/").status == 200
        for each in silent:  # which are waited for still
            each.setblocking(False)
            with pytest.raises(BlockingIOError):
                each.recv(1)


@pytest.mark.parametrize("odd", [b"", b"\x16\x03\x01", b"\x00" * 600, b"GET / HTTP/1.1\r\n\r\n"])
def test_what_is_no_tls_leaves_no_traceback(served, odd):
    log = served.master.root / "salt-api.log"
    before = log.stat().st_size
    said = b""
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as raw, contextlib.suppress(OSError):
        raw.sendall(odd)
        raw.shutdown(socket.SHUT_WR)  # fails where the page has answered and gone
        said = raw.makefile("rb").read()
    assert odd[:3] != b"GET" or b"only HTTPS is spoken" in said
    assert served.send("/").status == 200
    assert b"Traceback" not in log.read_bytes()[before:]


def test_without_tls_nothing_is_said(served):
    plain = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    plain.request("GET", "/")
    try:
        said = plain.getresponse()
        assert said.status == 400 and b"<html" not in said.read()
    except (http.client.HTTPException, OSError):
        pass


def stock(served, user):
    """Log in at Salt's own module."""
    told = {"username": user, "password": PASSWORD, "eauth": "sharedsecret"}
    return served.send("/login", told, port=served.stock).body["return"][0]


def directly(served, token, function, **words):
    """Ask the master itself with a token, past the page's server."""
    with salt.runner.RunnerClient(client(served)) as runner:
        return runner.cmd_sync({"fun": function, "kwarg": words, "token": token})


def client(served):
    """The options of a program that asks the master."""
    return salt.config.client_config(served.master.config_file)


def plant(opts, ended):
    """Put a secret on the master's bus until somebody has read it."""
    with salt.utils.event.get_event("master", sock_dir=opts["sock_dir"], opts=opts, listen=False) as bus:
        while not ended.is_set():
            bus.fire_event({"key": SECRET}, "salt/planted")
            time.sleep(0.2)
