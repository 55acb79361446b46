"""Signs of a Ceph cluster on this host, besides its disks: configuration, monitors' stores, an admin's key."""

import re
import shutil
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

CONF, ADMIN = Path("/etc/ceph/ceph.conf"), Path("/etc/ceph/ceph.client.admin.keyring")
LIB = Path("/var/lib/ceph")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ASKED = ("fsid", "public_network", "cluster_network")
MAKES_KEY = ("ceph-authtool", "--gen-print-key")  # as ceph-volume makes those of OSDs
BEGINS = {"aes": "AQ", "aes256k": "Ag"}  # a key, by its cipher: its type comes first (src/auth/Crypto.cc of Ceph)
LIMIT = 15  # seconds


def inspect() -> dict:
    """Return ``{conf: {fsid, public_network, cluster_network}, monitors: {store: fsid}, admin, cipher}``.

    It only looks. ``conf`` is what [global] of ceph.conf says, as far as it does; ``monitors`` the stores of monitors,
    with the fsid that their folder's name tells (cephadm's do), else None; ``admin`` whether the admin's key lies here;
    ``cipher`` as the function of that name has it.

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
    return {"conf": _conf(), "monitors": stores, "admin": ADMIN.exists(), "cipher": cipher()}


def cipher() -> str | None:
    """Return by which cipher this host's Ceph makes keys: ``aes256k`` from 19.2.6 and 20.2.4 on, ``aes`` before; None
    where there is no Ceph, and an empty text where it does not say.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' host_ceph.cipher
    """
    if not shutil.which(MAKES_KEY[0]):
        return None
    try:
        key = halocline.run(MAKES_KEY, limit=LIMIT, secret=True)
    except CommandExecutionError:
        key = ""
    return next((name for name, begins in BEGINS.items() if key.startswith(begins)), "")


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
