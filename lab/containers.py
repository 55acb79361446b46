"""Nodes as containers: with which rights they run, how they are made, how a command is run in one."""

import io
import subprocess
import tarfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from docker import DockerClient
from docker.errors import NotFound
from docker.models.containers import Container

from lab import disks, networks
from lab.cluster import Node
from lab.errors import LabError
from lab.networks import LABEL
from lab.store import CHECKOUT, Lab

# The only place that decides on privileges. --privileged would hand every node all devices of the machine and
# is refused where the machine itself lacks a capability; this is enough for systemd and for Ceph.
# SYS_TIME: one clock for all. SYS_RESOURCE: often missing from the machine's own set.
DROPPED = ["SYS_RESOURCE", "SYS_TIME", "SYS_MODULE"]
# Kernel settings that are the machine's, not the container's: readable, not writable (net is namespaced).
READ_ONLY = ["/proc/sys/vm", "/proc/sys/fs", "/proc/sys/kernel", "/proc/sys/dev", "/proc/sysrq-trigger"]
TREE = "/srv/halocline"  # where the master sees the checkout, and minions what they need of it

TIMED_OUT = 124  # what coreutils' timeout answers
REFUSED = ("Error response from daemon", "Error: No such container")  # how docker's client begins, not the command


@dataclass(frozen=True)
class Done:
    """How a command in a node ended."""

    code: int
    out: str
    err: str


def name_of(lab: Lab, host: str) -> str:
    return f"halocline-{lab.name}-{host}"


def find(client: DockerClient, lab: Lab, host: str) -> Container:
    """The container of a host.

    Raises LabError where the cluster has no such host, its container is gone, or it is a guest.
    """
    if lab.cluster.host(host).guest:
        raise LabError(f"{host} of {lab.name} is a guest, not a container: `python -m lab kernel --help`.")
    try:
        return client.containers.get(name_of(lab, host))
    except NotFound as err:
        raise LabError(f"{host} of {lab.name} has no container any more: `python -m lab up {lab.name}`.") from err


def make(client: DockerClient, lab: Lab, host: Node, image: str) -> Container:
    """Create the container of a host, with its networks and settings, not yet started."""
    first, *others = host.addresses
    api, domain = client.api, lab.cluster.domain
    names = [host.name, f"{host.name}.{domain}"]

    def endpoint(network: str) -> dict:
        known_as = names if network == first else []
        return api.create_endpoint_config(ipv4_address=host.addresses[network], aliases=known_as)

    made = api.create_container(
        image,
        name=name_of(lab, host.name),
        hostname=host.name,
        domainname=domain,
        labels={LABEL: lab.name, "halocline.host": host.name},
        host_config=_host_config(client, lab, host, first),
        networking_config=api.create_networking_config({networks.full_name(lab, first): endpoint(first)}),
    )
    for network in others:
        api.connect_container_to_network(
            made["Id"],
            networks.full_name(lab, network),
            ipv4_address=host.addresses[network],
        )
    return client.containers.get(made["Id"])


def _host_config(client: DockerClient, lab: Lab, host: Node, network: str) -> dict:
    config = client.api.create_host_config(
        cap_add=["ALL"],
        cap_drop=DROPPED,
        security_opt=["seccomp=unconfined", "apparmor=unconfined"],
        device_cgroup_rules=["b *:* rwm", "c *:* rwm"],
        tmpfs={"/run": "rw,mode=755,exec", "/run/lock": "rw"},
        binds=_binds(lab, host),
        cgroupns="host",
        network_mode=networks.full_name(lab, network),
    )
    return config | {"MaskedPaths": [], "ReadonlyPaths": READ_ONLY}


def _binds(lab: Lab, host: Node) -> list[str]:
    tree = ["/sys/fs/cgroup:/sys/fs/cgroup:rw", f"{disks.mounted_folder(lab, host.name)}:/etc/lab:ro"]
    if host.master:
        return [*tree, f"{CHECKOUT}:{TREE}:ro", f"{CHECKOUT}/lab/site/salt:/srv/salt:ro"]
    return [*tree, f"{CHECKOUT}/srv/minion.d:{TREE}/srv/minion.d:ro"]


def put(container: Container, files: Mapping[str, str | Path]) -> None:
    """Write files (absolute path -> text, or a link's target as a Path) into a node, running or not."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, content in files.items():
            info, text = tarfile.TarInfo(path.lstrip("/")), b""
            if isinstance(content, Path):
                info.type, info.linkname = tarfile.SYMTYPE, str(content)
            else:
                text = content.encode()
            info.size, info.mode, info.mtime = len(text), 0o644, time.time()  # Salt looks at the age of some
            tar.addfile(info, io.BytesIO(text))
    container.put_archive("/", archive.getvalue())


def run(container: Container, command: str | list[str], limit: float = 600) -> Done:
    """Run a command (a list, or a string for sh -c) in a node and wait for its end, `limit` seconds at most.

    Raises LabError where the node does not run, or the command had to be killed.
    """
    argv = ["sh", "-c", command] if isinstance(command, str) else command
    # By docker's own client: docker-py 7.2 reads past its buffer and loses output that comes together with the answer's
    # header (APIClient._get_raw_response_socket), as it does on a loaded machine.
    words = ["docker", "exec", container.name, "timeout", "-k", "5", str(limit), *argv]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    out, err = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    if done.returncode and err.startswith(REFUSED):
        raise LabError(f"{container.name}: {' '.join(argv)}: {err.strip()}")
    if done.returncode == TIMED_OUT:
        raise LabError(f"{container.name}: {' '.join(argv)}: no end after {limit:.0f} s.")
    return Done(done.returncode, out, err)
