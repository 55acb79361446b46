"""The base image debian:bookworm: from a registry where one answers quickly, else made with mmdebstrap."""

import socket

from docker import DockerClient
from docker.errors import APIError, ImageNotFound

from lab.commands import run
from lab.progress import step
from lab.store import CACHE

NAME, TAG, SUITE = "debian", "bookworm", "bookworm"
REGISTRY = ("registry-1.docker.io", 443)
MIRROR = "http://deb.debian.org/debian"
SOURCES = (
    f"deb {MIRROR} {SUITE} main",
    f"deb {MIRROR} {SUITE}-updates main",
    f"deb {MIRROR}-security {SUITE}-security main",
)
# An image that loses its power half-way is made again: dpkg waits for the disk at no file. The registry's has it, too.
UNSAFE = "--dpkgopt=force-unsafe-io"
TAR = CACHE / f"{NAME}-{TAG}.tar"


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
    _make()
    with step(f"import {NAME}:{TAG}"):
        run("docker", "import", TAR, f"{NAME}:{TAG}")
    TAR.unlink()


def make() -> None:
    """Make what `ensure` would make without a registry."""
    if not _registry_answers():
        _make()


def _registry_answers() -> bool:
    try:
        socket.create_connection(REGISTRY, timeout=3).close()
    except OSError:
        return False
    return True


def _make() -> None:
    """Make the base system as a tar; that of a killed run is taken."""
    if TAR.exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    draft = TAR.with_suffix(".new")
    with step(f"make {NAME}:{TAG} with mmdebstrap"):
        run("mmdebstrap", "--variant=minbase", "--format=tar", UNSAFE, SUITE, draft, *SOURCES)
    draft.rename(TAR)
