"""What runs on this host already, whoever started it: asked before services come up."""

import re

PROCESS = re.compile(r'\(\("(?P<name>[^"]+)"')


def running():
    """Return ``{generation, ports, units}``: of which generation this host's pillar is, who listens on which TCP port,
    as pairs, and systemd's active services.

    CLI Example:

    .. code-block:: bash

        salt 'node1' services.running
    """
    run = __salt__["commands.run"]
    ports = {}
    for line in run(["ss", "-Htlnp"]).splitlines():
        words = line.split()
        found = PROCESS.search(line)
        ports[int(words[3].rpartition(":")[2])] = found["name"] if found else "a process unknown to ss"
    units = run(["systemctl", "list-units", "--type=service", "--state=active", "--plain", "--no-legend", "--no-pager"])
    return {
        "generation": __pillar__.get("ceph", {}).get("generation"),
        "ports": sorted(ports.items()),
        "units": [line.split()[0] for line in units.splitlines() if line.strip()],
    }
