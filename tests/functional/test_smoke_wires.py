"""A smoke test's clients of HTTP, NFS and iSCSI over sockets, against servers that are played: also ones that hang."""

import contextlib
import http.server
import socket
import ssl
import struct
import subprocess
import threading

import pytest
from salt.exceptions import CommandExecutionError

NAME = b"halocline-smoke"


@contextlib.contextmanager
def listening(serve):
    """A server of one connection after the other on this host: its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, contextlib.suppress(OSError, struct.error):
                        serve(connection)

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]


def hangs(connection):
    connection.recv(1 << 16)
    connection.recv(1 << 16)  # until the client goes


def closes(connection):
    connection.recv(1 << 16)


def exactly(connection, length):
    found = b""
    while len(found) < length:
        piece = connection.recv(length - len(found))
        if not piece:
            raise OSError
        found += piece
    return found


class Nfs:
    """NFS 4.1 as far as the client goes: ``exports`` by their names; what ``fails`` answers that status."""

    def __init__(self, exports=("a",), fails=None, later=0):
        self.exports, self.fails, self.later, self.folders, self.ended = exports, fails or {}, later, set(), []

    def __call__(self, connection):
        while True:
            (mark,) = struct.unpack(">I", exactly(connection, 4))
            call = exactly(connection, mark & 0x7FFFFFFF)
            xid, _, _, program, version, procedure, flavor, length = struct.unpack_from(">8I", call)
            assert (program, version, procedure, flavor) == (100003, 4, 1, 1)
            at = 32 + length + 8
            tag, minor, count = struct.unpack_from(">III", call, at)
            assert (tag, minor) == (0, 1)
            status, answers = self.answered(call[at + 12 :], count)
            body = struct.pack(">6I", xid, 1, 0, 0, 0, 0) + struct.pack(">III", status, 0, len(answers))
            body += b"".join(answers)
            half = len(body) // 2  # in two fragments, as a server may
            connection.sendall(struct.pack(">I", half) + body[:half])
            connection.sendall(struct.pack(">I", 0x80000000 | len(body) - half) + body[half:])

    def answered(self, data, count):
        answers, at, here = [], 0, []
        for _ in range(count):
            (operation,) = struct.unpack_from(">I", data, at)
            at += 4
            status, more = self.fails.get(operation, 0), b""
            if operation == 42:
                length = struct.unpack_from(">I", data, at + 8)[0]
                at += 12 + length + -length % 4 + 12
                more = b"client01" + struct.pack(">III", 7, 0, 0)
            elif operation == 43:
                assert struct.unpack_from(">8sI", data, at) == (b"client01", 7)
                at += 8 + 4 + 4 + 28 + 28 + 12
                more = b"session-00000001" + struct.pack(">II", 7, 0)
            elif operation == 53:
                session, self.number = struct.unpack_from(">16sI", data, at)
                assert session == b"session-00000001"
                at += 16 + 16
                more = bytes(36)
                self.later, status = (self.later - 1, 10013) if self.later else (0, status)
            elif operation in (15, 28, 6):
                at += 4 if operation == 6 else 0
                (length,) = struct.unpack_from(">I", data, at)
                name = data[at + 4 : at + 4 + length]
                at += 4 + length + -length % 4 + (8 if operation == 6 else 0)
                status = status or self.on(operation, name, here)
            elif operation == 9:
                assert struct.unpack_from(">II", data, at) == (1, 2)
                at += 8
            elif operation in (44, 57):
                self.ended.append(operation)
                at += 16 if operation == 44 else 8
            answers.append(struct.pack(">II", operation, status) + (more if not status else b""))
            if status:
                return status, answers
        assert at == len(data)
        return 0, answers

    def on(self, operation, name, here):
        if operation == 6:
            self.folders.add(name)
            return 0
        if operation == 28:
            return 0 if name in self.folders and not self.folders.remove(name) else 2
        here.append(name.decode())
        return 0 if len(here) == 1 and here[0] in self.exports or name in self.folders else 2


EXPORTS = [{"path": "/a", "writes": True, "open": True}, {"path": "/b", "writes": False, "open": True}]
EXPORTS += [{"path": "/c", "writes": False, "open": False}]


@pytest.mark.parametrize(
    ("server", "failed"),
    [
        (Nfs(("a", "b")), []),
        (Nfs(("a",)), ["node1: /b: cannot be looked up: NFS4ERR_NOENT"]),
        (Nfs(("a", "b"), {6: 30}), ["node1: /a: a directory cannot be made: NFS4ERR_ROFS"]),
        (Nfs(("a", "b"), {6: 17, 28: 5}), [f"node1: /a: the directory {NAME.decode()} cannot be removed: NFS4ERR_IO"]),
        (Nfs(("a", "b"), {9: 99}), ["node1: /a: cannot be looked up: NFS4ERR_99", "node1: /b: cannot be looked up"]),
        (Nfs((), {42: 10006}), ["EXCHANGE_ID: NFS4ERR_SERVERFAULT"]),
        (hangs, ["no answer within"]),
        (closes, ["it closes the connection"]),
        (
            lambda connection: connection.recv(4096) and connection.sendall(b"HTTP/1.1 400 Bad"),
            ["its answer is none of NFS"],
        ),
    ],
)
def test_exports_are_looked_up_written_to_and_what_fails_is_named(modules, python_module, monkeypatch, server, failed):
    monkeypatch.setattr(python_module("smoke_nfs"), "LIMIT", 1)
    with listening(server) as port:
        told = modules["smoke_nfs.attempt"]("node1", "127.0.0.1", port, EXPORTS)
    assert len(told["failed"]) == len(failed), told
    assert [line for line, part in zip(told["failed"], failed, strict=True) if part not in line] == []
    if isinstance(server, Nfs) and 42 not in server.fails:
        assert server.ended == [44, 57] and told["skipped"] == ["node1: /c is for other clients"]
        assert len(told["passed"]) == 2 - len(failed) and server.folders == set()


def test_a_directory_that_a_killed_test_left_goes_and_nothing_else(modules):
    server = Nfs(("a", "b"))
    server.folders = {NAME, b"mine"}
    with listening(server) as port:
        clean = [modules["smoke_nfs.clean"]("node1", "127.0.0.1", port, EXPORTS) for _ in range(2)]
    assert clean == [[f"directory {NAME.decode()} of the export /a"], []] and server.folders == {b"mine"}
    with listening(closes) as port, pytest.raises(CommandExecutionError, match="closes"):
        modules["smoke_nfs.clean"]("node1", "127.0.0.1", port, EXPORTS)
    assert modules["smoke_nfs.clean"]("node1", "127.0.0.1", 1, EXPORTS[1:]) == []


def test_a_server_in_grace_is_waited_for(modules, python_module, monkeypatch):
    with listening(Nfs(("a", "b"), later=1)) as port:
        told = modules["smoke_nfs.attempt"]("node1", "127.0.0.1", port, EXPORTS)
    assert told["failed"] == []
    monkeypatch.setattr(python_module("smoke_nfs"), "PATIENCE", 0)
    with listening(Nfs(("a", "b"), later=9)) as port:
        assert "NFS4ERR_GRACE" in modules["smoke_nfs.attempt"]("node1", "127.0.0.1", port, EXPORTS)["failed"][0]


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
    assert "refused" in modules["smoke_nfs.attempt"]("node1", "127.0.0.1", port, EXPORTS)["failed"][0]
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
