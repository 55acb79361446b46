"""``python -m tests.bench`` (or ``python tests/bench``): every benchmark of the project; ratios, no clock asserted.

``--planner``, ``--stages``, ``--deploy``, ``--disks``, ``--fleet`` or ``--labs`` runs one alone; what follows are its
own words. At the end one table of what was promised, beside the last run on this machine (``kept.py``). ``--table``
prints what was measured last of each, also in runs of one benchmark alone.
"""

import runpy
import signal
import sys
from pathlib import Path

from rich.console import Console

KNOWN = ("planner", "stages", "deploy", "disks", "fleet", "labs")
here = Path(__file__).parent
sys.path.insert(0, str(here))
import kept  # noqa: E402  the path is known now

signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # what was begun is ended, as by Ctrl-C
words = [word.removeprefix("--") for word in sys.argv[1:]]
chosen = [name for name in KNOWN if name in words] or ([] if "table" in words else KNOWN)
sys.argv[1:] = [word for word in sys.argv[1:] if word.removeprefix("--") not in (*KNOWN, "table")]
if sys.argv[1:] and len(chosen) != 1:  # a single one reads its own
    raise SystemExit(f"{sys.argv[1]}: expected one of {', '.join(f'--{name}' for name in KNOWN)} or --table before it")
machine = kept.machine()
measured = kept.runs(machine)
for name in chosen:
    done = len(kept.ROWS)
    try:
        runpy.run_path(str(here / f"{name}.py"), run_name="__main__")
    except ModuleNotFoundError as error:
        raise SystemExit(f"--{name}: {error}: `make .venv` installs what benchmarks need.") from error
    if rows := kept.ROWS[done:]:  # kept now: what follows may take hours, or fail
        print(f"kept: {kept.keep(rows, machine)}")
if "table" in words:
    measured = kept.runs(machine)
    rows = [each.pop() for each in measured.values()]
else:
    rows = kept.ROWS
if rows:
    console = Console(width=140, highlight=False)
    console.print(f"\n{machine}")
    console.print(kept.table(rows, kept.last(measured)))
elif "table" in words:
    print("no benchmark was kept on this machine: `make bench` runs them")
