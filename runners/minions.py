"""``salt-run minions.*``: which minions are ours, how a host becomes one, and what of ours they have."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import salt.utils.crypt
import salt.utils.network

from proposals.services import service_answers
from proposals.stages import replies
from proposals.text import joining
from proposals.text.errors import ProposalError
from proposals.text.notes import FEW, several
from runners.engine import answer
from runners.engine.asking import jobs, taking_part
from runners.engine.asking import minions as minions_
from runners.engine.looks import parts

SAME = "modules: every minion has what the master serves: nothing changed"
LIMIT = 600  # seconds for a first sync, which fetches every file


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
    takes nothing from another one; the key of a master that it asked before is removed there. Nothing is run here; no
    key is accepted.

    master
        A name or address by which hosts reach the master; the default is its full name, or, where that is the
        loopback's here, the address that its way to other hosts begins at.

    CLI Example:

    .. code-block:: bash

        salt-run minions.invite
        salt-run minions.invite master=192.168.124.10
    """
    key = Path(__opts__["pki_dir"]) / "master.pub"
    if not key.is_file():
        raise ProposalError(f"{key}: the master has no key yet: start it first, systemctl start salt-master")
    finger = salt.utils.crypt.pem_finger(str(key), sum_type=__opts__["hash_type"])
    typed = joining.line(_reached() if master is None else master, finger)
    return answer.Answer(joining.text(typed), {"line": typed, "finger": finger})


def _reached() -> str:
    """A name or address of this master by which other hosts may reach it; ProposalError where it has none."""
    # Where the master listens everywhere, salt-run has 127.0.0.1 here (salt.config.client_config).
    names = [str(__opts__["interface"]), socket.getfqdn(), *_outwards(), *salt.utils.network.ip_addrs()]
    for name in names:
        if not _loopback(name):
            return name
    raise ProposalError(
        f"no name or address was found by which other hosts reach this master, only {', '.join(names[1:])}: type one, "
        "salt-run minions.invite master=ADDRESS; 'ip -brief address' lists them"
    )


def _outwards() -> Iterator[str]:
    """The address from which this host would speak to a far one; nothing is sent."""
    for family, far in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):  # of nobody: RFC 5737, 3849
        if family == socket.AF_INET or __opts__["ipv6"]:
            with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asked:
                asked.connect((far, 4506))
                yield asked.getsockname()[0]


def _loopback(name: str) -> bool:
    """Whether a name means nothing here, or this host alone, as one on the line of 127.0.0.1 in /etc/hosts."""
    try:
        found = {each[4][0] for each in socket.getaddrinfo(name, None)}
    except OSError:
        return True
    return all(each.is_loopback or each.is_unspecified for each in map(ipaddress.ip_address, found))


@answer.answers
def sync(test: bool = False) -> answer.Output:
    """Bring modules, states and grains to the minions that lack any, or have another one: prep's first change.

    All are asked in one job what they have, and read pillar, grains and modules anew.

    test
        Only say which minions would be synced.

    CLI Example:

    .. code-block:: bash

        salt-run minions.sync
    """
    lacking, silent = parts.lacking(__opts__, taking_part.among(__opts__), refresh=not test)
    problems = replies.lines(silent)
    if test or not lacking:
        text = f"modules: {several(lacking, 'more', FEW)} would be synced" if lacking else SAME
        would = {minion: [{"state": "modules", "comment": "synced", "fails": False}] for minion in lacking}
        plan = {"plan": [{"step": "minions.sync", "comment": text, "fails": False, "minions": would}]} if would else {}
        return answer.bad("\n".join([text, *problems]), 1) if problems else {"text": text, **plan}
    replied = jobs.ask(__opts__, lacking, "state.apply", ["ceph.host.sync"], timeout=LIMIT)
    part = service_answers.applied("modules", replied.answers, [*problems, *replies.lines(replied.problems)])
    changes = {"changes": part.changes} if part.changes else {}
    return {**(answer.bad(part.text(), 1) if part.failed else {"text": part.text()}), **changes}
