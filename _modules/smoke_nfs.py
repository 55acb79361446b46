"""A smoke test of NFS by a client in this module: NFS 4.1 over TCP (RFC 8881, RFC 5531), without the kernel's.

So nothing hangs in the kernel or stays mounted. A library would be better than a client of our own, and there is none
for this: libnfs speaks NFS 3 and 4.0 (its README), our servers 4.1 and 4.2 alone, whose grace ends as soon as all
clients said that they claim nothing more, and libnfs 4.0.0, Debian 12's, leaves a file empty that it wrote 12 KB to.

Each export is looked up and its attributes are read; where it may be written to by root, a file is written, read back,
compared and removed. A session that a killed test leaves ends with its lease.
"""

import contextlib
import os
import secrets
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence

import halocline
from salt.exceptions import CommandExecutionError

NAME = "halocline-smoke"
FILE = f"{NAME}.nfs"  # no name of what a test of CephFS makes: an export may be the root of a file system
SIZE = 1 << 16  # bytes of it, a multiple of 4
LIMIT = 20  # seconds until a server answers, and between two pieces of an answer
LONGEST = 1 << 20  # bytes of an answer
PROGRAM, VERSION, COMPOUND = 100003, 4, 1
AUTH_SYS = 1
# Operations and answers as RFC 8881 numbers them.
CLOSE, GETATTR, LOOKUP, OPEN, PUTROOTFH, READ, REMOVE, WRITE = 4, 9, 15, 18, 24, 25, 28, 38
EXCHANGE_ID, CREATE_SESSION, DESTROY_SESSION, SEQUENCE, DESTROY_CLIENTID, RECLAIM_COMPLETE = 42, 43, 44, 53, 57, 58
OPENED = struct.pack(">I12x", 1)  # the state that this compound's OPEN made (16.2.3.1.2)
NO_DELEGATION = 0x0400
OK, NOENT, ACCESS = 0, 2, 13
DELAY, GRACE = LATER = (10008, 10013)  # in grace a server that started waits for its former clients
PATIENCE = 120  # seconds that a server may ask to wait: grace lasts 90
NAMES = {1: "PERM", 2: "NOENT", 5: "IO", 13: "ACCESS", 28: "NOSPC", 30: "ROFS", 69: "DQUOT", 70: "STALE"}
NAMES |= {10006: "SERVERFAULT", 10008: "DELAY", 10013: "GRACE", 10016: "WRONGSEC"}


def attempt(server: str, address: str, port: int, exports: Sequence[Mapping[str, object]]) -> dict[str, list[str]]:
    """Look at every export of a server, and write a file where that is allowed: ``{passed, failed, skipped}``.

    server, address, port
        Its name, and where it answers.
    exports
        ``{path, writes, open}``: whether root may write there, and whether every client may look.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_nfs.attempt node1 192.168.0.11 2049 '[{path: /cephfs, writes: true, open: true}]'
    """
    told: dict[str, list[str]] = {"passed": [], "failed": [], "skipped": []}
    try:
        with _session(address, int(port)) as session:
            for export in exports:
                if not export["open"]:
                    told["skipped"].append(f"{server}: {export['path']} is for other clients")
                elif wrong := _tried(session, str(export["path"]), bool(export["writes"])):
                    told["failed"].append(f"{server}: {export['path']}: {wrong}")
                else:
                    told["passed"].append(f"{server}: {export['path']}{' written' if export['writes'] else ''}")
    except (OSError, struct.error) as err:
        why = f"no answer within {LIMIT} s" if isinstance(err, socket.timeout) else str(err)
        told["failed"].append(f"{server} ({address}:{port}): {why}")
    except CommandExecutionError as err:
        told["failed"].append(f"{server} ({address}:{port}): {err}")
    return told


def clean(server: str, address: str, port: int, exports: Sequence[Mapping[str, object]]) -> list[str]:
    """Take away the test's files; return a line for each. Arguments as for ``attempt``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_nfs.clean node1 192.168.0.11 2049 '[{path: /cephfs, writes: true, open: true}]'
    """
    paths = [str(export["path"]) for export in exports if export["writes"] and export["open"]]
    if not paths:
        return []
    try:
        with _session(address, int(port)) as session:
            gone = [path for path in paths if session.ask(*_folder(path), _named(REMOVE, FILE))[0] == OK]
    except (OSError, struct.error) as err:
        raise CommandExecutionError(f"{server} ({address}:{port}): {err}") from None
    return [f"file {FILE} of the export {path}" for path in gone]


class _Later(CommandExecutionError):
    """The server asks to come again."""


class _Session:
    """A session of a client with a server, whose compounds go one after the other through its one slot."""

    def __init__(self, wire: socket.socket) -> None:
        self.wire, self.number, self.session, self.client = wire, 0, b"", b""

    def ask(self, *operations: bytes) -> tuple[int, bytes]:
        """The status of a compound within the session, that of the operation which failed or OK, and all answers."""

        def asked() -> tuple[int, bytes]:
            self.number += 1
            sequence = struct.pack(">I16sIIII", SEQUENCE, self.session, self.number, 0, 0, 0)
            status, answer = _compound(self.wire, sequence, *operations)
            if status in LATER:
                why = ": it, or another server of its cluster, waits for clients of before" if status == GRACE else ""
                raise _Later(f"the server asks to wait: {_word(status)}{why}")
            return status, answer

        return halocline.until(asked, PATIENCE, retry=_Later)


