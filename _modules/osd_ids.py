"""Ids that wait on this host for another disk: those of OSDs that were given up (``salt-run osd.replace``)."""

import json
import subprocess
from pathlib import Path

from salt.exceptions import CommandExecutionError

LIMIT = 90  # seconds one command may take
BOOTSTRAP = "/var/lib/ceph/bootstrap-osd/ceph.keyring"


def waiting(osds):
    """Return which OSD in the making takes which id of a destroyed one: ``{uuid: id}``.

    An id goes to an OSD of the same host and device class (CRUSH keeps both with the id). OSDs that the cluster
    knows already keep theirs.

    osds
        Of ``osd.plan``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_ids.waiting '[]'
    """
    tree = _ceph(["osd", "tree", "destroyed"])["nodes"]
    mine = [node for node in tree if node["type"] == "host" and node["name"] == __grains__["host"]]
    children = {child for node in mine for child in node["children"]}
    free = {}
    for node in tree:
        if node["id"] in children:
            free.setdefault(node.get("device_class"), []).append(node["id"])
    if not free:
        return {}
    known = {osd["uuid"] for osd in _ceph(["osd", "dump"])["osds"]}
    found = {}
    for osd in osds:
        ids = sorted(free.get(_class(osd), []), reverse=True)
        if osd["uuid"] not in known and ids:
            found[osd["uuid"]] = ids[-1]
            free[_class(osd)].remove(ids[-1])
    return found


def _class(osd):
    """The device class that is planned, or that Ceph will see in the data disk (src/blk/kernel/KernelDevice.cc)."""
    if osd.get("class"):
        return osd["class"]
    block = Path("/sys/class/block") / Path(osd["parts"]["data"]["disk"]).resolve().name
    if (block / "queue/rotational").read_text().strip() == "1":
        return "hdd"
    return "nvme" if block.name.startswith("nvme") else "ssd"


def _ceph(words):
    command = ["ceph", "--name", "client.bootstrap-osd", "--keyring", BOOTSTRAP, "--connect-timeout", "60"]
    command += ["--format", "json", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)  # noqa: S603
    if done.returncode:
        raise CommandExecutionError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)
