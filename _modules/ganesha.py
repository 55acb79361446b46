"""NFS-Ganesha on this host: asked over D-Bus what it exports, told to read its exports again."""

import json
import time

from salt.exceptions import CommandExecutionError

START = 60  # seconds until a server that starts answers; it takes 5
REREAD = 10  # seconds until it serves what it was told to read again; a file system is mounted in 1
ASK = ["busctl", "--system", "--json=short", "call", "org.ganesha.nfsd", "/org/ganesha/nfsd/ExportMgr"]
ASK += ["org.ganesha.nfsd.exportmgr", "ShowExports"]


def missing(wanted, limit=START):
    """Return which of these exports the server does not serve. One that starts is waited for: it answers when it has
    read all of them. Raises where none answers.

    wanted
        Ids of exports.
    limit
        Seconds to wait.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha.missing '[29150]'
    """
    end = time.monotonic() + limit
    while True:
        try:
            answer = json.loads(__salt__["commands.run"](ASK))
            return sorted(set(wanted) - {export[0] for export in answer["data"][1]})
        except CommandExecutionError as err:
            if time.monotonic() > end:
                where = "/var/log/ganesha/ganesha.log and 'journalctl -u nfs-ganesha'"
                raise CommandExecutionError(f"the NFS server does not answer after {limit} s: look at {where}") from err
            time.sleep(0.5)


def reload(wanted):
    """Let the server read its exports again, and return which of these it still does not serve. Clients of others
    notice nothing.

    wanted
        Ids of exports.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha.reload '[29150]'
    """
    missing(wanted)  # before it answers, it would die of the signal
    __salt__["service.reload"]("nfs-ganesha")
    end = time.monotonic() + REREAD
    while (lacking := missing(wanted)) and time.monotonic() < end:
        time.sleep(0.5)
    return lacking
