"""How a host becomes a minion of a master: one line for its shell, by which it knows that master and no other."""

import re
import shlex

from proposals.text.errors import ArgumentError
from proposals.text.names import shown

ADDRESS = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.:-]{0,252}[A-Za-z0-9])?")  # a name, an IPv4 or an IPv6 address
FOLDER = "/etc/salt/minion.d"
KNOWN = "/etc/salt/pki/minion/minion_master.pub"
INSTALL = (
    "{ apt-get update && apt-get install -y salt-minion; } || zypper --non-interactive install salt-minion || "
    "dnf install -y salt-minion"
)


def line(master: object, finger: str, folder: str = FOLDER, known: str = KNOWN) -> str:
    """The line for a host's shell, as root: configure, install where it is missing, start, tell its key's fingerprint.

    master
        How hosts reach the master. Raises ArgumentError for what is no name or address: root types it.
    finger
        The fingerprint of the master's key; a minion that finds another one takes nothing from it.
    known
        Where a host keeps the key of the master that it asked before: it goes, or the minion refuses every other one.
    """
    if not isinstance(master, str) or not ADDRESS.fullmatch(master):
        raise ArgumentError(f"master={shown(master)}: a name or address by which hosts reach the master was expected")
    return (
        f'mkdir -p {folder} && printf "master: %s\\nmaster_finger: %s\\nstate_queue: true\\n" {master} {finger} '
        f"> {folder}/halocline.conf && {{ command -v salt-minion || {INSTALL}; }} && rm -f {known} && "
        "systemctl enable salt-minion && systemctl restart salt-minion && salt-call --local key.finger"
    )


def text(typed: str) -> str:
    """What a person reads of it: by hand on one host, by salt-ssh on those of a roster, and what follows."""
    return "\n".join(
        [
            "on each host, as root; its package source has to have salt-minion:",
            f"    {typed}",
            "or from here on all hosts of /etc/salt/roster, which need no Salt yet:",
            f"    salt-ssh --raw-shell '*' {shlex.quote(typed)}",
            "each tells the fingerprint of its key; compare them, then accept them:",
            "    salt-key --finger-all",
            "    salt-key --accept-all",
        ]
    )
