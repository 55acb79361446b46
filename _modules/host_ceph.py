"""Signs of a Ceph cluster on this host, besides its disks: configuration, monitors' stores, an admin's key."""

import re
from pathlib import Path

CONF, ADMIN = Path("/etc/ceph/ceph.conf"), Path("/etc/ceph/ceph.client.admin.keyring")
LIB = Path("/var/lib/ceph")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ASKED = ("fsid", "public_network", "cluster_network")


def inspect() -> dict:
    """Return ``{conf: {fsid, public_network, cluster_network}, monitors: {store: fsid}, admin}``; it only looks.

    ``conf`` is what [global] of ceph.conf says, as far as it does; ``monitors`` the stores of monitors, with the fsid
    that their folder's name tells (cephadm's do), else None; ``admin`` whether the admin's key lies here.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' host_ceph.inspect
    """
    stores: dict[str, str | None] = {
        str(path): None for path in sorted(LIB.glob("mon/*")) if (path / "store.db").is_dir()
    }
    for path in sorted(LIB.glob("*/mon.*")):
        if UUID.fullmatch(path.parent.name) and (path / "store.db").is_dir():
            stores[str(path)] = path.parent.name
    return {"conf": _conf(), "monitors": stores, "admin": ADMIN.exists()}


def _conf() -> dict[str, str]:
    """The settings of [global], or of a file without sections; names with blanks or dashes are the same to Ceph."""
    try:
        lines = CONF.read_text(errors="replace").splitlines()
    except OSError:
        return {}
    settings, section = {}, "global"
    for line in lines:
        text = re.split("[#;]", line)[0].strip()
        if text.startswith("["):
            section = text.strip("[] ")
        elif section == "global" and "=" in text:
            key, value = text.split("=", 1)
            settings[re.sub("[ -]+", "_", key.strip().lower())] = value.strip().strip("\"'")
    return {key: settings[key].lower() for key in ASKED if settings.get(key)}  # Ceph reads UUIDs of either case
