"""Which cluster's keys lie on this host: hashes of them, by which the master compares; no key leaves the host."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

import halocline_monitors
import halocline_socket
from salt.exceptions import CommandExecutionError

ETC, LIB, RUN = Path("/etc/ceph"), Path("/var/lib/ceph"), Path("/run/ceph")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MONITORS = "monitors"  # the place of what they answered
LIMIT = 15  # seconds one question may take: one that is not answered is answered by the files
SECTION, KEY = re.compile(r"\[(?P<name>\S+)\]"), re.compile(r"key\s*=\s*(?P<key>\S+)")


def inspect(ask: bool = False) -> dict[str, dict[str, str]]:
    """Return ``{place: {entity: sha256 of its key}}``: of monitors' stores, of the admin's and bootstrap keyrings.

    A place is a path. A monitor's store counts without a key in it too.

    ask
        Ask this host's monitor for all that the monitors hold as well, where it is in quorum: place ``monitors``.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' host_keys.inspect
    """
    stores = [path for path in sorted(LIB.glob("mon/*")) if (path / "store.db").is_dir()]
    other = [path for path in sorted(LIB.glob("*/mon.*")) if UUID.fullmatch(path.parent.name)]  # cephadm's
    held = {str(path / "keyring"): hashes(path / "keyring") for path in (*stores, *other)}
    keyrings = (ETC / "ceph.client.admin.keyring", *sorted(LIB.glob("bootstrap-*/*.keyring")))
    held |= {str(path): hashes(path) for path in keyrings if path.exists()}
    own = LIB / "mon" / f"ceph-{__grains__['host']}"
    if ask and own in stores and (answered := _answered(own)):
        held[MONITORS] = answered
    return held


def holds(path: str, use: str, alone: bool = False) -> bool:
    """Return whether a file is a keyring that has every key of one of this host's secrets, whatever their capabilities.

    path
        The file.
    use
        The secret's key in ``ceph_secrets`` of the pillar; one that is no keyring is held by no file.
    alone
        Whether it may have no other key.

    CLI Example: for the state ``host_secret.managed``.
    """
    wanted = _hashes(__pillar__.get("ceph_secrets", {}).get(use, "").splitlines())
    held = hashes(path)
    return bool(wanted) and (wanted == held if alone else wanted.items() <= held.items())


def hashes(path: Path | str) -> dict[str, str]:
    """Return the entities of a keyring (ceph-authtool(8) gives its form), each with the hash of its key.

    path
        The keyring's; one that is not there, or no keyring, has none.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' host_keys.hashes /etc/ceph/ceph.client.admin.keyring
    """
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    return _hashes(lines)


def _hashes(lines: Iterable[str]) -> dict[str, str]:
    found, name = {}, ""
    for line in lines:
        if section := SECTION.fullmatch(line.strip()):
            name = section["name"]
        elif key := KEY.fullmatch(line.strip()):
            found[name] = _hash(key["key"])
    return found


def _answered(store: Path) -> dict[str, str]:
    """What the monitors hold, asked in the name of this host's; empty where it is in no quorum."""
    status = halocline_socket.ask(RUN / f"ceph-mon.{__grains__['host']}.asok", "mon_status", LIMIT)
    if not isinstance(status, dict) or status.get("state") not in ("leader", "peon"):
        return {}
    client = halocline_monitors.Client("mon.", str(store / "keyring"), LIMIT, LIMIT)
    try:
        (known,) = halocline_monitors.ask([["auth", "ls"]], client)
        return {entry["entity"]: _hash(entry["key"]) for entry in known["auth_dump"]}
    except (CommandExecutionError, ValueError, KeyError, TypeError):
        return {}


def _hash(key: str) -> str:
    """A key is 16 random bytes: nobody finds it by its hash."""
    return hashlib.sha256(key.encode()).hexdigest()
