"""A smoke test of NFS by a client in this module: NFS 4.1 over TCP (RFC 8881, RFC 5531), without the kernel's.

So nothing hangs in the kernel or stays mounted, and no host needs a package for it. Each export is looked up and its
attributes are read; where it may be written to by root, a directory is made and removed. A session that a killed test
leaves ends with its lease.
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
LIMIT = 20  # seconds until a server answers, and between two pieces of an answer
LONGEST = 1 << 20  # bytes of an answer
PROGRAM, VERSION, COMPOUND = 100003, 4, 1
AUTH_SYS = 1
# Operations and answers as RFC 8881 numbers them.
CREATE, GETATTR, LOOKUP, PUTROOTFH, REMOVE = 6, 9, 15, 24, 28
EXCHANGE_ID, CREATE_SESSION, DESTROY_SESSION, SEQUENCE, DESTROY_CLIENTID = 42, 43, 44, 53, 57
DIRECTORY = 2
OK, NOENT, ACCESS, EXIST = 0, 2, 13, 17
LATER = (10008, 10013)  # DELAY; GRACE, in which a server that started waits for its former clients
PATIENCE = 120  # seconds that a server may ask to wait: grace lasts 90
NAMES = {1: "PERM", 2: "NOENT", 5: "IO", 13: "ACCESS", 28: "NOSPC", 30: "ROFS", 69: "DQUOT", 70: "STALE"}
NAMES |= {10006: "SERVERFAULT", 10008: "DELAY", 10013: "GRACE", 10016: "WRONGSEC"}


def attempt(server: str, address: str, port: int, exports: Sequence[Mapping[str, object]]) -> dict[str, list[str]]:
    """Look at every export of a server, and write where that is allowed: ``{passed, failed, skipped}``.

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
    """Take away the test's directories; return a line for each. Arguments as for ``attempt``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_nfs.clean node1 192.168.0.11 2049 '[{path: /cephfs, writes: true, open: true}]'
    """
    paths = [str(export["path"]) for export in exports if export["writes"] and export["open"]]
    if not paths:
        return []
    try:
        with _session(address, int(port)) as session:
            gone = [path for path in paths if session.ask(*_folder(path), _named(REMOVE, NAME)) == OK]
    except (OSError, struct.error) as err:
        raise CommandExecutionError(f"{server} ({address}:{port}): {err}") from None
    return [f"directory {NAME} of the export {path}" for path in gone]


class _Later(CommandExecutionError):
    """The server asks to come again."""


class _Session:
    """A session of a client with a server, whose compounds go one after the other through its one slot."""

    def __init__(self, wire: socket.socket) -> None:
        self.wire, self.number, self.session, self.client = wire, 0, b"", b""

    def ask(self, *operations: bytes) -> int:
        """The status of a compound within the session: that of the operation which failed, or OK."""

        def asked() -> int:
            self.number += 1
            sequence = struct.pack(">I16sIIII", SEQUENCE, self.session, self.number, 0, 0, 0)
            status = _compound(self.wire, sequence, *operations)[0]
            if status in LATER:
                raise _Later(f"the server asks to wait: {_word(status)}")
            return status

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
        try:
            yield session
        finally:
            with contextlib.suppress(OSError, CommandExecutionError, struct.error):
                _compound(wire, struct.pack(">I16s", DESTROY_SESSION, session.session))
                _compound(wire, struct.pack(">I8s", DESTROY_CLIENTID, session.client))


def _tried(session: _Session, path: str, writes: bool) -> str:
    """Why an export cannot be used; nothing where it can."""
    root = _folder(path)
    if status := session.ask(*root, struct.pack(">III", GETATTR, 1, 2)):
        return f"cannot be looked up: {_word(status)}"
    if not writes:
        status = session.ask(*root, _named(LOOKUP, f"{NAME}-{secrets.token_hex(4)}"))
        return "" if status in (NOENT, ACCESS) else f"cannot be searched: {_word(status)}"
    made = struct.pack(">II", CREATE, DIRECTORY) + _opaque(NAME.encode()) + struct.pack(">II", 0, 0)
    if (status := session.ask(*root, made)) not in (OK, EXIST):
        return f"a directory cannot be made: {_word(status)}"
    if status := session.ask(*root, _named(REMOVE, NAME)):
        return f"the directory {NAME} cannot be removed: {_word(status)}"
    return ""


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
