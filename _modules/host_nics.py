"""Look at this host's network ports, now."""

import json
import re
from pathlib import Path

import halocline
import salt.loader
from salt.exceptions import CommandExecutionError

LIMIT = 20  # seconds one command may take
KEEPALIVED = Path("/etc/ceph/rgw-frontend/keepalived.conf")  # ceph.stage.radosgw writes it, the stage removal takes it
MOVED = re.compile(r"virtual_ipaddress \{([^}]*)\}")


def inspect() -> list[dict]:
    """Return the ports of this host as the ``ceph_nics`` grain sees them now: a list, sorted by name.

    Each with its ``max_mtu`` besides, where it has one: the grain cannot tell it, as it starts no process. The address
    that its keepalived moves among hosts is not its own, also once the site names another one, or none.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_nics.inspect
    """
    nics, most = salt.loader.grain_funcs(__opts__)["ceph_nics.ceph_nics"]()["ceph_nics"], _most()
    moved = MOVED.findall(KEEPALIVED.read_text(encoding="utf-8")) if KEEPALIVED.exists() else []
    others = set(" ".join(moved).split())
    for nic in nics:
        nic |= {"max_mtu": most[nic["name"]]} if most.get(nic["name"]) else {}
        nic["addresses"] = [each for each in nic["addresses"] if each.partition("/")[0] not in others]
    return nics


def _most() -> dict[str, int]:
    """The largest MTU of each port, 0 where its driver names none; nothing where ``ip`` does not tell."""
    try:
        links = json.loads(halocline.run(["ip", "-d", "-j", "link"], limit=LIMIT) or "[]")
    except (CommandExecutionError, ValueError):
        return {}
    return {link["ifname"]: link.get("max_mtu", 0) for link in links if "ifname" in link}
