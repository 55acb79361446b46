"""The cluster's keys: made once on the master, told to each minion by its roles. Nothing here opens a file."""

import base64
import secrets
import struct
import time
from collections.abc import Mapping

from proposals import names
from proposals.errors import ArgumentError

# Capabilities as Ceph's documentation gives them (docs.ceph.com, rados/operations/user-management and
# install/manual-deployment, mgr/administrator).
CAPS = {
    "mon.": {"mon": "allow *"},
    "client.admin": {"mon": "allow *", "osd": "allow *", "mds": "allow *", "mgr": "allow *"},
    "client.bootstrap-osd": {"mon": "profile bootstrap-osd"},
    "mgr.": {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"},
}


def new_key() -> str:
    """Return a fresh cephx key: type 1, creation time, 16 random bytes, in base64 (src/auth/Crypto.cc of Ceph)."""
    header = struct.pack("<HIIH", 1, int(time.time()), 0, 16)
    return base64.b64encode(header + secrets.token_bytes(16)).decode("ascii")


def keys(known: Mapping[str, str], mgrs: list[str]) -> dict[str, str]:
    """Return every key that the plan needs, by entity; what is known stays.

    known
        The keys of an earlier configure.
    mgrs
        The host names of the managers.
    """
    needed = ["mon.", "client.admin", "client.bootstrap-osd", *(f"mgr.{name}" for name in sorted(mgrs))]
    return {**known, **{name: known.get(name) or new_key() for name in needed}}


def rotated(known: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the keys with a fresh one for ``name``, one of ``known``.

    Raises ArgumentError for another name, and for ``mon.``: monitors know each other by it, so no order of restarts
    keeps them in quorum.
    """
    if name == "mon.":
        raise ArgumentError("mon. cannot be rotated while monitors run: they know each other by it")
    if name not in known:
        raise ArgumentError(f"there is no key of '{names.shown(name)}'{names.nearest(name, known)}")
    return {**known, name: new_key()}


def keyring(keys: Mapping[str, str], entities: list[str]) -> str:
    """Return a keyring file's text with the named entities and their capabilities (ceph-authtool(8))."""
    lines = []
    for name in entities:
        caps = CAPS["mgr." if name.startswith("mgr.") else name]
        lines += [f"[{name}]", f"\tkey = {keys[name]}"]
        lines += [f'\tcaps {service} = "{cap}"' for service, cap in sorted(caps.items())]
    return "\n".join(lines) + "\n"


def minion(keys: Mapping[str, str], roles: list[str], host: str) -> dict[str, str]:
    """Return what one minion may know, by the name of its use: only what its roles need.

    host
        The minion's host name, which its daemons carry.
    """
    told = {}
    if "mon" in roles:
        told["mon"] = keyring(keys, ["mon.", "client.admin"])  # a monitor's own store holds every key anyway
    if "admin" in roles or "master" in roles:
        told["admin"] = keyring(keys, ["client.admin"])
    if "mgr" in roles:
        told["mgr"] = keyring(keys, [f"mgr.{host}"])
    if "storage" in roles:
        told["bootstrap-osd"] = keyring(keys, ["client.bootstrap-osd"])
    if "master" in roles:
        told["register"] = keyring(keys, sorted(name for name in keys if name not in ("mon.", "client.admin")))
    return told
