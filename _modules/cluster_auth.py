"""The keys that the cluster knows, brought in line with those that the master made."""

import configparser
from collections.abc import Iterator, Sequence

import halocline

LIMIT = 60  # seconds one command may take
CONNECT = 30  # of these, seconds to find a monitor


def missing() -> list[str]:
    """Return the names in this host's ``register`` keyring that the cluster lacks or knows by another key or caps.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_auth.missing
    """
    registered = {entry["entity"]: entry for entry in __salt__["cluster_cli.ask"](["auth", "ls"])["auth_dump"]}
    names = []
    for name, key, caps in _sections(_keyring()):
        entry = registered.get(name, {})
        if entry.get("key") != key or entry.get("caps") != caps:
            names.append(name)
    return names


def register() -> bool:
    """Give the cluster every key of this host's ``register`` keyring, by standard input.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_auth.register
    """
    __salt__["cluster_cli.tell"](["auth", "import", "-i", "-"], stdin=_keyring())
    return True


def admin_differs() -> bool:
    """Return whether the cluster has another key for ``client.admin`` than this monitor's host has in pillar.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' cluster_auth.admin_differs
    """
    keys = {name: key for name, key, _ in _sections(__pillar__["ceph_secrets"]["mon"])}
    return _as_monitor(["auth", "get-key", "client.admin"]).strip() != keys["client.admin"]


def set_admin() -> bool:
    """Give the cluster this host's key of ``client.admin``, in the name of its monitor: the old one may be gone.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' cluster_auth.set_admin
    """
    keyring = __pillar__["ceph_secrets"]["mon"]
    _as_monitor(["auth", "import", "-i", "-"], stdin=keyring[keyring.index("[client.admin]") :])
    return True


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
