"""The cluster's keys: made once on the master, told to each minion by its roles. Nothing here opens a file."""

import base64
import hashlib
import re
import secrets
import struct
import time
from collections.abc import Collection, Iterable, Mapping

from proposals.inventory.inventory_join import CIPHERS
from proposals.services.service import CRASH
from proposals.text import names
from proposals.text.errors import ArgumentError

DAEMONS = ("mon", "mgr", "storage")  # roles whose daemons deploy brings up
# Capabilities as Ceph's documentation gives them (docs.ceph.com, rados/operations/user-management and
# install/manual-deployment, mgr/administrator, mgr/crash).
CAPS = {
    "mon.": {"mon": "allow *"},
    "client.admin": {"mon": "allow *", "osd": "allow *", "mds": "allow *", "mgr": "allow *"},
    "client.bootstrap-osd": {"mon": "profile bootstrap-osd"},
    "client.crash": {"mon": "profile crash", "mgr": "profile crash"},
    "mgr.": {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"},
}
CEPHX = re.compile(r"[A-Za-z0-9+/]{38,}={0,2}")  # 28 bytes or more in base64
OLD, NEW = CIPHERS
TYPES = {OLD: (1, 16), NEW: (2, 32)}  # of a key: its type, and its random bytes (src/auth/Crypto.cc of Ceph)


def new_key(cipher: str = OLD) -> str:
    """Return a fresh cephx key of one of CIPHERS: its type, creation time, random bytes, in base64."""
    kind, length = TYPES[cipher]
    header = struct.pack("<HIIH", kind, int(time.time()), 0, length)
    return base64.b64encode(header + secrets.token_bytes(length)).decode("ascii")


def cipher(hosts: Iterable[Mapping]) -> str:
    """Return the cipher of fresh keys: that of AES-256 where Ceph on every host knows it. Clusters that were made by
    Ceph 19.2.6, 20.2.4 or newer take no other (CVE-2025-30156); older ones do not know it.

    hosts
        Of the inventory; one without Ceph's programs says nothing. One that discovery saw before it asked for this may
        have an older Ceph.
    """
    known = {host.get("ceph_cipher", OLD) for host in hosts} - {None}
    return NEW if known == {NEW} else OLD


def new_password() -> str:
    """Return a fresh password: 24 random bytes, without characters that a shell or a file's form could take."""
    return secrets.token_urlsafe(24)


def entities(mgrs: Iterable[str], more: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """Return the capabilities of every key that the plan needs.

    mgrs
        The host names of the managers.
    more
        Those that services ask for (``services.planning``).
    """
    every = {name: caps for name, caps in CAPS.items() if name != "mgr."}
    return {**every, **{f"mgr.{name}": CAPS["mgr."] for name in sorted(mgrs)}, **more}


def keys(
    existing: Mapping[str, str], needed: Iterable[str], passwords: Iterable[str] = (), cipher: str = OLD
) -> dict[str, str]:
    """Return every key and password that the plan needs, by entity and name; those that are there stay.

    existing
        What an earlier configure made, and what the site gave.
    needed
        The entities.
    passwords
        The passwords' names.
    cipher
        Of fresh keys.
    """
    fresh = {name: new_key(cipher) for name in needed if name not in existing}
    return {**existing, **fresh, **{name: new_password() for name in sorted(passwords) if name not in existing}}


def rotated(existing: Mapping[str, str], name: str, cipher: str = OLD) -> dict[str, str]:
    """Return the keys with a fresh one for ``name``, one of ``existing``.

    Raises ArgumentError for another name, and for ``mon.``: monitors know each other by it, so no order of restarts
    keeps them in quorum.
    """
    if name == "mon.":
        raise ArgumentError("mon. cannot be rotated while monitors run: they know each other by it")
    if name not in existing:
        raise ArgumentError(f"there is no key of '{names.shown(name)}'{names.nearest(name, existing)}")
    return {**existing, name: new_key(cipher) if is_entity(name) else new_password()}


def digest(key: str) -> str:
    """Return by what a key is compared where the key itself must not be: it is random, so nobody finds it by this."""
    return hashlib.sha256(key.encode()).hexdigest()


def is_entity(name: str) -> bool:
    """Whether a name is that of a cephx key, and not a password's or a file's (src/msg/msg_types.h of Ceph)."""
    return name.partition(".")[0] in ("mon", "mgr", "mds", "osd", "client")


def of_deploy(name: str) -> bool:
    """Whether deploy, and no service's stage, gives hosts the key of an entity."""
    return name in CAPS or name.startswith("mgr.")


def keyring(keys: Mapping[str, str], caps: Mapping[str, Mapping[str, str]], names: Iterable[str]) -> str:
    """Return a keyring file's text with the named entities and their capabilities (ceph-authtool(8))."""
    lines = []
    for name in names:
        lines += [f"[{name}]", f"\tkey = {keys[name]}"]
        lines += [f'\tcaps {service} = "{cap}"' for service, cap in sorted(caps[name].items())]
    return "\n".join(lines) + "\n"


def of_keyring(text: str, name: str) -> str:
    """Return an entity's key of a keyring's text. Raises ArgumentError where there is none."""
    section = re.search(rf"^\[{re.escape(name)}\]\s*\n(?P<lines>(?:(?!\[).*\n?)*)", text, re.MULTILINE)
    key = re.search(r"^\s*key\s*=\s*(?P<key>\S+)\s*$", section["lines"], re.MULTILINE) if section else None
    if not key or not CEPHX.fullmatch(key["key"]):
        raise ArgumentError(
            f"there is no key of {names.shown(name)} in it: expected a keyring as 'ceph auth get {names.shown(name)}' "
            "prints it"
        )
    return key["key"]


def tells(uses: Mapping[str, str], name: str, old: Collection[str]) -> bool:
    """Whether what a minion may know (``minion``'s answer) holds an entity's keyring, or alone one of its keys, which
    are known by their hashes.
    """
    return any(digest(text) in old or f"[{name}]\n" in text for text in uses.values())


def rekeyed(uses: Mapping[str, str], name: str, old: Collection[str], new: str) -> dict[str, str]:
    """Return what a minion may know with another key of an entity, in keyrings and where it stands alone.

    Arguments as for ``tells``.
    """
    section = re.compile(rf"(^\[{re.escape(name)}\]\n\tkey = )\S+", re.MULTILINE)
    return {use: new if digest(text) in old else section.sub(rf"\g<1>{new}", text) for use, text in uses.items()}


def minion(
    keys: Mapping[str, str],
    caps: Mapping[str, Mapping[str, str]],
    roles: list[str],
    host: str,
    more: Mapping[str, list[str] | str] | None = None,
    crashes: bool = True,
) -> dict[str, str]:
    """Return what one minion may know, by the name of its use: only what its roles need.

    keys
        Keys, passwords and the site's own files, by name.
    caps
        The capabilities of every key that the plan needs, as ``entities`` gives them.
    host
        The minion's host name, which its daemons carry.
    more
        What its services use: a list of entities makes a keyring, a text names a password or a file.
    crashes
        Whether hosts with daemons post what a crash of one leaves.
    """
    uses: dict[str, list[str] | str] = {use: what for use, what in (more or {}).items() if crashes or use not in CRASH}
    if "mon" in roles:
        uses["mon"] = ["mon.", "client.admin"]  # a monitor's own store holds every key anyway
    if "admin" in roles or "master" in roles:
        uses["admin"] = ["client.admin"]
    if "mgr" in roles:
        uses["mgr"] = [f"mgr.{host}"]
    if "storage" in roles:
        uses["bootstrap-osd"] = ["client.bootstrap-osd"]
    if crashes and set(DAEMONS) & set(roles):
        uses |= CRASH
    if "master" in roles:
        uses["register"] = sorted(name for name in caps if name not in ("mon.", "client.admin"))
    return {
        use: keyring(keys, caps, what) if isinstance(what, list) else keys[what] for use, what in sorted(uses.items())
    }