@contextlib.contextmanager
def _session(address: str, port: int) -> Iterator[_Session]:
    """A session of a client of its own; ended at the end."""
    with socket.create_connection((address, port), LIMIT) as wire:
        session = _Session(wire)
        owner = struct.pack(">I8s", EXCHANGE_ID, os.urandom(8)) + _opaque(f"{NAME} {secrets.token_hex(8)}".encode())
        found = _whole(wire, "EXCHANGE_ID", owner + struct.pack(">III", 0, 0, 0))
        session.client, sequence = found[:8], found[8:12]
        channel = struct.pack(">IIIIIII", 0, LONGEST, LONGEST, 4096, 16, 1, 0)
        asked = struct.pack(">I8s4sI", CREATE_SESSION, session.client, sequence, 0) + channel + channel
        session.session = _whole(wire, "CREATE_SESSION", asked + struct.pack(">III", 0x40000000, 1, 0))[:16]
        session.ask(struct.pack(">II", RECLAIM_COMPLETE, 0))  # it claims no file of an earlier session
        try:
            yield session
        finally:
            with contextlib.suppress(OSError, CommandExecutionError, struct.error):
                _compound(wire, struct.pack(">I16s", DESTROY_SESSION, session.session))
                _compound(wire, struct.pack(">I8s", DESTROY_CLIENTID, session.client))


def _tried(session: _Session, path: str, writes: bool) -> str:
    """Why an export cannot be used; nothing where it can."""
    root = _folder(path)
    if status := session.ask(*root, struct.pack(">III", GETATTR, 1, 2))[0]:
        return f"cannot be looked up: {_word(status)}"
    if not writes:
        status = session.ask(*root, _named(LOOKUP, f"{NAME}-{secrets.token_hex(4)}"))[0]
        return "" if status in (NOENT, ACCESS) else f"cannot be searched: {_word(status)}"
    data, close = os.urandom(SIZE), struct.pack(">II16s", CLOSE, 0, OPENED)
    write = struct.pack(">I16sQI", WRITE, OPENED, 0, 2) + _opaque(data)  # answered when it is on stable storage
    if status := session.ask(*root, _open(session, new=True), write, close)[0]:
        return f"a file cannot be written: {_word(status)}"
    status, answer = session.ask(*root, _open(session), struct.pack(">I16sQI", READ, OPENED, 0, SIZE), close)
    if status:
        return f"the file {FILE} cannot be read back: {_word(status)}"
    same = answer[:-24].endswith(_opaque(data))  # CLOSE, behind it, answers 24 bytes
    if status := session.ask(*root, _named(REMOVE, FILE))[0]:
        return f"the file {FILE} cannot be removed: {_word(status)}"
    return "" if same else "a file was read back otherwise than it was written"


def _open(session: _Session, new: bool = False) -> bytes:
    """The operation that opens the test's file to read and write; a new one is empty, and its owner's alone."""
    made = struct.pack(">IIIIIIQI", 1, 0, 2, 1 << 4, 1 << 1, 12, 0, 0o600) if new else struct.pack(">I", 0)
    owner = struct.pack(">IIII8s", OPEN, 0, 3 | NO_DELEGATION, 0, session.client) + _opaque(NAME.encode())
    return owner + made + struct.pack(">I", 0) + _opaque(FILE.encode())


def _folder(path: str) -> list[bytes]:
    """The operations that lead to an export."""
    return [struct.pack(">I", PUTROOTFH), *(_named(LOOKUP, word) for word in path.split("/") if word)]


def _whole(wire: socket.socket, what: str, operation: bytes) -> bytes:
    """What one operation answers behind its number and status."""
    status, answer = _compound(wire, operation)
    if status:
        raise CommandExecutionError(f"{what}: {_word(status)}")
    return answer[8:]


def _compound(wire: socket.socket, *operations: bytes) -> tuple[int, bytes]:
    """The status of a compound, and the answers of its operations."""
    call = struct.pack(">IIIIII", number := secrets.randbits(32), 0, 2, PROGRAM, VERSION, COMPOUND)
    user = struct.pack(">I", 0) + _opaque(NAME.encode()) + struct.pack(">III", 0, 0, 0)  # root, in no other group
    call += struct.pack(">I", AUTH_SYS) + _opaque(user) + struct.pack(">II", 0, 0)
    call += struct.pack(">III", 0, 1, len(operations)) + b"".join(operations)
    wire.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
    answer = _read(wire)
    same, kind, refused, _, length = struct.unpack_from(">IIIII", answer)
    if (same, kind, refused) != (number, 1, 0):
        raise CommandExecutionError("it refuses calls of NFS")
    at = 20 + length + -length % 4
    accepted, status, tag = struct.unpack_from(">III", answer, at)
    if accepted:
        raise CommandExecutionError("it does not serve NFS 4")
    return status, answer[at + 16 + tag + -tag % 4 :]


def _read(wire: socket.socket) -> bytes:
    """One answer, of one or several fragments."""
    answer, last = b"", False
    while not last:
        (mark,) = struct.unpack(">I", _exactly(wire, 4))
        last, length = bool(mark & 0x80000000), mark & 0x7FFFFFFF
        if len(answer) + length > LONGEST:
            raise CommandExecutionError("its answer is none of NFS")
        answer += _exactly(wire, length)
    return answer


def _exactly(wire: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        piece = wire.recv(length - len(found))
        if not piece:
            raise CommandExecutionError("it closes the connection")
        found += piece
    return found


def _opaque(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data + b"\0" * (-len(data) % 4)


def _named(operation: int, name: str) -> bytes:
    return struct.pack(">I", operation) + _opaque(name.encode())


def _word(status: int) -> str:
    return f"NFS4ERR_{NAMES.get(status, status)}"
