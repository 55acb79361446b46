"""The root file system that all guests share: the node image as an ext4 file, with the kernel's modules."""

import hashlib
import shutil
import subprocess
from pathlib import Path

from docker import DockerClient

from lab import daemon, image
from lab.commands import run
from lab.errors import LabError
from lab.progress import step
from lab.store import CACHE

HERE = Path(__file__).parent
MODULES = Path("/usr/lib/uml/modules")
SIZE = 8 << 30  # bytes, sparse
SYSTEM = Path("etc/systemd/system")


def ensure(client: DockerClient, in_use: set[Path]) -> Path:
    """See that the base image is there; returns its path. Its name tells what went into it.

    in_use: bases that guests build on; other old ones are removed before a new one is made.
    """
    daemon.install_missing({"linux.uml": "user-mode-linux", "uml_mconsole": "uml-utilities"})
    node = image.ensure(client)
    path = CACHE / f"guest-{_digest(node)}.img"
    if not path.exists():
        for old in set(CACHE.glob("guest-*.img")) - in_use:
            old.unlink()
        with step("make the guests' root file system"):
            _make(client, node, path)
    return path


def _digest(node: str) -> str:
    digest = hashlib.sha256(f"{node} {sorted(MODULES.iterdir())}".encode())
    for source in sorted(HERE.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts and source.suffix not in (".py", ".c"):
            digest.update(str(source.relative_to(HERE)).encode() + source.read_bytes())
    return digest.hexdigest()[:12]


def _make(client: DockerClient, node: str, path: Path) -> None:
    root, draft = path.with_suffix(".root"), path.with_suffix(".new")
    shutil.rmtree(root, ignore_errors=True)
    draft.unlink(missing_ok=True)
    root.mkdir(parents=True)
    try:
        _export(client, node, root)
        shutil.copytree(HERE / "files", root, dirs_exist_ok=True)
        (root / "host").mkdir(exist_ok=True)
        for kernel in MODULES.iterdir():
            shutil.copytree(kernel, root / "usr/lib/modules" / kernel.name, symlinks=True)
        _set_units(root)
        run("truncate", "-s", str(SIZE), draft)
        run("mkfs.ext4", "-q", "-F", "-d", root, draft)
        draft.rename(path)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _export(client: DockerClient, node: str, root: Path) -> None:
    container = client.containers.create(node)
    try:
        with subprocess.Popen(["tar", "-x", "-p", "-C", root], stdin=subprocess.PIPE) as tar:
            assert tar.stdin  # a pipe was asked for
            for chunk in container.export():
                tar.stdin.write(chunk)
            tar.stdin.close()
    finally:
        container.remove()
    if tar.returncode:
        raise LabError(f"the node image cannot be unpacked: tar ended with status {tar.returncode}.")
    for name in (".dockerenv", "etc/resolv.conf", "etc/fstab"):
        (root / name).unlink(missing_ok=True)


def _set_units(root: Path) -> None:
    """Do what units.txt says. Links only: the image's own systemctl is made for another root."""
    for line in (HERE / "units.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        what, unit = line.split()
        link = root / SYSTEM / unit
        if what == "enable":
            link = root / SYSTEM / "multi-user.target.wants" / unit
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        if what == "mask":
            link.symlink_to("/dev/null")
        elif what == "enable":
            own = SYSTEM / unit
            link.symlink_to(f"/{own}" if (root / own).exists() else f"/lib/systemd/system/{unit}")
