"""What runs on this host already, whoever started it: asked before services come up."""

import re
import time

from salt.exceptions import CommandExecutionError

PROCESS = re.compile(r'\(\("(?P<name>[^"]+)"')


def running():
    """Return ``{generation, ports, units}``: of which generation this host's pillar is, who listens on which TCP port,
    as pairs, and systemd's active services.

    CLI Example:

    .. code-block:: bash

        salt 'node1' host_services.running
    """
    run = __salt__["commands.run"]
    units = run(["systemctl", "list-units", "--type=service", "--state=active", "--plain", "--no-legend", "--no-pager"])
    return {
        "generation": __pillar__.get("ceph", {}).get("generation"),
        "ports": sorted(_ports().items()),
        "units": [line.split()[0] for line in units.splitlines() if line.strip()],
    }


def listening(process, port, unit, daemon=None, limit=60):
    """Wait until a process listens on a TCP port of this host; raise with its unit's last words where it does not.

    What systemd calls active may end a second later, for want of a certificate or a pool.

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
    end = time.monotonic() + limit
    while (holder := _ports().get(int(port))) != process:
        failed = __salt__["commands.run"](["systemctl", "is-failed", unit], ok=(0, 1)).strip() == "failed"
        if holder or failed or time.monotonic() > end:
            said = __salt__["commands.run"](["journalctl", "--unit", unit, "--lines", "5", "--no-pager", "-o", "cat"])
            why = f"port {port} is held by {holder}" if holder else "it failed" if failed else f"not after {limit} s"
            raise CommandExecutionError(f"{unit} does not listen on port {port}: {why}: {said.strip()}")
        time.sleep(0.5)
    return True


def _ports():
    """Who listens on which TCP port."""
    found = {}
    for line in __salt__["commands.run"](["ss", "-Htlnp"]).splitlines():
        process = PROCESS.search(line)
        found[int(line.split()[3].rpartition(":")[2])] = process["name"] if process else "a process unknown to ss"
    return found
