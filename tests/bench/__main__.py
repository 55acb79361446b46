"""``python -m tests.bench`` (or ``python tests/bench``): every benchmark of the project; ratios, no clock asserted.

``--planner``, ``--stages``, ``--deploy`` or ``--disks`` runs one alone; what follows are its own words.
"""

import runpy
import sys
from pathlib import Path

KNOWN = ("planner", "stages", "deploy", "disks")
here = Path(__file__).parent
sys.path.insert(0, str(here))
chosen = [name for name in KNOWN if f"--{name}" in sys.argv[1:]] or KNOWN
sys.argv[1:] = [word for word in sys.argv[1:] if word.removeprefix("--") not in KNOWN]
for name in chosen:
    runpy.run_path(str(here / f"{name}.py"), run_name="__main__")
