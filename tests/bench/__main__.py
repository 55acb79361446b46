"""``python -m tests.bench`` (or ``python tests/bench``): every benchmark of the project; ratios, no clock asserted.

``--planner``, ``--stages``, ``--deploy``, ``--disks``, ``--fleet`` or ``--labs`` runs one alone; what follows are its
own words. At the end one table of what was promised, beside the last run on this machine (``kept.py``).
"""

import runpy
import sys
from pathlib import Path

from rich.console import Console

KNOWN = ("planner", "stages", "deploy", "disks", "fleet", "labs")
here = Path(__file__).parent
sys.path.insert(0, str(here))
import kept  # noqa: E402  the path is known now

chosen = [name for name in KNOWN if f"--{name}" in sys.argv[1:]] or KNOWN
sys.argv[1:] = [word for word in sys.argv[1:] if word.removeprefix("--") not in KNOWN]
for name in chosen:
    runpy.run_path(str(here / f"{name}.py"), run_name="__main__")
if kept.ROWS:
    console = Console(width=140, highlight=False)
    machine = kept.machine()
    console.print(f"\n{machine}")
    console.print(kept.table(kept.ROWS, kept.last(machine)))
    console.print(f"kept: {kept.keep(kept.ROWS, machine)}")
