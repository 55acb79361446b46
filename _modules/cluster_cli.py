"""Ask the cluster, on a host with the admin's key: one way for every module here that does."""

import json
import subprocess

from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds one command may take
CONNECT = 30  # of these, seconds to find a monitor


def ask(words, stdin=None):
    """Return the JSON that a ``ceph`` command answers; ``None`` where it answers nothing.

    words
        The command's words, such as ``[osd, dump]``. No secret may be among them: other users see them.
    stdin
        What it reads from its standard input.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.ask '[osd, tree]'
    """
    out = tell([*words, "--format", "json"], stdin)
    return json.loads(out) if out.strip() else None


def tell(words, stdin=None):
    """Return what a ``ceph`` command prints; raise its own words where it fails.

    Where its exit status is the answer (``osd safe-to-destroy``, ``osd ok-to-stop``), this is the way to ask: Ceph 16
    exits with 0 whatever the answer where JSON was asked for.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.tell '[osd, out, "3"]'
    """
    command = ["ceph", "--connect-timeout", str(CONNECT), *words]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as err:
        raise CommandExecutionError(f"ceph {' '.join(words)}: no answer after {LIMIT} s") from err
    if done.returncode:
        raise CommandExecutionError(f"ceph {' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout
