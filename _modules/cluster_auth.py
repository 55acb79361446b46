"""The keys that the cluster knows, brought in line with those that the master made."""

import configparser
import json
import subprocess

from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds one command may take


def missing():
    """Return the names in this host's ``register`` keyring that the cluster lacks or knows by another key or caps.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_auth.missing
    """
    known = {entry["entity"]: entry for entry in json.loads(_ceph(["auth", "ls"]))["auth_dump"]}
    names = []
    for name, key, caps in _wanted():
        entry = known.get(name, {})
        if entry.get("key") != key or entry.get("caps") != caps:
            names.append(name)
    return names


def register():
    """Give the cluster every key of this host's ``register`` keyring, by standard input.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_auth.register
    """
    _ceph(["auth", "import", "-i", "-"], stdin=_keyring())
    return True


def admin_differs():
    """Return whether the cluster has another key for ``client.admin`` than this monitor's host was told.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' cluster_auth.admin_differs
    """
    wanted = {name: key for name, key, _ in _sections(__pillar__["ceph_secrets"]["mon"])}["client.admin"]
    return _as_monitor(["auth", "get-key", "client.admin"]).strip() != wanted


def set_admin():
    """Give the cluster this host's key of ``client.admin``, in the name of its monitor: the old one may be gone.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' cluster_auth.set_admin
    """
    told = __pillar__["ceph_secrets"]["mon"]
    _as_monitor(["auth", "import", "-i", "-"], stdin=told[told.index("[client.admin]") :])
    return True


def _as_monitor(words, stdin=None):
    keyring = f"/var/lib/ceph/mon/ceph-{__grains__['host']}/keyring"
    command = ["ceph", "--name", "mon.", "--keyring", keyring, "--connect-timeout", "30", *words]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT, check=False)  # noqa: S603
    if done.returncode:
        raise CommandExecutionError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _keyring():
    return __pillar__["ceph_secrets"]["register"]


def _wanted():
    return _sections(_keyring())


def _sections(keyring):
    """``(name, key, caps)`` of each section of a keyring (ceph-authtool(8) gives its form)."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(keyring.replace("\t", ""))
    for name in parser.sections():
        section = dict(parser[name])
        caps = {key.split(None, 1)[1]: value.strip('"') for key, value in section.items() if key.startswith("caps ")}
        yield name, section["key"], caps


def _ceph(arguments, stdin=None):
    command = ["ceph", "--connect-timeout", "30", "--format", "json", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise CommandExecutionError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout
