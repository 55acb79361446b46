"""A load that goes on until it is stopped, and tells each second what it has done until then: fio's own status lines.

It runs as ``benchmark_load``'s unit does, under the same name: no second load runs beside it, and
``benchmark_load.stop`` ends it. Nothing here waits: fio itself is the clock (``--status-interval``, fio(1)).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

UNIT = "halocline-benchmark.service"
FOLDER = Path("/run/halocline-benchmark")
LIMIT = 60  # seconds for a short program
# In terse output, version 3 (fio's HOWTO), a line has these for writes: KiB in all, and milliseconds of the run.
TERSE = ["--output-format=terse", "--terse-version=3", "--status-interval=1"]
WRITTEN, RUNTIME = 46, 49
STAT = Path("/proc/stat")


def start(job: Mapping[str, Any], limit: int) -> bool:
    """Start a load of writes and return at once.

    job
        As ``benchmark_words.command`` takes it; fio's alone.
    limit
        Seconds after which systemd ends it, whoever forgot it.

    CLI Example: for ``salt-run recovery.measure``.
    """
    if job["tool"] != "fio" or "write" not in str(job["options"]["rw"]):
        raise CommandExecutionError("a load that is sampled is one of writes by fio")
    program, _, *words = __salt__["benchmark_words.command"](__grains__["id"], job)
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    out, err = FOLDER / "out", FOLDER / "err"
    for path in (out, err):
        path.unlink(missing_ok=True)  # systemd's "file:" writes over what is there, and leaves what is longer
    unit = ["systemd-run", f"--unit={UNIT}", "--collect", "--quiet", f"--property=RuntimeMaxSec={int(limit)}"]
    unit += ["--property=TimeoutStopSec=20"]  # a write that a lost placement group holds ends by no signal
    unit += [f"--property=StandardOutput=file:{out}", f"--property=StandardError=file:{err}"]
    halocline.run([*unit, program, *TERSE, *words], limit=LIMIT)
    return True


def since(count: int) -> dict[str, Any]:
    """Return what a load has told since so many lines: ``{at, samples: [[ms, KiB]]}``, both since its begin.

    ``at``: when the last line was written, by this host's clock, in seconds since 1970; None before the first.

    CLI Example:

    .. code-block:: bash

        salt 'client*' benchmark_sample.since 0
    """
    out = FOLDER / "out"
    written = out.stat().st_mtime if out.exists() else None
    text = out.read_text(errors="replace") if written else ""
    lines = [line for line in text[: text.rfind("\n") + 1].splitlines() if line.startswith("3;")]
    if not lines and halocline.status(["systemctl", "--quiet", "is-active", UNIT], limit=LIMIT):
        said = (FOLDER / "err").read_text(errors="replace") if (FOLDER / "err").exists() else ""
        raise CommandExecutionError(f"the load does not run; it said: {halocline.masked(said.strip()[-1000:])}")
    return {"at": written if lines else None, "samples": [_sample(line) for line in lines[int(count) :]]}


def processors() -> list[int]:
    """Return how long this host's processors were free and how long they were there, in the kernel's ticks (proc(5)).

    What runs at a lower priority (``nice``) gives way to Ceph's daemons: they are free meanwhile.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode*' benchmark_sample.processors
    """
    ticks = [int(word) for word in STAT.read_text().splitlines()[0].split()[1:9]]
    return [ticks[1] + ticks[3] + ticks[4], sum(ticks)]  # nice, idle and iowait


def _sample(line: str) -> list[int]:
    fields = line.split(";")
    try:
        return [int(fields[RUNTIME]), int(fields[WRITTEN])]
    except (IndexError, ValueError) as err:
        raise CommandExecutionError(f"fio told {line[:200]!r}: another form than its terse version 3") from err
