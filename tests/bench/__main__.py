"""``python -m tests.bench`` (or ``python tests/bench``): every benchmark of the project; ratios, no clock asserted."""

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).with_name("planner.py")), run_name="__main__")
