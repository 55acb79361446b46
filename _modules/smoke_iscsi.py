"""A smoke test of iSCSI: gateways answer by API and run their disks; portals log a client in and name their targets.

The client of portals is this module: a discovery session over TCP (RFC 7143). It opens no disk: that takes the kernel's
initiator and a password, and a session beside those of a site's initiators.
"""

import os
import socket
import struct
from collections.abc import Mapping, Sequence

import halocline
from salt.exceptions import CommandExecutionError

NAME = "halocline-smoke"
INITIATOR = f"iqn.2026-11.io.halocline:{NAME}"
PORT = 3260
LIMIT = 20  # seconds until a portal answers
ROUNDS = 8  # of a login, at most
UNITS = ("rbd-target-api", "rbd-target-gw", "tcmu-runner")
HEADER = 48  # bytes
LOGIN, LOGIN_ANSWER, TEXT, TEXT_ANSWER = 0x43, 0x23, 0x44, 0x24
OPERATIONAL_TO_FULL = 0x87  # stage of negotiation 1, next 3, transit
WANTS_PASSWORD = 0x0201


def gateway() -> dict[str, list[str]]:
    """Return whether this gateway's daemons run and its API answers: ``{passed, failed}``.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' smoke_iscsi.gateway
    """
    failed = [f"{unit} does not run" for unit in UNITS if halocline.status(["systemctl", "is-active", "-q", unit])]
    try:
        disks = len(__salt__["iscsi.config"]()["disks"]) if not failed else 0
    except CommandExecutionError as err:
        failed.append(str(err))
    return {"passed": [] if failed else [f"gateway: {disks} disks"], "failed": failed}


def portals(addresses: Sequence[str], targets: Sequence[str]) -> dict[str, list[str]]:
    """Log in at every portal and ask it for its targets: ``{passed, failed}``, a line for each.

    addresses
        Of the portals.
    targets
        The names that each has to tell.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_iscsi.portals '[192.168.0.21]' '["iqn.2026-11.com.example:backup"]'
    """
    told: dict[str, list[str]] = {"passed": [], "failed": []}
    for address in addresses:
        try:
            named = _discovered(address)
            lacking = [target for target in targets if named is not None and target not in named]
            if lacking:
                raise CommandExecutionError(f"does not name {', '.join(lacking)}")
            how = "answers, and wants a password for discovery" if named is None else f"names {len(targets)} targets"
            told["passed"].append(f"portal {address}: {how}")
        except (OSError, struct.error, CommandExecutionError) as err:
            why = f"no answer within {LIMIT} s" if isinstance(err, socket.timeout) else str(err)
            told["failed"].append(f"portal {address}: {why}")
    return told


def _discovered(address: str) -> list[str] | None:
    """The targets that a portal names; None where it wants a password first."""
    with socket.create_connection((address, PORT), LIMIT) as wire:
        isid, keys = b"\x80" + os.urandom(5), {"InitiatorName": INITIATOR, "SessionType": "Discovery"}
        keys |= {"HeaderDigest": "None", "DataDigest": "None", "MaxRecvDataSegmentLength": "65536"}
        counter = 0
        for _ in range(ROUNDS):
            numbers = struct.pack(">IIIII", 1, 0, 1, counter, 0)  # task, connection, command, answer expected
            answer, _ = _ask(wire, LOGIN, OPERATIONAL_TO_FULL, isid + b"\0\0" + numbers, keys, LOGIN_ANSWER)
            status, counter, keys = int.from_bytes(answer[36:38], "big"), _next(answer), {}
            if status:
                if status == WANTS_PASSWORD:
                    return None
                raise CommandExecutionError(f"refuses the login: status {status:#06x}")
            if answer[1] & OPERATIONAL_TO_FULL == OPERATIONAL_TO_FULL:
                break
        else:
            raise CommandExecutionError("the login does not end")
        numbers = b"\0" * 8 + struct.pack(">IIII", 2, 0xFFFFFFFF, 1, counter)
        _, text = _ask(wire, TEXT, 0x80, numbers, {"SendTargets": "All"}, TEXT_ANSWER)
    return [word.partition("=")[2] for word in text.decode(errors="replace").split("\0") if "TargetName=" in word]


def _ask(
    wire: socket.socket, kind: int, flags: int, numbers: bytes, keys: Mapping[str, str], wanted: int
) -> tuple[bytes, bytes]:
    """The header and the data of what a portal answers to a request: from byte 8 on its header holds ``numbers``."""
    data = b"".join(f"{key}={value}".encode() + b"\0" for key, value in keys.items())
    header = struct.pack(">BBHI", kind, flags, 0, len(data)) + numbers
    wire.sendall(header.ljust(HEADER, b"\0") + data + b"\0" * (-len(data) % 4))
    answer = _exactly(wire, HEADER)
    if answer[0] & 0x3F != wanted:
        raise CommandExecutionError(f"answers what is none of iSCSI, or a refusal: {answer[0]:#04x}")
    length = int.from_bytes(answer[5:8], "big")
    return answer, _exactly(wire, length + -length % 4)[:length]


def _next(answer: bytes) -> int:
    return int.from_bytes(answer[24:28], "big") + 1 & 0xFFFFFFFF


def _exactly(wire: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        piece = wire.recv(length - len(found))
        if not piece:
            raise CommandExecutionError("closes the connection")
        found += piece
    return found
