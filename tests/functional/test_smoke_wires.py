"""A smoke test's clients of HTTP and iSCSI over sockets, against servers that are played: also ones that hang."""

import contextlib
import http.server
import socket
import ssl
import struct
import subprocess
import threading

import pytest
from salt.exceptions import CommandExecutionError
from wires import closes, exactly, hangs, listening


def portal(targets, status=0, rounds=1):
    """An iSCSI portal that ends a login after some rounds and names its targets."""

    def serve(connection):
        left, count = rounds, 0
        while True:
            header = exactly(connection, 48)
            length = int.from_bytes(header[5:8], "big")
            data = exactly(connection, length + -length % 4)
            answer = bytearray(48)
            answer[24:28], text, count = struct.pack(">I", count), b"", count + 1
            if header[0] == 0x43:
                left -= 1
                assert left < rounds - 1 or b"SessionType=Discovery\0" in data
                answer[0], answer[1] = 0x23, 0x87 if left == 0 else 0x04
                answer[36:38] = struct.pack(">H", status)
            else:
                assert header[0] == 0x44 and data.startswith(b"SendTargets=All\0")
                assert int.from_bytes(header[28:32], "big") == count - 1
                answer[0], answer[1] = 0x24, 0x80
                text = b"".join(f"TargetName={name}\0TargetAddress=127.0.0.1:3260,1\0".encode() for name in targets)
            answer[5:8] = len(text).to_bytes(3, "big")
            connection.sendall(bytes(answer) + text + b"\0" * (-len(text) % 4))

    return serve


TARGET = "iqn.2026-11.com.example:backup"


@pytest.mark.parametrize(
    ("server", "wrong"),
    [
        (portal([TARGET]), None),
        (portal([TARGET, "iqn.2026-11.com.example:other"], rounds=3), None),
        (portal([], status=0x0201), None),  # a site's own password for discovery
        (portal(["iqn.2026-11.com.example:other"]), f"does not name {TARGET}"),
        (portal([], status=0x0301), "refuses the login: status 0x0301"),
        (portal([TARGET], rounds=99), "the login does not end"),
        (hangs, "no answer within"),
        (closes, "closes the connection"),
        (lambda connection: connection.recv(4096) and connection.sendall(b"x" * 48), "none of iSCSI"),
    ],
)
def test_portals_log_a_client_in_and_name_their_targets(modules, python_module, monkeypatch, server, wrong):
    module = python_module("smoke_iscsi")
    monkeypatch.setattr(module, "LIMIT", 1)
    with listening(server) as port:
        monkeypatch.setattr(module, "PORT", port)
        told = modules["smoke_iscsi.portals"](["127.0.0.1"], [TARGET])
    assert (len(told["passed"]), len(told["failed"])) == ((1, 0) if wrong is None else (0, 1)), told
    assert wrong is None or wrong in told["failed"][0]


def test_nobody_listens(modules, python_module, monkeypatch):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    monkeypatch.setattr(python_module("smoke_iscsi"), "PORT", port)
    assert "refused" in modules["smoke_iscsi.portals"](["127.0.0.1"], [])["failed"][0]
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


def test_a_web_server_that_answers_and_one_that_is_sick(modules, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with web() as port:
        assert modules["smoke_web.fetch_json"](f"http://127.0.0.1:{port}/") == {"a": 1}
        with pytest.raises(CommandExecutionError) as err:
            modules["smoke_web.fetch"](f"http://127.0.0.1:{port}/sick?x=1")
        assert str(err.value) == f"GET http://127.0.0.1:{port}/sick: status 503: sick"


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
