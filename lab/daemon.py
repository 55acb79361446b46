"""A Docker daemon to talk to: found, or installed and started."""

import fcntl
import os
import shutil
import subprocess
import time
from pathlib import Path

import docker
import requests
from docker import DockerClient
from docker.errors import DockerException

from lab.commands import run
from lab.errors import LabError
from lab.progress import step
from lab.store import ROOT

# What the lab runs on the machine itself, and the Debian package that brings it.
PROGRAMS = {
    "dockerd": "docker.io",
    "iptables": "iptables",
    "mmdebstrap": "mmdebstrap",
    "sfdisk": "fdisk",
    "mkfs.ext4": "e2fsprogs",
    "losetup": "mount",
    "ip": "iproute2",
}
# For shells and commands on hosts: Debian 12's docker.io brings it, that of Debian 13 only recommends it.
CLIENT = {"docker": "docker-cli"}
LOG = Path("/var/log/halocline-lab-dockerd.log")
APT = Path("/run/lock/halocline-apt")  # held while apt installs
PID_FILE = Path("/var/run/docker.pid")
START_LIMIT = 40  # seconds


def running() -> DockerClient | None:
    """A client of the daemon that runs here, or None."""
    try:
        client = docker.from_env(timeout=900)
        client.ping()
    except (DockerException, requests.exceptions.RequestException):
        return None
    return client


def needed() -> DockerClient:
    """A client of the daemon that must be there already.

    Raises LabError where none answers.
    """
    client = running()
    if client is None:
        raise LabError("no Docker daemon answers, so no lab runs here: `python -m lab up` starts one.")
    return client


def ensure() -> DockerClient:
    """A client, after installing and starting what is missing."""
    install_missing(PROGRAMS)
    install_missing(CLIENT)
    client = running()
    if client is None:
        with step("start the Docker daemon"):
            client = _start()
    return client


def install_missing(programs: dict[str, str]) -> None:
    """Install those programs (name -> Debian package) that the machine lacks; LabError where apt cannot."""
    missing = sorted({package for program, package in programs.items() if not shutil.which(program)})
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise LabError(f"missing here: {', '.join(missing)}, and no apt-get to install them: install them by hand.")
    with step(f"install {' '.join(missing)}"), APT.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # apt waits for no other one: `make test` makes the lab ready while tests run
        quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        run("apt-get", "update", env=quiet)
        run("apt-get", "install", "-y", "--no-remove", "--no-install-recommends", *missing, env=quiet)


def _start() -> DockerClient:
    forget_dead()
    if Path("/run/systemd/system").is_dir():
        run("systemctl", "start", "docker")
    else:
        ROOT.mkdir(parents=True, exist_ok=True)
        with LOG.open("ab") as log:  # a session of its own: it outlives this command
            subprocess.Popen(["dockerd"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        if client := running():
            return client
        time.sleep(0.2)
    last = "\n".join(LOG.read_text(errors="replace").splitlines()[-5:]) if LOG.exists() else ""
    raise LabError(f"dockerd did not answer within {START_LIMIT} s; its log {LOG} ends:\n{last}")


def forget_dead() -> None:
    """A killed daemon leaves its pid file, and dockerd refuses to start while that number is anybody's."""
    try:
        pid = int(PID_FILE.read_text())
    except (FileNotFoundError, ValueError):  # no file, or none that dockerd wrote
        return
    name = Path(f"/proc/{pid}/comm")
    if not name.exists() or name.read_text().strip() != "dockerd":
        PID_FILE.unlink(missing_ok=True)
