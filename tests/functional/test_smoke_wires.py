"""A smoke test's clients of HTTP over sockets, against servers that are played: also ones that hang."""

import contextlib
import http.server
import socket
import ssl
import subprocess
import threading

import pytest
from salt.exceptions import CommandExecutionError
from wires import hangs, listening


def test_nobody_listens(modules):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    assert "refused" in modules["smoke_nfs.attempt"]("node1", "127.0.0.1", port, [])["failed"][0]
    with pytest.raises(CommandExecutionError, match="refused"):
        modules["smoke_web.fetch"](f"http://127.0.0.1:{port}/")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status, text = (503, b"sick\n") if self.path == "/sick?x=1" else (200, b'{"a": 1}')
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Two certificates, with their keys, that no authority signed and that name another host."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("own", "other"):
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        command += ["-subj", f"/CN={name}", "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt"]
        subprocess.run(command, check=True, capture_output=True)
    return folder


@contextlib.contextmanager
def web(certificates=None):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if certificates:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{certificates}/own.crt", f"{certificates}/own.key")
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.slow
def test_a_web_server_that_answers_and_one_that_is_sick(modules, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with web() as port:
        assert modules["smoke_web.fetch_json"](f"http://127.0.0.1:{port}/") == {"a": 1}
        with pytest.raises(CommandExecutionError) as err:
            modules["smoke_web.fetch"](f"http://127.0.0.1:{port}/sick?x=1")
        assert str(err.value) == f"GET http://127.0.0.1:{port}/sick: status 503: sick"


@pytest.mark.slow
def test_the_certificate_that_the_site_gave_is_trusted_and_no_other(modules, certificates):
    with web(certificates) as port:
        url = f"https://127.0.0.1:{port}/"
        own, other = (certificates / f"{name}.crt" for name in ("own", "other"))
        assert modules["smoke_web.fetch"](url, trusted=own.read_text() + other.read_text())["status"] == 200
        for trusted in (other.read_text(), None):
            with pytest.raises(CommandExecutionError, match="(?i)certificate"):
                modules["smoke_web.fetch"](url, trusted=trusted)


def test_a_web_server_that_hangs_is_ended_by_its_limit(modules, python_module, monkeypatch):
    monkeypatch.setattr(python_module("smoke_web"), "LIMIT", 0.2)
    with listening(hangs) as port, pytest.raises(CommandExecutionError, match="no answer within"):
        modules["smoke_web.fetch"](f"http://127.0.0.1:{port}/")
    with (
        listening(lambda one: one.recv(4096) and one.sendall(b"\x15\x03")) as port,
        pytest.raises(CommandExecutionError),
    ):
        modules["smoke_web.fetch"](f"http://127.0.0.1:{port}/")
