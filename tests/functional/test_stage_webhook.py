"""A webhook is told of stages, by real requests; one that hangs, lies or is none holds no stage back."""

import contextlib
import http.server
import json
import queue
import socket
import threading
from contextlib import contextmanager

import pytest
from saltmaster import CHECKOUT, Master

from proposals.text.errors import ProposalError
from runners.engine.runs import stage_webhook

SECRET = "T0S3CRET"
# A stage that nobody answers: it fails in its first step.
BEGINS = """
begins:
  step.runner:
    - name: stage.begin
    - stage: prep
    - members: [node1]
"""


@pytest.fixture
def opts(tmp_path):
    return {"pillar_roots": {"base": [str(tmp_path), str(CHECKOUT / "pillar")]}}


@pytest.fixture
def hook(tmp_path):
    """A function of an address that writes it where the site does."""
    return lambda url, root=tmp_path: write(root, url)


def write(root, url):
    given = root / "ceph/keys/given"
    given.mkdir(parents=True, exist_ok=True)
    (given / stage_webhook.FILE).write_text(url + "\n")


@contextmanager
def server(status=200, location=None):
    """A server that takes what it is told; yields its address and a queue of that."""
    took = queue.Queue()

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            took.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            if location:
                self.send_header("Location", location)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{made.server_port}/{SECRET}", took
        finally:
            made.shutdown()
            thread.join()


@contextmanager
def hanging():
    """A server that takes every connection and answers none; at the end it closes all of them."""
    taken = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def take():
            while True:
                try:
                    taken.append(listening.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/{SECRET}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in taken:
                connection.close()


def test_it_is_told_as_json_and_without_secrets(opts, hook):
    with server() as (url, took):
        hook(url)
        assert stage_webhook.send(opts, {"stage": "prep", "reason": "key hush"}, lambda text: text.replace("hush", "*"))
        assert took.get(timeout=30) == {"stage": "prep", "reason": "key *"}


def test_a_site_without_one_tells_nobody(opts):
    assert not stage_webhook.send(opts, {})


@pytest.mark.parametrize("status", [301, 302, 307, 404, 500])
def test_what_it_refuses_is_said_and_another_address_is_not_gone_to(opts, hook, status):
    with server() as (other, never), server(status, other) as (url, took):
        hook(url)
        with pytest.raises(ProposalError, match=f"it answers with status {status}") as refused:
            stage_webhook.send(opts, {})
        assert took.get(timeout=30) == {} and never.empty()
    assert SECRET not in str(refused.value)


def test_one_that_does_not_listen_and_one_that_is_none(opts, hook):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for url, says in ((f"http://127.0.0.1:{port}/{SECRET}", "refused"), (f"file:///{SECRET}", "expected one line")):
        hook(url)
        with pytest.raises(ProposalError, match=says) as refused:
            stage_webhook.send(opts, {})
        assert SECRET not in str(refused.value)


def test_one_that_hangs_is_left_in_a_thread_that_ends_with_the_process(opts, hook, monkeypatch, caplog):
    with hanging() as url:
        hook(url)
        thread = stage_webhook.tell(opts, {"stage": "prep"})
        assert thread.daemon and thread.is_alive()
    thread.join(60)  # its server has gone
    assert not thread.is_alive()
    (said,) = [one.getMessage() for one in caplog.records if one.name == "runners.engine.runs.stage_webhook"]
    assert said.startswith("stage prep: the webhook in ") and SECRET not in said


@pytest.mark.slow
def test_one_that_answers_a_letter_at_a_time_is_not_waited_for(opts, hook, monkeypatch):
    monkeypatch.setattr(stage_webhook, "LIMIT", 1)

    def drip():
        connection, _ = listening.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not given_up.wait(0.2):  # each letter within the limit, all of them not
                connection.sendall(b"a")

    given_up = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip)
        thread.start()
        hook(f"http://127.0.0.1:{listening.getsockname()[1]}/{SECRET}")
        with pytest.raises(ProposalError, match="has not answered within 1 s") as refused:
            stage_webhook.send(opts, {})
        assert SECRET not in str(refused.value)
        given_up.set()
        thread.join()


@pytest.fixture(scope="module")
def master(salt_factories):
    made = salt_factories.salt_master_daemon("webhook", factory_class=Master)
    (made.root / "salt" / "begins.sls").write_text(BEGINS)
    return made


@pytest.mark.processes
def test_a_stage_tells_it_at_its_beginning_and_its_end(master):
    with server() as (url, took):
        write(master.root / "pillar", url)
        assert master.typed("webhook.test").stdout == "the webhook took it\n"
        assert took.get(timeout=30)["event"] == "test"
        assert master.typed("state.orch", "begins").returncode == 1
        begun, ended = took.get(timeout=60), took.get(timeout=60)
    assert (begun["event"], begun["stage"]) == ("begin", "prep")
    assert (ended["event"], ended["jid"]) == ("failed", begun["jid"])
    (ran,) = master.asked("history.show").data["entries"]
    assert (ran["user"], ran["what"], ran["result"]) == (begun["user"], "state.orch begins", ended["result"])
    assert all(SECRET not in path.read_text() for path in (master.root / "run-logs").iterdir())


@pytest.mark.processes
def test_one_that_hangs_holds_no_stage_back(master):
    with hanging() as url:
        write(master.root / "pillar", url)
        assert master.typed("state.orch", "begins").returncode == 1  # as without one: within the limit of `typed`
