"""What goes wrong with a node as a whole: `cut`, `slow`, `kill-minion`, `fill`; `mend` undoes all of it."""

import json

from docker.models.containers import Container

from lab import containers, daemon
from lab.commands import run
from lab.errors import LabError
from lab.progress import say
from lab.store import Lab, find, locked

PERIOD = 100_000  # microseconds: the scheduler's period that a CPU share is a part of
ROOM = 16  # MiB that a filled file system has beyond what it holds at first
FILLED = "/run/lab-filled"  # in the node: the paths that lie under a full file system


def _node(cluster: str | None, host: str) -> tuple[Lab, Container]:
    lab = find(cluster)
    container = containers.find(daemon.needed(), lab, host)
    if container.status != "running":
        raise LabError(f"{host} is {container.status}: `python -m lab start {host}` first.")
    return lab, container


def _in_node(host: str, container: Container, command: str) -> None:
    done = containers.run(container, command)
    if done.code:
        raise LabError(f"{host}: {command.split()[0]} failed: {done.err.strip() or done.out.strip()}")


def cable(lab: Lab, container: Container, network: str) -> str:
    """Name of the machine's end of the cable between a node and one of its networks."""
    host = lab.cluster.host(container.labels["halocline.host"])
    if network not in host.addresses:
        raise LabError(f"{host.name} is not on network {network}; it is on {', '.join(host.addresses)}.")
    pid = str(container.attrs["State"]["Pid"])
    inside = json.loads(run("nsenter", "-t", pid, "-n", "ip", "-j", "-4", "addr"))
    device = next(
        link["link_index"] for link in inside for info in link["addr_info"] if info["local"] == host.addresses[network]
    )
    return next(link["ifname"] for link in json.loads(run("ip", "-j", "link")) if link["ifindex"] == device)


def cut(host: str, network: str, cluster: str | None) -> None:
    """Pull the cable between a host and one of its networks: its port has no carrier any more."""
    with locked():
        lab, container = _node(cluster, host)
        run("ip", "link", "set", cable(lab, container, network), "down")
    say(f"{host} is cut off from {network}. `python -m lab mend {host}` plugs the cable in again.")


def slow(host: str, cpus: float, cluster: str | None) -> None:
    """Let a host have only that much of one CPU."""
    if not 0.01 <= cpus <= 64:
        raise LabError(f"slow: {cpus} CPUs; expected a number from 0.01 to 64.")
    with locked():
        _, container = _node(cluster, host)
        container.update(cpu_period=PERIOD, cpu_quota=int(PERIOD * cpus))
    say(f"{host} is slow: {cpus:g} of a CPU.")


def kill_minion(host: str, cluster: str | None) -> None:
    """Kill a host's salt-minion with all it has under way, without a word."""
    with locked():
        _, container = _node(cluster, host)
        _in_node(host, container, "systemctl kill --kill-whom=all --signal=KILL salt-minion")
    say(f"{host}: salt-minion is killed. `python -m lab mend {host}` starts it again.")


def fill(host: str, path: str, cluster: str | None) -> None:
    """Let a folder of a host run full: it moves to a small file system of its own, which is then filled up.

    The small one lies in memory and is bounded, so the machine's disk has nothing to do with it. What the folder
    held stays visible; what is written to it from now on fails, and is gone after `mend`.
    """
    with locked():
        _, container = _node(cluster, host)
        _in_node(
            host,
            container,
            f"set -e; cd '{path}'; ! grep -qsxF '{path}' {FILLED} || {{ echo 'it is full already' >&2; exit 1; }}; "
            f"used=$(du -sm . | cut -f1); mkdir -p /run/lab-fill; "
            f"mount -t tmpfs -o size=$((used + {ROOM}))m,mode=$(stat -c %a .) lab-fill /run/lab-fill; "
            # what is deleted or replaced meanwhile, as in a cache that is used, is no error
            "said=$(LC_ALL=C cp -a . /run/lab-fill 2>&1) || "
            "if echo \"$said\" | grep -Ev 'No such file|replaced while being copied' >&2; then exit 1; fi; "
            f"mount --move /run/lab-fill '{path}'; echo '{path}' >>{FILLED}; cd '{path}'; "
            f"dd if=/dev/zero of=.lab-fill bs=64k 2>/dev/null || true",
        )
    say(f"{host}: {path} is full. `python -m lab mend {host}` takes the small file system away again.")


def mend(host: str, cluster: str | None) -> None:
    """Undo cut, slow, kill-minion and fill on a host."""
    with locked():
        lab, container = _node(cluster, host)
        for network in lab.cluster.host(host).addresses:
            run("ip", "link", "set", cable(lab, container, network), "up")
        container.update(cpu_period=PERIOD, cpu_quota=-1)
        _in_node(
            host,
            container,
            f'[ ! -e {FILLED} ] || tac {FILLED} | while read -r path; do umount -l "$path"; done; rm -f {FILLED}; '
            f"systemctl is-active -q salt-minion || systemctl start salt-minion",
        )
    say(f"{host} is mended.")
