"""A smoke test of NFS over sockets, against a server of NFS 4.1 that is played: also one that hangs."""

import struct

import pytest
from salt.exceptions import CommandExecutionError
from wires import closes, exactly, hangs, listening

FILE = b"halocline-smoke.nfs"
STATE = struct.pack(">I12x", 1)  # what the compound opened


class Nfs:
    """NFS 4.1 as far as the client goes: ``exports`` by their names; what ``fails`` answers that status."""

    open, claims_none = 0, False

    def __init__(self, exports=("a",), fails=None, later=0, spoils=lambda data: data):
        self.spoils = spoils
        self.exports, self.fails, self.later, self.files, self.ended = exports, fails or {}, later, {}, []

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
            elif operation in (15, 28):
                (length,) = struct.unpack_from(">I", data, at)
                name = data[at + 4 : at + 4 + length]
                at += 4 + length + -length % 4
                status = status or self.on(operation, name, here)
            elif operation == 18:
                _, access, deny, client, owner = struct.unpack_from(">III8sI", data, at)
                assert (access & 3, deny, client) == (3, 0, b"client01") and self.claims_none
                at += 24 + owner + -owner % 4
                (creates,) = struct.unpack_from(">I", data, at)
                if creates:
                    assert struct.unpack_from(">IIIIIQI", data, at + 4) == (0, 2, 16, 2, 12, 0, 0o600)
                at += 36 if creates else 4
                claim, length = struct.unpack_from(">II", data, at)
                assert (claim, data[at + 8 : at + 8 + length]) == (0, FILE)
                at += 8 + length + -length % 4
                status = status or self.opened(creates)
                more = bytes(16 + 4 + 16 + 4 + 8 + 4)
            elif operation in (38, 25):
                state, offset, length = struct.unpack_from(">16sQI", data, at)
                assert (state, offset) == (STATE, 0)
                at += 28
                if operation == 38:
                    assert (length, at % 4) == (2, 0)  # on stable storage
                    (length,) = struct.unpack_from(">I", data, at)
                    self.files[FILE] = data[at + 4 : at + 4 + length]
                    at += 4 + length + -length % 4
                    more = struct.pack(">II8x", length, 2)
                else:
                    found = self.spoils(self.files[FILE])[:length]
                    more = struct.pack(">II", 1, len(found)) + found + bytes(-len(found) % 4)
            elif operation == 4:
                assert struct.unpack_from(">I16s", data, at) == (0, STATE)
                at, more, self.open = at + 20, STATE, self.open - 1
            elif operation == 58:
                assert struct.unpack_from(">I", data, at) == (0,)
                at, self.claims_none = at + 4, True
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

    def opened(self, creates):
        if creates:
            self.files[FILE] = b""
        self.open += FILE in self.files
        return 0 if FILE in self.files else 2

    def on(self, operation, name, here):
        if operation == 28:
            return 0 if self.files.pop(name, None) is not None else 2
        here.append(name.decode())
        return 0 if len(here) == 1 and here[0] in self.exports or name in self.files else 2


EXPORTS = [{"path": "/a", "writes": True, "open": True}, {"path": "/b", "writes": False, "open": True}]
EXPORTS += [{"path": "/c", "writes": False, "open": False}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "failed"),
    [
        (Nfs(("a", "b")), []),
        (Nfs(("a",)), ["node1: /b: cannot be looked up: NFS4ERR_NOENT"]),
        (Nfs(("a", "b"), {18: 30}), ["node1: /a: a file cannot be written: NFS4ERR_ROFS"]),
        (Nfs(("a", "b"), {38: 28}), ["node1: /a: a file cannot be written: NFS4ERR_NOSPC"]),
        (Nfs(("a", "b"), {25: 5}), [f"node1: /a: the file {FILE.decode()} cannot be read back: NFS4ERR_IO"]),
        (
            Nfs(("a", "b"), spoils=lambda data: data[:-1] + bytes([data[-1] ^ 1])),
            ["node1: /a: a file was read back otherwise"],
        ),
        (Nfs(("a", "b"), spoils=lambda data: data[4096:]), ["a file was read back otherwise"]),
        (Nfs(("a", "b"), {28: 5}), [f"node1: /a: the file {FILE.decode()} cannot be removed: NFS4ERR_IO"]),
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
        assert len(told["passed"]) == 2 - len(failed)
        assert bool(server.files) == bool({38, 25, 28} & server.fails.keys())  # which clean takes away
        assert server.open == len({38, 25} & server.fails.keys())  # such a session ends with its lease


@pytest.mark.slow
def test_a_file_that_a_killed_test_left_goes_and_nothing_else(modules):
    server = Nfs(("a", "b"))
    server.files = {FILE: b"", b"mine": b"data"}
    with listening(server) as port:
        clean = [modules["smoke_nfs.clean"]("node1", "127.0.0.1", port, EXPORTS) for _ in range(2)]
    assert clean == [[f"file {FILE.decode()} of the export /a"], []] and server.files == {b"mine": b"data"}
    with listening(closes) as port, pytest.raises(CommandExecutionError, match="closes"):
        modules["smoke_nfs.clean"]("node1", "127.0.0.1", port, EXPORTS)
    assert modules["smoke_nfs.clean"]("node1", "127.0.0.1", 1, EXPORTS[1:]) == []


@pytest.mark.slow
def test_a_server_in_grace_is_waited_for(modules, python_module, monkeypatch):
    with listening(Nfs(("a", "b"), later=1)) as port:
        told = modules["smoke_nfs.attempt"]("node1", "127.0.0.1", port, EXPORTS)
    assert told["failed"] == []
    monkeypatch.setattr(python_module("smoke_nfs"), "PATIENCE", 0)
    with listening(Nfs(("a", "b"), later=9)) as port:
        assert "NFS4ERR_GRACE" in modules["smoke_nfs.attempt"]("node1", "127.0.0.1", port, EXPORTS)["failed"][0]
