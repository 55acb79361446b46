"""Build the packages: ``python srv/packages [FOLDER]``, from the last commit of this checkout.

FOLDER (build/packages) gets ``halocline`` (the master's part) and ``halocline-planner`` as .deb, both as .rpm, and the
planner as a wheel; what lies in it stays. Debian's own tools build them: debhelper, rpmbuild; pip fetches the pinned
libraries that Salt's Python may lack. Minions need no package: Salt sends them their modules.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from configparser import ConfigParser
from email.utils import formatdate
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
TOOLS = {"debhelper": "dh", "dh-python": "dh_python3", "dpkg-dev": "dpkg-buildpackage", "rpm": "rpmbuild"}
PYTHONS = ("3.11", "3.12", "3.13")  # of Salt: those for which wheels of libraries come along
CHANGES = "{name} ({version}) unstable; urgency=medium\n\n  * CHANGELOG.md has all changes.\n\n -- {who}  {when}\n"
MAINTAINER = "The Halocline authors <halocline@localhost>"


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else CHECKOUT / "build/packages").resolve()
    if lacking := [package for package, tool in TOOLS.items() if not shutil.which(tool)]:
        if os.geteuid():
            sys.exit(f"error: {', '.join(lacking)} are not installed: 'sudo apt-get install {' '.join(lacking)}'")
        _run("apt-get", "install", "--quiet=2", "--yes", "--no-install-recommends", *lacking)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as work:
        made = [path.rename(target / path.name) for path in _built(Path(work))]
    print("\n".join(map(str, sorted(made))))


def _built(work: Path) -> list[Path]:
    """Build all packages below an empty folder."""
    setup = ConfigParser()
    setup.read_string(_told("git", "show", "HEAD:setup.cfg"))
    version = f"{setup['metadata']['version']}+{_told('git', 'rev-list', '--count', 'HEAD')}"
    source = work / f"halocline-{version}"
    source.mkdir()
    subprocess.run(f"git archive HEAD | tar -x -C '{source}'", shell=True, cwd=CHECKOUT, check=True)
    pins = [line for line in setup["options"]["install_requires"].split("\n") if "==" in line and line[0] != "#"]
    for python in PYTHONS:
        _run(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:",
             "--python-version", python, "--dest", source / "wheels", *pins)  # fmt: skip
    _debian(source, version)
    _rpm(source, version, work / "rpm")
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", work, source)
    return [*work.glob("*.deb"), *work.glob("*.whl"), *(work / "rpm/RPMS").rglob("*.rpm")]


def _debian(source: Path, version: str) -> None:
    """Build the .deb files, beside the source."""
    shutil.copytree(source / "srv/packages/debian", source / "debian")
    when = formatdate(int(_told("git", "log", "-1", "--format=%ct")))
    told = CHANGES.format(name="halocline", version=version, who=MAINTAINER, when=when)
    (source / "debian/changelog").write_text(told)
    _run("dpkg-buildpackage", "--build=binary", "--no-sign", "--no-check-builddeps", cwd=source)
    shutil.rmtree(source / "debian")


def _rpm(source: Path, version: str, top: Path) -> None:
    """Build the .rpm files below ``top``."""
    (top / "SOURCES").mkdir(parents=True)
    _run("tar", "-czf", top / f"SOURCES/halocline-{version}.tar.gz", "-C", source.parent, source.name)
    spec = source / "srv/packages/halocline.spec"
    _run("rpmbuild", "-bb", "--quiet", "--define", f"_topdir {top}", "--define", f"halocline_version {version}", spec)


def _run(*words: str | Path, cwd: Path = CHECKOUT) -> None:
    """Run a program; where it fails, what it said is the error."""
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, words))}:\n{(done.stdout + done.stderr)[-3000:]}")


def _told(*words: str) -> str:
    return subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
