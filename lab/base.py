"""The base image debian:bookworm: from a registry where one answers quickly, else made with debootstrap."""

import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from docker import DockerClient
from docker.errors import APIError, ImageNotFound

from lab.commands import run
from lab.errors import LabError
from lab.progress import step
from lab.store import CACHE

NAME, TAG, SUITE = "debian", "bookworm", "bookworm"
REGISTRY = ("registry-1.docker.io", 443)
SOURCES = f"""\
deb http://deb.debian.org/debian {SUITE} main
deb http://deb.debian.org/debian {SUITE}-updates main
deb http://deb.debian.org/debian-security {SUITE}-security main
"""


def ensure(client: DockerClient) -> None:
    """See that the base image is there."""
    try:
        client.images.get(f"{NAME}:{TAG}")
        return
    except ImageNotFound:
        pass
    if _registry_answers():
        with step(f"pull {NAME}:{TAG}"):
            try:
                client.images.pull(NAME, TAG)
                return
            except APIError:
                pass  # a registry that answers and then refuses: make it ourselves
    with step(f"make {NAME}:{TAG} with debootstrap"):
        _bootstrap(client)


def _registry_answers() -> bool:
    try:
        socket.create_connection(REGISTRY, timeout=3).close()
    except OSError:
        return False
    return True


def _bootstrap(client: DockerClient) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="debootstrap-", dir=CACHE))
    try:
        run("debootstrap", "--variant=minbase", SUITE, work)
        (work / "etc/apt/sources.list").write_text(SOURCES)
        for package in (work / "var/cache/apt/archives").glob("*.deb"):
            package.unlink()
        with subprocess.Popen(["tar", "-C", work, "-c", "."], stdout=subprocess.PIPE) as tar:
            client.api.import_image_from_stream(tar.stdout, repository=NAME, tag=TAG)
        if tar.returncode:
            raise LabError(f"tar of the new base system failed with status {tar.returncode}.")
    finally:
        shutil.rmtree(work, ignore_errors=True)
