"""A smoke test of iSCSI by libiscsi, an initiator without the kernel's: it logs in at each portal and uses a disk.

The disk is a small image of the test's own, in a target of the test's own. To one of the site's, which may be open to
everybody, no initiator is added: ceph-iscsi closes it then to all that it does not know (``_update_acl``, client.py of
ceph-iscsi 3.5). A gateway makes all of it by the gateways' API, and is the client: the password never leaves its host.
"""

import functools
import json
import secrets
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

NAME = "halocline-smoke"
TARGET = f"iqn.2026-11.io.halocline:{NAME}"
INITIATOR = f"{TARGET}-initiator"
SIZE = "64M"  # of the image
PORT = 3260
LIMIT = 20  # seconds until a portal answers
GONE = 60  # seconds until a gateway has forgotten the session of a client that was killed
UNITS = ("rbd-target-api", "rbd-target-gw", "tcmu-runner")
PYTHON = "/usr/bin/python3"  # the system's: a library that crashes or hangs ends this program, not the minion
LACKING = "no client: libiscsi is not installed here: on Debian ceph.stage.iscsi brings it (libiscsi7), else install it"
# What is asked comes by standard input. libiscsi's include/iscsi.h and scsi-lowlevel.h say what its functions take.
PROGRAM = r"""
import ctypes, ctypes.util, json, os, sys, time

name = ctypes.util.find_library("iscsi")
asked = json.load(sys.stdin)
if not name or "portal" not in asked:
    sys.exit(print(json.dumps(bool(name))))
lib = ctypes.CDLL(name)
pointer, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p

class Listed(ctypes.Structure):
    pass

Listed._fields_ = [("next", ctypes.POINTER(Listed)), ("name", text)]

class Part(ctypes.Structure):
    _fields_ = [("base", pointer), ("length", ctypes.c_size_t)]

lib.iscsi_create_context.restype = pointer
lib.iscsi_get_error.restype = text
lib.iscsi_discovery_sync.restype = ctypes.POINTER(Listed)
blocks = [pointer, number, ctypes.c_uint64]  # session, unit, first block
lib.iscsi_write16_sync.argtypes = [*blocks, text, ctypes.c_uint32, *[number] * 6]
lib.iscsi_read16_iov_sync.argtypes = [*blocks, ctypes.c_uint32, *[number] * 6, pointer, number]
lib.iscsi_write16_sync.restype = lib.iscsi_read16_iov_sync.restype = ctypes.POINTER(number)  # a task

def fails(session):
    why = lib.iscsi_get_error(session).decode(errors="replace").strip()
    sys.exit(print("null") if "target" not in asked and "Authentication failure" in why else why or "libiscsi failed")

def session(kind):
    made = pointer(lib.iscsi_create_context(asked["initiator"].encode()))
    lib.iscsi_set_timeout(made, asked["limit"])
    lib.iscsi_set_noautoreconnect(made, 1)
    if kind == 2:
        lib.iscsi_set_targetname(made, asked["target"].encode())
        lib.iscsi_set_initiator_username_pwd(made, asked["user"].encode(), asked["password"].encode())
    lib.iscsi_set_session_type(made, kind)
    if kind == 2:
        lib.iscsi_full_connect_sync(made, asked["portal"].encode(), asked["lun"]) and fails(made)
    else:
        lib.iscsi_connect_sync(made, asked["portal"].encode()) and fails(made)
        lib.iscsi_login_sync(made) and fails(made)
    return made

def carried(made, function, *words):
    # A gateway that takes an image's lock answers for some seconds that it is busy, or not ready.
    for left in reversed(range(asked["limit"])):
        task = function(made, asked["lun"], 0, *words)
        if task and task[0] == 0:  # its status
            return
        left and time.sleep(1)
    fails(made)

if "target" not in asked:
    made = session(1)
    found, names = lib.iscsi_discovery_sync(made), []
    lib.iscsi_is_logged_in(made) or fails(made)
    while found:
        names.append(found[0].name.decode(errors="replace"))
        found = found[0].next
    print(json.dumps(names))
    lib.iscsi_logout_sync(made)
elif not asked["writes"]:
    made = session(2)
    lib.iscsi_logout_sync(made) and fails(made)
    print("true")
else:
    data, read = os.urandom(65536), ctypes.create_string_buffer(65536)
    made = session(2)
    carried(made, lib.iscsi_write16_sync, data, len(data), 512, 0, 0, 0, 0, 0)
    lib.iscsi_logout_sync(made) and fails(made)
    made = session(2)
    part = Part(ctypes.addressof(read), len(data))
    carried(made, lib.iscsi_read16_iov_sync, len(data), 512, 0, 0, 0, 0, 0, ctypes.byref(part), 1)
    lib.iscsi_logout_sync(made) and fails(made)
    if read.raw != data:
        sys.exit("what was read is not what was written")
    print("true")
"""


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


