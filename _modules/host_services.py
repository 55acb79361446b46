"""What runs on this host already, whoever started it: asked before services come up."""

import re
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

ETC = Path("/etc/ceph")
PAUSE = 0.5  # seconds between two looks
PROC = Path("/proc")
PROCESS = re.compile(r'\(\("(?P<name>[^"]+)"(,pid=(?P<pid>\d+))?')
SERVICE = re.compile(r"/([^/\n]+\.service)(?=/|$)", re.M)


def running() -> dict:
    """Return ``{generation, ports, units, keyrings}``: of which generation this host's pillar is, who listens on which
    TCP port, as pairs, systemd's active services, and paths of clients' keyrings.

    CLI Example:

    .. code-block:: bash

        salt 'node1' host_services.running
    """
    command = ["systemctl", "list-units", "--type=service", "--state=active", "--plain", "--no-legend", "--no-pager"]
    return {
        "generation": __pillar__.get("ceph", {}).get("generation"),
        "ports": sorted(_ports().items()),
        "units": [line.split()[0] for line in halocline.run(command).splitlines() if line.strip()],
        "keyrings": sorted(map(str, ETC.glob("ceph.client.*.keyring"))),
    }


def listening(process: str, port: int, unit: str, daemon: str | None = None, limit: float = 60) -> bool:
    """Wait until a process listens on a TCP port of this host; raise with its unit's last words where it does not.

    What systemd calls active may end a second later, for want of a certificate or a pool.

    process
        Its name, as ss(8) shows it.
    port
        The TCP port.
    unit
        Its systemd unit.
    daemon
        Its name as ``daemons.running`` gives it, where it is one of Ceph's: one that runs with older settings will not
        listen before it is restarted.

    CLI Example:

    .. code-block:: bash

        salt 'node1' host_services.listening radosgw 8080 ceph-radosgw@rgw.node1
    """
    older = __salt__["daemons.pending"]().get(daemon) if daemon and _ports().get(int(port)) != process else None
    if older:
        raise CommandExecutionError(
            f"{unit} runs with older settings ({', '.join(older)}): run 'salt-run state.orch ceph.stage.restart'"
        )
    try:
        halocline.until(lambda: _look(process, int(port), unit), limit, pause=PAUSE, retry=TimeoutError)
    except (TimeoutError, CommandExecutionError) as err:
        log = halocline.run(["journalctl", "--unit", unit, "--lines", "5", "--no-pager", "-o", "cat"])
        raise CommandExecutionError(f"{unit} does not listen on port {port}: {err}: {log.strip()}") from err
    return True


def _look(process: str, port: int, unit: str) -> None:
    """Return where the unit's process listens; TimeoutError where it may do so soon. Another unit's may have the same
    name, as a gateway's that was called otherwise before.
    """
    holder, pid = _listeners().get(port, ("", ""))
    service = f"{unit}.service"
    own = _services(pid) or [service]
    if holder == process and service in own:
        return
    if holder:
        by = own[-1] if holder == process else holder
        raise CommandExecutionError(f"it is held by {by}: end that, or give one of them another port")
    if halocline.run(["systemctl", "is-failed", unit], ok=(0, 1)).strip() == "failed":
        raise CommandExecutionError("the unit failed")
    raise TimeoutError("nobody listens there")


def _ports() -> dict[int, str]:
    """Who listens on which TCP port."""
    return {port: name for port, (name, _) in _listeners().items()}


def _listeners() -> dict[int, tuple[str, str]]:
    """The same, each with the number of its process."""
    ports = {}
    for line in halocline.run(["ss", "-Htlnp"]).splitlines():
        process = PROCESS.search(line)
        holder = (process["name"], process["pid"] or "") if process else ("a process unknown to ss", "")
        ports[int(line.split()[3].rpartition(":")[2])] = holder
    return ports


def _services(pid: str) -> list[str]:
    """The services of systemd's in the path of a process's control group, its own last; none where it is of none."""
    try:
        return SERVICE.findall((PROC / pid / "cgroup").read_text())
    except OSError:  # it has ended, or ss does not tell it
        return []
