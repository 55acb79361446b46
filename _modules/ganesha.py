"""NFS-Ganesha on this host: asked over D-Bus what it exports, made to read its exports again."""

import contextlib
import json
import re
from collections.abc import Callable, Collection
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

START = 60  # seconds until a server that starts answers; it takes 5
REREAD = 10  # seconds until it serves what it reads again; a file system is mounted in 1
PAUSE = 0.5  # seconds between two looks
LIMIT = 30  # seconds one command may take
EXPORTS = Path("/etc/ganesha/exports.conf")
LOG = "/var/log/ganesha/ganesha.log"
READ = Path("/etc/ganesha/exports.read")  # the same as the server has read it
# What is in EXPORTS, as its template has it: an export, its id, what it mounts.
BLOCK, ID = re.compile(r"^EXPORT \{$.*?^\}\n", re.M | re.S), re.compile(r"Export_Id = (\d+);")
MOUNTS = re.compile(r"^    Path = .*?;$|^    FSAL \{$.*?^    \}$", re.M | re.S)
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
            f"the NFS server does not answer: look at {LOG} and 'journalctl -u nfs-ganesha'; {err}"
        ) from err
    return sorted(set(exports) - {export[0] for export in answer["data"][1]})


def reload(exports: Collection[int]) -> list[int]:
    """Let the server read its exports again, and return which of these it still does not serve. Clients of others
    notice nothing.

    It does not take another path or FSAL of an export that it serves: one it drops, the other it passes over (4.3,
    export_commit_common, fsal_update_cfg_commit). Such an export is left out once, and then is a new one.

    exports
        Ids of exports.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha.reload '[29150]'
    """
    missing(exports)  # before it answers, it would die of the signal
    text, before = _text(EXPORTS), _mounts(_text(READ))
    others = {export for export, mounts in _mounts(text).items() if before.get(export, mounts) != mounts}
    if others:
        halocline.write(EXPORTS, BLOCK.sub(lambda block: "" if _id(block[0]) in others else block[0], text), 0o600)
        try:
            _reread(lambda: set(missing(others)) == others)  # a server that keeps one would go on with it
        finally:
            halocline.write(EXPORTS, text, 0o600)
    with contextlib.suppress(CommandExecutionError):
        _reread(lambda: not missing(exports))
    halocline.write(READ, text, 0o600)
    return missing(exports)


def unread() -> bool:
    """Return whether the file of exports was changed since the server has read it.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha.unread
    """
    return _text(EXPORTS) != _text(READ) and bool(
        __salt__["daemons.seen"]("nfs-ganesha", [str(EXPORTS)], reloads=True)["newer"]
    )


def unkept() -> bool:
    """Return whether the file of exports is as the server has read it, and is not kept as such.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha.unkept
    """
    return EXPORTS.exists() and _text(EXPORTS) != _text(READ) and not unread()


def keep() -> None:
    """Keep the file of exports, which the server has read: a later one is compared with it.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha.keep
    """
    halocline.write(READ, _text(EXPORTS), 0o600)


def ended() -> bool:
    """Return whether no NFS server runs here: neither its unit nor a process.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha.ended
    """
    active = halocline.status(["systemctl", "--quiet", "is-active", "nfs-ganesha"], limit=LIMIT) == 0
    return not active and halocline.status(["pgrep", "--exact", "ganesha.nfsd"], limit=LIMIT) == 1  # it found none


def _reread(done: Callable[[], bool]) -> None:
    """Let the server read the file of exports, and wait until it has done so; raise where it has not."""
    __salt__["service.reload"]("nfs-ganesha")

    def seen() -> None:
        if not done():
            raise CommandExecutionError(f"the NFS server does not serve what {EXPORTS} says: look at {LOG}")

    halocline.until(seen, REREAD, pause=PAUSE)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _mounts(text: str) -> dict[int, list[str]]:
    """What each export of a file mounts, by its id."""
    return {_id(block): MOUNTS.findall(block) for block in BLOCK.findall(text)}


def _id(block: str) -> int:
    found = ID.search(block)
    return int(found[1]) if found else 0
