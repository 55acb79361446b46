"""The rollback of a network change: the old files are kept, and a timer of systemd puts them back unless called off.

The timer belongs to the host's first process and outlives a minion that is killed; a unit at boot does the same where
the host went down in between. Whoever renames the record first, the timer or the minion, decides.
"""

import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

HOME = Path("/var/lib/halocline/links")
RECORD, UNDOING, UNDONE, BEFORE = HOME / "undo", HOME / "undoing", HOME / "undone", HOME / "before"
APPLIED = "applied.json"
SCRIPT = "/usr/local/sbin/links-undo"
UNIT = "links-undo-timer"
LIMIT = 60  # seconds one command may take


def arm(files: Sequence[str], commands: Sequence[str], seconds: float, then: Mapping | None = None) -> None:
    """Keep the files as they are and start the timer; nothing has been changed yet.

    files
        Paths that are about to be written or removed.
    commands
        Shell commands that delete the links that are about to be made, and make the network's backend take up its files
        as they were.
    seconds
        When the rollback comes unless it is called off.
    then
        What ``applied`` answers from when it is called off.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_undo.arm '[]' '[]' 60
    """
    finish()
    draft = HOME / "undo.new"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True, mode=0o700)
    absent = []
    for path in map(Path, files):
        absent.append(str(halocline.draft(path)))
        if path.exists():
            kept = draft / "files" / path.relative_to("/")
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, kept)
        else:
            absent.append(str(path))
    for name, lines in (("absent", absent), ("commands", commands)):
        (draft / name).write_text("".join(f"{line}\n" for line in lines))
    if then:
        (draft / APPLIED).write_text(json.dumps(then))
    _run("sync", "-f", str(draft))
    # The timer first: a record that no timer puts back is one of a minion that was killed. Its AccuracySec is a minute.
    when = (f"--on-active={seconds}", "--timer-property=AccuracySec=100ms")
    _run("systemd-run", f"--unit={UNIT}", "--collect", *when, SCRIPT, f"not confirmed within {seconds} s")
    draft.rename(RECORD)
    halocline.synced(HOME)
    if not _timed():
        raise CommandExecutionError(f"the timer of {seconds} s ended before anything was changed: run it again")


def pending() -> bool:
    """Return whether a change is not confirmed, or its rollback not at its end: whatever is seen now may go again.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_undo.pending
    """
    return RECORD.exists() or UNDOING.exists()


def finish() -> None:
    """Put back what a change left that was killed together with its rollback; raise while one is under way.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_undo.finish
    """
    _remember()
    if pending():
        if _timed():
            raise CommandExecutionError(
                f"a change is under way, or its rollback: look at {HOME}; run again in a minute"
            )
        _run(SCRIPT, "interrupted")


def confirm() -> bool:
    """Call the rollback off; False where it has begun already.

    The record goes before the timer: a minion that is killed in between leaves nothing that a boot would undo. With it
    goes what is applied from now on: nothing can come between.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_undo.confirm
    """
    _remember()
    done = HOME / "confirmed"
    shutil.rmtree(done, ignore_errors=True)
    try:
        RECORD.rename(done)
    except FileNotFoundError:
        return False
    halocline.synced(HOME)
    _run("systemctl", "stop", f"{UNIT}.timer", ok=None)
    _remember()
    shutil.rmtree(done)
    shutil.rmtree(UNDONE, ignore_errors=True)
    return True


def roll_back(reason: str) -> None:
    """Roll back now. The timer ends last: where this does not come to its end, it does the same.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_undo.roll_back 'asked for'
    """
    _run(SCRIPT, reason)
    _run("systemctl", "stop", f"{UNIT}.timer", ok=None)


def undone() -> str | None:
    """Return why this host rolled back the last change; None where it did not, or one was confirmed since.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_undo.undone
    """
    return (UNDONE / "reason").read_text().strip() if (UNDONE / "reason").exists() else None


def applied() -> dict:
    """Return what was applied and confirmed last: ``{files: [...], links: {...}}``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_undo.applied
    """
    for path in (HOME / "confirmed" / APPLIED, HOME / APPLIED):
        if path.exists():
            return json.loads(path.read_text())
    return {"files": [], "links": {}}


def _remember() -> None:
    """Bring what was confirmed last to where it stays; a minion may have been killed before."""
    path = HOME / "confirmed" / APPLIED
    if path.exists():
        path.rename(HOME / APPLIED)
        halocline.synced(HOME)


def keep(path: str) -> None:
    """Keep a file that is not ours and is about to be replaced, once and for good.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_undo.keep /etc/sysconfig/network/ifcfg-eth0
    """
    kept = BEFORE / Path(path).relative_to("/")
    if Path(path).exists() and not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, kept)


def _timed() -> bool:
    """Whether the timer, or the rollback that it began, is there to end what is under way."""
    units = (f"{UNIT}.timer", f"{UNIT}.service")
    return halocline.status(["systemctl", "is-active", "--quiet", *units], limit=LIMIT) == 0


def _run(*words: str, ok: Collection[int] | None = (0,)) -> None:
    halocline.run(words, ok=ok, limit=LIMIT)
