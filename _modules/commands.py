"""Run one program of this host, for our own modules."""

import re
import subprocess

from salt.exceptions import CommandExecutionError

KEY = re.compile(r"AQ[A-Za-z0-9+/]{36,}={0,2}")  # a cephx key in base64: ceph-volume prints those that it makes


def run(command, stdin=None, ok=(0,), limit=300):
    """Return a command's standard output; raise with its own words, without keys, where it fails or does not end.

    command
        The program and its arguments, a list: no shell reads it.
    stdin
        Text for its standard input: where a secret goes, never an argument.
    ok
        Exit statuses that are no failure.
    limit
        Seconds it may take.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' commands.run '[lsblk, --nodeps]'
    """
    words = " ".join(command)
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise CommandExecutionError(f"{words}: no end after {limit} s") from None
    except OSError as err:
        raise CommandExecutionError(f"{words}: {err.strerror}") from err
    if done.returncode not in ok:
        said = KEY.sub("**********", (done.stderr or done.stdout).strip())[-2000:]
        raise CommandExecutionError(f"{words}: exit status {done.returncode}: {said}")
    return done.stdout
