"""Ask a Ceph daemon of this host by its admin socket, as ``ceph --admin-daemon`` does (src/common/admin_socket.cc)."""

import json
import socket
import struct
from pathlib import Path
from typing import Any


def ask(path: Path, command: str, limit: float) -> Any:
    """Return the JSON that a daemon answers; ``None`` where nobody listens, or the answer does not come in time.

    path
        Of its socket.
    command
        Such as ``config diff``.
    limit
        Seconds for each step.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(limit)
        try:
            line.connect(str(path))
            line.sendall(json.dumps({"prefix": command}).encode() + b"\0")
            (length,) = struct.unpack(">I", _exactly(line, 4))
            return json.loads(_exactly(line, length))
        except (OSError, ValueError):
            return None


def _exactly(line: socket.socket, length: int) -> bytes:
    answer = b""
    while len(answer) < length:
        part = line.recv(length - len(answer))
        if not part:
            raise ConnectionError("the daemon hung up")
        answer += part
    return answer
