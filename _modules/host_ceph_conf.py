"""This host's ceph.conf: the options that stand in it, and what Ceph makes of them."""

import re
from pathlib import Path

import halocline

CONF = Path("/etc/ceph/ceph.conf")
LIMIT = 60  # seconds one command may take


def sections() -> dict[str, set[str]]:
    """Return the options that ceph.conf names, by section; blanks and dashes in them are underscores to Ceph.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_ceph_conf.sections
    """
    named: dict[str, set[str]] = {}
    section = "global"
    for line in CONF.read_text(encoding="utf-8").splitlines() if CONF.exists() else ():
        text = line.split("#")[0].split(";")[0].strip()
        if text.startswith("["):
            section = text.strip("[]").strip()
        elif "=" in text:
            named.setdefault(section, set()).add(re.sub(r"[ -]+", "_", text.split("=")[0].strip()))
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


def unknown() -> list[str]:
    """Return the options of ceph.conf that the Ceph on this host does not know: it ignores them.

    CLI Example:

    .. code-block:: bash

        salt 'mon1' host_ceph_conf.unknown
    """
    named = set().union(*sections().values())
    return sorted(named - options(conf="/dev/null").keys()) if named else []
