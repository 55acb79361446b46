"""The keys that the cluster knows, brought in line with those that the master made."""

import configparser
import hashlib
from collections.abc import Iterator, Sequence

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds one command may take
CONNECT = 30  # of these, seconds to find a monitor


def missing() -> list[str]:
    """Return the names in this host's ``register`` keyring that the cluster lacks or knows by another key or caps.

    Raises where such a key is none that the master made: keys are never replaced unasked.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_auth.missing
    """
    registered = {entry["entity"]: entry for entry in __salt__["cluster_cli.ask"](["auth", "ls"])["auth_dump"]}
    used = any(name.startswith("osd.") for name in registered)
    names, strange = [], []
    for name, key, caps in _sections(_keyring()):
        entry = registered.get(name, {})
        if entry.get("key") != key or entry.get("caps") != caps:
            names.append(name)
        # Monitors make bootstrap keys themselves with their store, so until an OSD was made nobody has used them.
        unused = name.startswith("client.bootstrap-") and not used
        if entry and entry["key"] != key and not unused and not _earlier(name, entry["key"]):
            strange.append(name)
    _refuse(strange)
    return names


def register() -> bool:
    """Give the cluster every key of this host's ``register`` keyring, by standard input.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_auth.register
    """
    __salt__["cluster_cli.tell"](["auth", "import", "-i", "-"], stdin=_keyring())
    return True


def remove(names: Sequence[str]) -> dict[str, list[str]]:
    """Take keys out of the cluster that no daemon or client of ours has any more; return which went.

    Refused for those that the master still registers, and those by which a cluster is known.

    names
        Entities, such as ``[mds.node4]``.

    CLI Example: for ``ceph.stage.removal``.
    """
    kept = {name for name, _, _ in _sections(_keyring())}
    if wrong := [name for name in names if name in kept or name.startswith(("mon.", "client.admin", "client.boot"))]:
        raise CommandExecutionError(f"{', '.join(wrong)}: still needed: no key was removed")
    known = {entry["entity"] for entry in __salt__["cluster_cli.ask"](["auth", "ls"])["auth_dump"]}
    gone = [name for name in names if name in known]
    for name in gone:
        __salt__["cluster_cli.tell"](["auth", "rm", name])
    return {"removed": gone}


def admin_differs() -> bool:
    """Return whether the cluster has another key for ``client.admin`` than this monitor's host has in pillar.

    Raises as ``missing`` does.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' cluster_auth.admin_differs
    """
    keys = {name: key for name, key, _ in _sections(__pillar__["ceph_secrets"]["mon"])}
    key = _as_monitor(["auth", "get-key", "client.admin"]).strip()
    differs = key != keys["client.admin"]
    _refuse(["client.admin"] if differs and not _earlier("client.admin", key) else [])
    return differs


def set_admin() -> bool:
    """Give the cluster this host's key of ``client.admin``, in the name of its monitor: the old one may be gone.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' cluster_auth.set_admin
    """
    keyring = __pillar__["ceph_secrets"]["mon"]
    _as_monitor(["auth", "import", "-i", "-"], stdin=keyring[keyring.index("[client.admin]") :])
    return True


def _earlier(name: str, key: str) -> bool:
    """Whether a key is one that ``secret.rotate`` replaced: the master tells their hashes."""
    return hashlib.sha256(key.encode()).hexdigest() in __pillar__.get("ceph_earlier_keys", {}).get(name, ())


def _refuse(names: Sequence[str]) -> None:
    if names:
        raise CommandExecutionError(
            f"{', '.join(names)}: the cluster has another key than the master, and none that the master made: nothing "
            "was replaced; put the keys of the master that deployed this cluster back, or write a key that was "
            "changed by hand there, run ceph.stage.configure, then this again"
        )


def _as_monitor(words: Sequence[str], stdin: str | None = None) -> str:
    keyring = f"/var/lib/ceph/mon/ceph-{__grains__['host']}/keyring"
    command = ["ceph", "--name", "mon.", "--keyring", keyring, "--connect-timeout", str(CONNECT), *words]
    return halocline.run(command, stdin=stdin, limit=LIMIT)


def _keyring() -> str:
    return __pillar__["ceph_secrets"]["register"]


def _sections(keyring: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """``(name, key, caps)`` of each section of a keyring (ceph-authtool(8) gives its form)."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(keyring.replace("\t", ""))
    for name in parser.sections():
        section = dict(parser[name])
        caps = {key.split(None, 1)[1]: value.strip('"') for key, value in section.items() if key.startswith("caps ")}
        yield name, section["key"], caps
