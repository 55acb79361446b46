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

        salt 'saltmaster' ceph_auth.missing
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

        salt 'saltmaster' ceph_auth.register
    """
    _ceph(["auth", "import", "-i", "-"], stdin=_keyring())
    return True


def _keyring():
    return __pillar__["ceph_secrets"]["register"]


def _wanted():
    """``(name, key, caps)`` of each section of the keyring (ceph-authtool(8) gives its form)."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(_keyring().replace("\t", ""))
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
