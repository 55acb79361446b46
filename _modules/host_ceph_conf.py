"""This host's ceph.conf: the options that stand in it, and what Ceph makes of them."""

import hashlib
import ipaddress
import re
from collections.abc import Iterator
from pathlib import Path

import halocline

CONF = Path("/etc/ceph/ceph.conf")
OSDS = Path("/var/lib/ceph/osd")
ADDRESSES = ("public_addr", "cluster_addr", "public_bind_addr")  # an OSD listens there, and does not start elsewhere
LIMIT = 60  # seconds one command may take


def sections() -> dict[str, dict[str, str]]:
    """Return the options of ceph.conf and their values, by section; blanks and dashes in names are underscores to Ceph.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_ceph_conf.sections
    """
    named: dict[str, dict[str, str]] = {}
    section = "global"
    for line in CONF.read_text(encoding="utf-8", errors="replace").splitlines() if CONF.exists() else ():
        text = line.split("#")[0].split(";")[0].strip()
        if text.startswith("["):
            section = text.strip("[]").strip()
        elif "=" in text:
            option, _, value = text.partition("=")
            named.setdefault(section, {})[re.sub(r"[ -]+", "_", option.strip())] = value.strip()
    return named


def options(name: str = "client.admin", conf: str | None = None) -> dict[str, str]:
    """Return all options as a daemon or client of this name would start with, in Ceph's own writing.

    conf
        Another file than ``/etc/ceph/ceph.conf``; ``/dev/null`` for Ceph's defaults.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_ceph_conf.options osd.3
    """
    command = ["ceph-conf", "--conf", conf or str(CONF), "--name", name, "--show-config"]
    return dict(line.split(" = ", 1) for line in halocline.run(command, limit=LIMIT).splitlines() if " = " in line)


def adopted() -> bool:
    """Return whether ceph.conf is, byte for byte, the one that ``ceph.adopt`` found on this host: then it stays.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_ceph_conf.adopted
    """
    found = (__pillar__.get("ceph", {}).get("adopted") or {}).get("ceph_conf")  # null once its lines were taken out
    return bool(found) and CONF.is_file() and hashlib.sha256(CONF.read_bytes()).hexdigest() == found


def unknown() -> list[str]:
    """Return the options of ceph.conf that the Ceph on this host does not know: it ignores them.

    CLI Example:

    .. code-block:: bash

        salt 'mon1' host_ceph_conf.unknown
    """
    named = set().union(*sections().values())
    return sorted(named - options(conf="/dev/null").keys()) if named else []


def elsewhere() -> list[str]:
    """Return the addresses that ceph.conf gives to OSDs of this host and that this host does not have.

    Such a section stays behind where an OSD came to another host; it does not start there.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_ceph_conf.elsewhere
    """
    here = {name: options for name, options in sections().items() if (OSDS / name.replace("osd.", "ceph-")).exists()}
    own = {*__salt__["network.ip_addrs"](include_loopback=True), *__salt__["network.ip_addrs6"]()} if here else set()
    return [
        f"[{name}] {option} {address}"
        for name, options in sorted(here.items())
        for option, address in _addresses(options)
        if address not in own
    ]


def _addresses(options: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The addresses among a section's options, without port and nonce."""
    for option in ADDRESSES:
        text = options.get(option, "").partition("/")[0]
        try:
            yield option, str(ipaddress.ip_address(text.partition(":")[0] if "." in text else text))
        except ValueError:
            continue
