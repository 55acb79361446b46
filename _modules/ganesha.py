"""NFS-Ganesha on this host: asked over D-Bus what it exports, made to read its exports again."""

import contextlib
import json
from collections.abc import Collection

import halocline
from salt.exceptions import CommandExecutionError

START = 60  # seconds until a server that starts answers; it takes 5
REREAD = 10  # seconds until it serves what it reads again; a file system is mounted in 1
PAUSE = 0.5  # seconds between two looks
LIMIT = 30  # seconds one command may take
ASK = ["busctl", "--system", "--json=short", "call", "org.ganesha.nfsd", "/org/ganesha/nfsd/ExportMgr"]
ASK += ["org.ganesha.nfsd.exportmgr", "ShowExports"]


def missing(exports: Collection[int], limit: float = START) -> list[int]:
    """Return which of these exports the server does not serve. One that starts is waited for: it answers when it has
    read all of them. Raises where none answers.

    exports
        Ids of exports.
    limit
        Seconds to wait.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha.missing '[29150]'
    """
    try:
        answer = json.loads(halocline.until(lambda: halocline.run(ASK, limit=LIMIT), limit, pause=PAUSE))
    except CommandExecutionError as err:
        raise CommandExecutionError(
            f"the NFS server does not answer: look at /var/log/ganesha/ganesha.log "
            f"and 'journalctl -u nfs-ganesha'; {err}"
        ) from err
    return sorted(set(exports) - {export[0] for export in answer["data"][1]})


def reload(exports: Collection[int]) -> list[int]:
    """Let the server read its exports again, and return which of these it still does not serve. Clients of others
    notice nothing.

    exports
        Ids of exports.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha.reload '[29150]'
    """
    missing(exports)  # before it answers, it would die of the signal
    __salt__["service.reload"]("nfs-ganesha")

    def served() -> None:
        if missing(exports):
            raise CommandExecutionError("not every export is served")

    with contextlib.suppress(CommandExecutionError):
        halocline.until(served, REREAD, pause=PAUSE)
    return missing(exports)


def ended() -> bool:
    """Return whether no NFS server runs here: neither its unit nor a process.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha.ended
    """
    active = halocline.status(["systemctl", "--quiet", "is-active", "nfs-ganesha"], limit=LIMIT) == 0
    return not active and halocline.status(["pgrep", "--exact", "ganesha.nfsd"], limit=LIMIT) == 1  # it found none
