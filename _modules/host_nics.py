"""Look at this host's network ports, now."""

import re
from pathlib import Path

import salt.loader

KEEPALIVED = Path("/etc/ceph/rgw-frontend/keepalived.conf")  # ceph.stage.radosgw writes it, the stage removal takes it
MOVED = re.compile(r"virtual_ipaddress \{([^}]*)\}")


def inspect() -> list[dict]:
    """Return the ports of this host as the ``ceph_nics`` grain sees them now: a list, sorted by name.

    The address that its keepalived moves among hosts is not its own, also once the site names another one, or none.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_nics.inspect
    """
    nics = salt.loader.grain_funcs(__opts__)["ceph_nics.ceph_nics"]()["ceph_nics"]
    moved = MOVED.findall(KEEPALIVED.read_text(encoding="utf-8")) if KEEPALIVED.exists() else []
    others = set(" ".join(moved).split())
    return [
        {**nic, "addresses": [each for each in nic["addresses"] if each.partition("/")[0] not in others]}
        for nic in nics
    ]
