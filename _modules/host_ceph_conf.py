"""This host's ceph.conf beside the options that its release of Ceph knows."""

import re
from pathlib import Path

import halocline

CONF = Path("/etc/ceph/ceph.conf")
LINE = re.compile(r"\s*([^#;=\[\]\s][^#;=\[\]]*?)\s*=")


def unknown() -> list[str]:
    """Return the options of ceph.conf that the Ceph on this host does not know, as they are written there.

    Ceph takes blanks, dashes and underscores in a name for the same (docs.ceph.com, rados/configuration/ceph-conf), and
    ignores a name that it does not know.

    CLI Example:

    .. code-block:: bash

        salt 'mon1' host_ceph_conf.unknown
    """
    lines = CONF.read_text().splitlines() if CONF.exists() else []
    names = [match[1] for line in lines if (match := LINE.match(line))]
    known = {
        line.partition(" = ")[0]
        for line in halocline.run(["ceph-conf", "-c", "/dev/null", "--show-config"]).splitlines()
    }
    return sorted({name for name in names if re.sub(r"[\s-]+", "_", name) not in known})
