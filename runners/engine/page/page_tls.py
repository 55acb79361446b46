"""TLS of the page's server whose handshakes hold nobody else back: each is made by the thread that then serves it.

Cheroot's own (``BuiltinSSLAdapter.wrap``, as read in 11.1.2) makes them in the one thread that accepts connections, so
that whoever connects and says nothing stops the page for all, for the 10 seconds of a timeout each.
"""

import contextlib
import socket
import ssl
from typing import Any

from cheroot import errors
from cheroot.ssl.builtin import BuiltinSSLAdapter

ENVIRON = {"wsgi.url_scheme": "https", "HTTPS": "on"}  # what else cheroot tells is known after the handshake alone
PLAIN = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nonly HTTPS is spoken here\n"


class _Socket(ssl.SSLSocket):
    """Shakes hands when it is first read from."""

    def recv_into(self, *args: Any, **more: Any) -> int:
        if self.version() is None:
            try:
                self.do_handshake()
            except OSError as err:
                if getattr(err, "reason", None) == "HTTP_REQUEST":
                    self.settimeout(0)
                    with contextlib.suppress(OSError):
                        socket.socket.send(self, PLAIN)
                        socket.socket.recv(self, 1 << 16)  # left unread, it would reset the connection
                raise errors.FatalSSLAlert(*err.args) from err  # by which cheroot ends a connection without a word
        return super().recv_into(*args, **more)


class Adapter(BuiltinSSLAdapter):
    """What ``cheroot.server.ssl_adapters`` takes."""

    def wrap(self, sock: socket.socket) -> tuple[ssl.SSLSocket, dict[str, str]]:
        """A socket before its handshake, and what requests on it are told."""
        self.context.sslsocket_class = _Socket
        try:
            return self.context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False), ENVIRON
        except OSError as err:  # who connected has gone already
            raise errors.FatalSSLAlert(*err.args) from err
