"""Servers over sockets that are played: also ones that hang."""

import contextlib
import socket
import struct
import threading


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
