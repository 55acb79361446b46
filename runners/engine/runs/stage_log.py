"""What each run of a stage leaves, ``STAGE-TIME.jsonl``, one record a line (``proposals/stages/records.py``)."""

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from proposals.files import atomic, pruning
from proposals.pillar import redaction
from proposals.stages.records import Record, record
from proposals.text.errors import ProposalError
from runners.engine.runs.stage_lock import Job

KEPT = 200  # logs of stages' runs
PIECE = 1 << 16  # bytes of a log that are read at once from its end


def new(opts: Mapping, job: Job) -> Path:
    """Make the log of a stage's run, named after the stage and the job's time; return its path.

    Readable by root and its group alone. Raises ProposalError where it cannot be written.

    opts
        The master's options.
    job
        What ``stage_lock.take`` returned.
    """
    stem = f"{job['stage']}-{job['jid'][:8]}T{job['jid'][8:14]}"
    for name in (stem, f"{stem}.{job['jid'][14:]}"):
        path = _folder(opts) / f"{name}.jsonl"
        told = ("stage", "jid", "pid", "user", "arguments", *(key for key in ("only", "steps") if job.get(key)))
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640))
            pruning.prune(set(paths(opts)) - {path}, KEPT - 1)  # where the clock went back, others are newer
            append(path, record("stage", **{key: job[key] for key in told}))
        except FileExistsError:
            continue
        except OSError as err:
            raise ProposalError(f"the run log {path} cannot be written: {atomic.why(err, path)}") from err
        return path
    raise ProposalError(f"the run log {stem}.jsonl is there already")


def add(path: str | Path, event: str, **more: Any) -> None:
    """Add a record of now to a log; where its disk is full, nothing is added, and nothing ends by that."""
    with contextlib.suppress(OSError):
        append(path, record(event, **more))


def append(path: str | Path, line: Record, hide: Callable[[str], str] = str) -> None:
    """Append one record in one write: what reads along never sees half of it.

    hide
        Masks secrets in each of its texts.
    """
    text = (json.dumps(redaction.every(line, hide)) + "\n").encode()
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        if (written := os.write(fd, text)) < len(text):  # a full disk took a part, which the next would be joined to
            os.ftruncate(fd, os.fstat(fd).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(fd)


def paths(opts: Mapping) -> list[Path]:
    """Return the logs that are there, the oldest first."""
    return sorted(_folder(opts).glob("*-*.jsonl"), key=lambda path: path.name.rpartition("-")[2])


def read(path: str | Path) -> list[Record]:
    """Return the records of a log."""
    return [told for line in _lines(path) if (told := known(line))]


def whole(path: str | Path) -> list[str]:
    """Return the lines of a log, without one that is half written yet."""
    return [line for line in _lines(path) if line.endswith("\n")]


def ends(path: str | Path) -> tuple[Record, Record] | None:
    """Return the first and the last record of a log; None where it has none yet.

    A beginning that a full disk or a power failure cut off is told as far as the file's name knows it.
    """
    with Path(path).open("rb") as file:
        ways = ((line.decode(errors="replace") for line in way) for way in (file, _backwards(file)))
        first, last = (next(filter(None, map(known, way)), None) for way in ways)
    if not first or not last:
        return None
    if first["event"] != "stage":
        stage = Path(path).name.rpartition("-")[0]
        typed = [f"ceph.stage.{stage}", "(its beginning was not kept)"]
        first = {"time": first["time"], "event": "stage", "stage": stage, "user": "not kept", "arguments": typed}
    return first, last


def known(line: str) -> Record | None:
    """Return the record in a line; None where it is half written yet, or was cut by a full disk or a power failure."""
    try:
        return json.loads(line) if line.endswith("\n") else None
    except ValueError:
        return None


def noted(opts: Mapping) -> list[tuple[str, Record]]:
    """Return what commands noted in logs of their own, each with its command; not what was rotated away."""
    logs = sorted(set(_folder(opts).glob("*.jsonl")) - set(paths(opts)))
    return [(path.stem, line) for path in logs for line in read(path)]


def note(opts: Mapping, command: str, event: str, **more: Any) -> None:
    """Add a record of now to the log of a command outside the stages, ``COMMAND.jsonl``; made where it is absent.

    srv/logrotate.d/halocline names each of these logs; that they are rotated is why each record opens its log anew.
    Who typed it stands in it too. Raises ProposalError where it cannot be written.
    """
    path = _folder(opts) / f"{command}.jsonl"
    try:
        path.touch(mode=0o640)
        append(path, record(event, **{"user": typist(opts), **more}))
    except OSError as err:
        raise ProposalError(f"the log {path} cannot be written: {atomic.why(err, path)}") from err


def typist(opts: Mapping) -> str:
    """Return who typed the command that runs: of one behind sudo, who typed that."""
    return os.environ.get("SUDO_USER") or str(opts.get("user"))


def _folder(opts: Mapping) -> Path:
    folder = opts.get("halocline_log_dir")
    if not folder:
        raise ProposalError(
            "the master's configuration has no halocline_log_dir: run srv/install again and restart the master"
        )
    try:
        Path(folder).mkdir(mode=0o750, parents=True, exist_ok=True)
    except OSError as err:
        raise ProposalError(f"the run logs' folder {folder} cannot be made: {atomic.why(err, folder)}") from err
    return Path(folder)


def _backwards(file: BinaryIO) -> Iterator[bytes]:
    """Lines from the last one on: of a thousand hosts a log has megabytes, and there are ``KEPT`` of them."""
    at, rest = file.seek(0, os.SEEK_END), b""
    while at:
        size = min(at, PIECE)
        at = file.seek(at - size)
        rest, *lines = (file.read(size) + rest).splitlines(keepends=True)
        yield from reversed(lines)
    yield rest


def _lines(path: str | Path) -> list[str]:
    return Path(path).read_text(errors="replace").splitlines(keepends=True)
