"""The one node image, named by a hash of everything that goes into it: built when that changes, else reused."""

import configparser
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from docker import DockerClient
from docker.errors import ImageNotFound

from lab import base, daemon
from lab.commands import run
from lab.errors import LabError
from lab.progress import step
from lab.store import CACHE, CHECKOUT

SOURCE = Path(__file__).parent / "image"
LOG = CACHE / "image-build.log"
PYTHON = (3, 11)  # Debian 12's: the wheels are made by this interpreter and used by that one


def pins() -> list[str]:
    """What goes into the node's Salt: Salt itself and what proposals/ imports, pinned in setup.cfg."""
    config = configparser.ConfigParser()
    config.read(CHECKOUT / "setup.cfg")
    texts = (config["options"]["install_requires"], config["options.extras_require"]["salt"])
    return [line for text in texts for line in text.split()]


def tag() -> str:
    """Name of the image that this checkout asks for."""
    digest = hashlib.sha256("\n".join(pins()).encode())
    for path in sorted(SOURCE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(SOURCE)}\0{path.stat().st_mode:o}\0".encode() + path.read_bytes())
    return f"halocline-node:{digest.hexdigest()[:12]}"


@contextmanager
def ahead() -> Iterator[None]:
    """On a machine without Docker, make what an image is made from while Docker is installed."""
    if shutil.which("dockerd"):
        yield
        return
    daemon.install_missing({"mmdebstrap": daemon.PROGRAMS["mmdebstrap"]})
    with ThreadPoolExecutor() as side_by_side:
        wheels = side_by_side.submit(wheelhouse)
        system = side_by_side.submit(base.make)
        yield
    wheels.result()
    system.result()


def ensure(client: DockerClient) -> str:
    """See that the node image is there; returns its name."""
    name = tag()
    try:
        client.images.get(name)
        return name
    except ImageNotFound:
        pass
    with ThreadPoolExecutor() as side_by_side:  # a base system and Salt's wheels: neither waits for the other
        wheels = side_by_side.submit(wheelhouse)
        base.ensure(client)
        house = wheels.result()
    with step(f"build {name}"), tempfile.TemporaryDirectory() as context:
        shutil.copytree(SOURCE, context, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(house, Path(context, "wheelhouse"))
        _build(client, context, name)
    return name


def wheelhouse() -> Path:
    """A folder of wheels of the pins: pip inside the image build trusts no registry, and needs none."""
    house = CACHE / f"wheelhouse-{hashlib.sha256(' '.join(pins()).encode()).hexdigest()[:12]}"
    if house.is_dir():
        return house
    if sys.version_info[:2] != PYTHON:
        raise LabError(
            f"the lab needs Python 3.11 (the nodes' own), found {sys.version.split()[0]}: make .venv with it."
        )
    draft = house.with_suffix(".new")
    shutil.rmtree(draft, ignore_errors=True)
    with step("make Salt's wheels"):
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", draft, *pins())
    (draft / "requirements.txt").write_text("\n".join(pins()) + "\n")
    draft.rename(house)
    return house


def _build(client: DockerClient, context: str, name: str) -> None:
    with LOG.open("w") as log:
        for line in client.api.build(path=context, tag=name, rm=True, decode=True, labels={"halocline": "node"}):
            log.write(line.get("stream", ""))
            if "error" in line:
                raise LabError(f"the node image cannot be built: {line['error']}\nAll of it: {LOG}")
