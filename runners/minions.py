"""``salt-run minions.*``: which minions are ours, and how a host becomes one."""

import socket
from pathlib import Path
from typing import Any

import salt.utils.crypt

from proposals.text import joining
from proposals.text.errors import ProposalError
from runners.engine import answer
from runners.engine import minions as minions_


@answer.answers
def ours() -> list[str]:
    """Return the accepted minions that ``ceph_minions`` matches, sorted.

    CLI Example:

    .. code-block:: bash

        salt-run minions.ours
    """
    return minions_.ours(__opts__)


@answer.answers
def invite(master: str | None = None, **_: Any) -> answer.Answer:
    """Print the line by which a host becomes a minion of this master: for its shell, or by salt-ssh over a roster.

    It installs salt-minion where the host has none, and names this master by its key's fingerprint, so that the host
    takes nothing from another one. Nothing is run here; no key is accepted.

    master
        A name or address by which hosts reach the master; the default is its full name.

    CLI Example:

    .. code-block:: bash

        salt-run minions.invite
        salt-run minions.invite master=192.168.124.10
    """
    key = Path(__opts__["pki_dir"]) / "master.pub"
    if not key.is_file():
        raise ProposalError(f"{key}: the master has no key yet: start it first, systemctl start salt-master")
    finger = salt.utils.crypt.pem_finger(str(key), sum_type=__opts__["hash_type"])
    typed = joining.line(socket.getfqdn() if master is None else master, finger)
    return answer.Answer(joining.text(typed), {"line": typed, "finger": finger})
