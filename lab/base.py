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
TAR = CACHE / f"{NAME}-{TAG}.tar"


def ensure(client: DockerClient) -> None:
    """See that the base image is there."""
    try:
        client.images.get(f"{NAME}:{TAG}")
        return
    except ImageNotFound:
        pass
    if registry_answers():
        with step(f"pull {NAME}:{TAG}"):
            try:
                client.images.pull(NAME, TAG)
                return
            except APIError:
                pass  # a registry that answers and then refuses: make it ourselves
    make()
    with step(f"import {NAME}:{TAG}"), TAR.open("rb") as tar:
        client.api.import_image_from_stream(tar, repository=NAME, tag=TAG)
    TAR.unlink()


def registry_answers() -> bool:
    """Whether there is a registry to pull from."""
    try:
        socket.create_connection(REGISTRY, timeout=3).close()
    except OSError:
        return False
    return True


def make() -> None:
    """Make the base system as a tar; that of a killed run is taken."""
    if TAR.exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    draft = TAR.with_suffix(".new")
    with step(f"make {NAME}:{TAG} with mmdebstrap"):
        run("mmdebstrap", "--variant=minbase", "--format=tar", SUITE, draft, *SOURCES)
    draft.rename(TAR)