def attempt(pool: str, addresses: Sequence[str], targets: Sequence[str]) -> dict[str, list[str]]:
    """Ask every portal for its targets and log in there; write and read a disk of the test's own. On a gateway.

    pool
        Where the test's image is made.
    addresses
        Of the portals, this gateway's own first: a target's first gateway is the one that makes it.
    targets
        The names that each has to tell.

    Returns ``{passed, failed, skipped}``, a line for each. Where a portal does not answer nothing is made: ceph-iscsi
    changes all gateways of a target together. Through one portal alone is written, that of the gateway which has the
    image: another one would take its lock away, and Ceph would have that client on its blocklist for an hour.

    CLI Example: for ``salt-run smoke.test``.
    """
    if why := LACKING if not _run({}) else "no disk: this gateway does not serve" if gateway()["failed"] else "":
        return {"passed": [], "failed": [], "skipped": [why]}
    told = halocline.tried({f"portal {each}": functools.partial(_names, each, targets) for each in addresses})
    if told["failed"]:
        return {**told, "skipped": ["no disk is made while a portal does not answer as it should"]}
    lun, password, owner = _made(pool, addresses)
    asked = {"target": TARGET, "user": NAME, "password": password, "lun": lun}
    tries = {}
    for each in addresses:
        what = "a disk written and read" if each in owner else "an initiator logged in"
        tries[f"portal {each}: names {len(targets)} targets, {what}"] = functools.partial(
            _run, {**asked, "portal": _portal(each), "writes": each in owner}
        )
    return {**halocline.tried(tries), "skipped": []}


def clean() -> list[str]:
    """Take away the test's target and image, on a gateway; return a line for each. No other is touched.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' smoke_iscsi.clean
    """
    record, done = __salt__["iscsi.config"](), []
    if TARGET in record["targets"]:
        target = record["targets"][TARGET]
        for client in target["clients"]:
            halocline.until(functools.partial(_delete, f"client/{TARGET}/{client}"), GONE)
        for disk in target["disks"]:
            _delete(f"targetlun/{TARGET}", {"disk": disk})
        _delete(f"target/{TARGET}")
        done.append(f"iSCSI target {TARGET}")
    for disk in sorted(disk for disk in record["disks"] if disk.partition("/")[2] == NAME):
        _delete(f"disk/{disk}", {"preserve_image": "false"})
        done.append(f"image {disk}")
    return done


def _made(pool: str, addresses: Sequence[str]) -> tuple[int, str, list[str]]:
    """A new disk's unit, the password of its initiator, and the addresses of the gateway that has it."""
    clean()
    image, password = f"{pool}/{NAME}", secrets.token_urlsafe(12)  # 16 characters: ceph-iscsi takes no more
    access = {"user": NAME, "password": NAME, "images": [image]}
    plan = {"images": {image: SIZE}, "initiators": {INITIATOR: access}}
    __salt__["iscsi.bring"]({"targets": {TARGET: plan}, "portals": list(addresses)}, {NAME: password})
    record = __salt__["iscsi.config"]()
    target, owner = record["targets"][TARGET], record["disks"][image]["owner"]
    lun = target["clients"][INITIATOR]["luns"][image]["lun_id"]
    return lun, password, target["portals"][owner]["portal_ip_addresses"]


def _names(address: str, targets: Sequence[str]) -> None:
    """Raise CommandExecutionError where a portal does not name targets; one that wants a password for that need not."""
    try:
        socket.create_connection((address, PORT), LIMIT).close()
    except OSError as err:
        raise CommandExecutionError(
            f"no answer within {LIMIT} s" if isinstance(err, TimeoutError) else str(err)
        ) from None
    named = _run({"portal": _portal(address)})
    if named is not None and (lacking := [target for target in targets if target not in named]):
        raise CommandExecutionError(f"does not name {', '.join(lacking)}")


def _portal(address: str) -> str:
    return f"[{address}]:{PORT}" if ":" in address else f"{address}:{PORT}"


def _delete(path: str, form: Mapping[str, str] | None = None) -> None:
    __salt__["iscsi.tell"](path, form or {}, f"{path} goes", "DELETE")


def _run(asked: Mapping[str, object]) -> Any:
    """What the program answers."""
    text = json.dumps({"initiator": INITIATOR, "limit": LIMIT, **asked})
    try:
        return json.loads(halocline.run([PYTHON, "-c", PROGRAM], stdin=text, limit=8 * LIMIT))
    except CommandExecutionError as err:
        raise CommandExecutionError(str(err).replace(PROGRAM, "(libiscsi)")) from None
