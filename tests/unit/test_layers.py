"""The order of the rooms of ``proposals`` and ``runners/engine``, as `make lint` proves it: planted faults are seen."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PLANTED = {
    "as it stands": (None, "", 0),
    "a lower room asks a higher one": ("proposals/text/sizes.py", "from proposals.disks import plan\n", 1),
    "a circle of files": ("proposals/policy/fragments.py", "from proposals.policy import store\n", 1),
    "a circle of types alone": (
        "proposals/policy/fragments.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from proposals.policy import store\n",
        1,
    ),
    "a room that no layer names": ("proposals/drawer/__init__.py", "", 1),
    "planning asks a runner": ("proposals/text/sizes.py", "from runners import osd\n", 1),
    "a lower room of the engine asks a higher one": (
        "runners/engine/asking/planned.py",
        "from runners.engine.osds import migration\n",
        1,
    ),
    "a room of the engine that no layer names": ("runners/engine/drawer/empty.py", "", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", PLANTED)
def test_the_layers_hold(case, tmp_path):
    path, line, status = PLANTED[case]
    for folder in ("proposals", "runners"):
        shutil.copytree(CHECKOUT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "setup.cfg", tmp_path)
    if path:
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(line + (file.read_text() if file.exists() else ""))
    words = [Path(sys.executable).with_name("lint-imports"), "--config", "setup.cfg", "--no-cache", "--no-logo"]
    # ``runners`` has no ``__init__.py``: Python joins all of that name on its path, and another test put ours there.
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
