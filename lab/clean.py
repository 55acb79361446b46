"""Take labs away: containers, networks, loop devices, files. Only what bears the lab's own names is touched."""

import contextlib
import shutil
import subprocess

from docker import DockerClient
from docker.errors import NotFound

from lab import disks, loops, store
from lab.containers import name_of
from lab.guest import guests
from lab.networks import LABEL
from lab.progress import step
from lab.store import Lab, labs


def alive(client: DockerClient | None, lab: Lab) -> bool:
    """Whether a lab is whole: made to its end, no host gone, and running unless a user stopped every host.

    A daemon that was killed comes back with all containers there and none running: such a lab is not whole.
    """
    if client is None or not lab.complete:
        return False
    found = client.containers.list(all=True, filters={"label": f"{LABEL}={lab.name}"})
    names = {container.labels["halocline.host"] for container in found}
    names |= {guest.name for guest in guests.guests() if guest.lab == lab.name}
    hosts = {host.name for host in lab.cluster.hosts}
    running = any(container.status == "running" for container in found)
    return names >= hosts and (running or set(lab.stopped) >= hosts)


def remove(client: DockerClient, name: str) -> None:
    """Remove one lab whatever state it is in, its guests too."""
    guests.remove_all_of(name)
    _remove_containers(client, name)
    for network in client.networks.list(filters={"label": f"{LABEL}={name}"}):
        network.remove()
    keep = frozenset(lab.name for lab in labs() if lab.name != name)
    disks.remove_all(keep)
    subprocess.run(["rm", "-rf", "--one-file-system", str(store.LABS / name)], check=False)


def _remove_containers(client: DockerClient, name: str) -> None:
    for container in client.containers.list(all=True, filters={"label": f"{LABEL}={name}"}):
        with contextlib.suppress(NotFound):
            container.remove(force=True, v=True)


def remove_host(client: DockerClient, lab: Lab, host: str) -> None:
    """Remove one host of a lab, whatever of it there is."""
    with contextlib.suppress(NotFound):
        client.containers.get(name_of(lab, host)).remove(force=True, v=True)
    for name in loops.attached(disks.folder(lab, host)).values():
        loops.detach(name)
    for folder in (disks.folder(lab, host), disks.mounted_folder(lab, host)):
        shutil.rmtree(folder, ignore_errors=True)


def left(client: DockerClient) -> set[str]:
    """Names of all labs that there is anything of: a record, files, containers, networks."""
    found = {path.name for path in store.LABS.glob("*")}
    found |= {thing.labels[LABEL] for thing in client.containers.list(all=True, filters={"label": LABEL})}
    return found | {network.attrs["Labels"][LABEL] for network in client.networks.list(filters={"label": LABEL})}


def sweep(client: DockerClient) -> None:
    """Remove what killed runs left: labs that are not whole, and labelled things that no record knows."""
    whole = {lab.name for lab in labs() if alive(client, lab)}
    for name in sorted(left(client) - whole):
        with step(f"remove what is left of {name}"):
            remove(client, name)
    disks.remove_all(frozenset(whole))
