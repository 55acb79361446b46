"""The command that builds packages: what it does to the folder that it is told."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_nothing_goes_from_the_folder_that_packages_are_put_in(checkout: Path, tmp_path: Path) -> None:
    """Building them ends at once: none of the tools that it looks for can do anything."""
    tools, folder = tmp_path / "tools", tmp_path / "repository"
    for path in (tools, folder):
        path.mkdir()
    for name in ("dh", "dh_python3", "dpkg-buildpackage", "rpmbuild", "git"):
        (tools / name).symlink_to("/bin/false")
    (folder / "other_1.0_all.deb").touch()
    words = [sys.executable, str(checkout / "srv/packages"), str(folder)]
    done = subprocess.run(words, env={"PATH": str(tools)}, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and [path.name for path in folder.iterdir()] == ["other_1.0_all.deb"]
