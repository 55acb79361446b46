"""The command that builds packages: what it does to the folder that it is told."""

import re
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


def test_an_upgraded_rpm_installs_when_the_older_ones_files_are_gone(checkout: Path) -> None:
    """rpm removes what only the older package had after the newer one's %post, which would copy it with the rest."""
    spec = (checkout / "srv/packages/halocline.spec").read_text()
    scripts = dict(re.findall(r"^%(post\w*|pre\w*)$\n(.*?)(?=^%|\Z)", spec, re.M | re.S))
    installs = [name for name, script in scripts.items() if re.search("srv/install$", script, re.M)]
    assert installs == ["posttrans"] and "--undo" in scripts["preun"]
