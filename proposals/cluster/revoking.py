"""Whether a client's key may be revoked, and what is said of it. Nothing here asks a cluster or opens a file.

``seen`` is ``cluster_clients.inspect``'s answer: ``{clients: [...], sessions: [ADDRESS:PORT/NONCE, ...]}``.
"""

from collections.abc import Mapping, Sequence

from proposals.settings import clients
from proposals.text.errors import ArgumentError
from proposals.text.names import nearest, shown

# A program that runs on keeps its connections, and no ticket is good for longer than auth_mon_ticket_ttl, 72 h
# (src/common/options.cc of Ceph 16). An entry names one run of a program by a number of its own, so it stands in
# nobody else's way, however long.
DAYS = 30
LONGEST = 3650


def entity(name: object) -> str:
    """Return a client's name where its key may be revoked. Raises ArgumentError."""
    if isinstance(name, str) and clients.is_client(name):
        return name
    raise ArgumentError(
        f"{shown(name)} cannot be revoked: expected {clients.CLIENT.expected}; 'salt-run secret.rotate' makes a fresh "
        "key of any other"
    )


def days(number: object) -> int:
    """Return for how many days addresses are to be blocked. Raises ArgumentError."""
    if type(number) is int and 1 <= number <= LONGEST:
        return number
    raise ArgumentError(f"days={shown(number)}: expected a whole number from 1 to {LONGEST}")


def known(name: str, seen: Mapping[str, Sequence[str]], made: bool) -> None:
    """Raise ArgumentError where neither the cluster nor the master (``made``) knows a client, and nobody runs as it."""
    if not (made or name in seen["clients"] or seen["sessions"]):
        raise ArgumentError(f"the cluster has no key of {shown(name)}{nearest(name, seen['clients'])}")


def would(name: str, seen: Mapping[str, Sequence[str]], days: int) -> str:
    """Return what revoking would do."""
    lines = [f"the cluster would forget {name}" if name in seen["clients"] else f"the cluster has no key of {name}"]
    lines += [f"would block {address} for {days} days" for address in seen["sessions"]]
    lines += [] if seen["sessions"] else ["no program has a session with a monitor by this key: none would be blocked"]
    return "\n".join([*lines, "nothing was changed"])


def done(name: str, blocked: Mapping[str, str], renewed: bool) -> str:
    """Return what revoking did.

    blocked
        The end of each blocked address's entry.
    renewed
        Whether hosts are told a fresh key of that name.
    """
    lines = [f"{name} is revoked: nobody gets in by its old key any more"]
    lines += [f"blocked until {until}: {address}" for address, until in sorted(blocked.items())]
    if blocked:
        lines.append("'ceph osd blocklist ls' shows them, 'ceph osd blocklist rm ADDRESS' lets one in again")
    if renewed:
        lines.append(
            f"{name} has a fresh key for those that are told it still: ceph.stage.services gives it to them; where "
            "nobody is to have one, take it out of ceph_keys and run ceph.stage.configure before"
        )
    return "\n".join(lines)
