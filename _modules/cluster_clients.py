"""Programs that use the cluster by a client's key, and how they are shut out: key away, their addresses blocked.

Without the key nobody gets a ticket any more. Who has one goes on until it ends (``auth_service_ticket_ttl``, an hour),
so OSDs and metadata servers are told to refuse the addresses of those that run: they have the next OSD map within
seconds (docs.ceph.com, rados/operations/control: blocklist).
"""

from collections.abc import Sequence

from salt.exceptions import CommandExecutionError

LOOKS = 5  # at sessions after the key is gone: who authenticated at that very moment is seen by the second


def inspect(entity: str) -> dict[str, list[str]]:
    """Return ``{clients, sessions}``: all clients that have a key, and addresses of those that run with this one's.

    entity
        Such as ``client.backup``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_clients.inspect client.backup
    """
    known = (entry["entity"] for entry in __salt__["cluster_cli.ask"](["auth", "ls"])["auth_dump"])
    return {"clients": sorted(name for name in known if name.startswith("client.")), "sessions": sessions(entity)}


def sessions(entity: str) -> list[str]:
    """Return the addresses, ``ADDRESS:PORT/NONCE``, of programs that have a session with a monitor by a key.

    Every client keeps one, with any of the monitors; NONCE is another at each start of a program.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_clients.sessions client.backup
    """
    return sorted(connected().get(entity, ()))


def connected() -> dict[str, set[str]]:
    """Return the addresses, as ``sessions`` has them, of all programs with a session with a monitor, by entity.

    CLI Example: for ``cluster_purge.look``.
    """
    found: dict[str, set[str]] = {}
    for name in __salt__["cluster_cli.ask"](["quorum_status"])["quorum_names"]:
        told = __salt__["cluster_cli.ask"](["tell", f"mon.{name}", "sessions"])
        try:
            for session in told:
                addresses = {f"{each['addr']}/{each['nonce']}" for each in session["addrs"]["addrvec"]}
                found.setdefault(session["entity_name"], set()).update(addresses)
        except (KeyError, TypeError) as err:
            raise CommandExecutionError(f"mon.{name} tells of its sessions in a form that is not known: {err}") from err
    return found


def revoke(entity: str, seconds: int) -> dict[str, str]:
    """Take a client's key away and block the programs that run with it; return until when, by address.

    Done before, or interrupted: what is left is done.

    entity
        Such as ``client.backup``.
    seconds
        How long addresses are blocked.

    CLI Example: for ``salt-run secret.revoke``.
    """
    blocked: set[str] = set()
    running = sessions(entity)  # one may lose its monitor meanwhile
    __salt__["cluster_cli.tell"](["auth", "rm", entity])
    for _ in range(LOOKS):
        if not (fresh := set(running) - blocked):
            break
        _block(sorted(fresh), seconds)
        blocked |= fresh
        running = sessions(entity)
    # Not `osd blocklist ls`: release 16.2.15 prints two documents where JSON is asked for, addresses and ranges.
    listed = __salt__["cluster_cli.ask"](["osd", "dump"])["blocklist"]
    return {address: until for address, until in listed.items() if address in blocked}


def _block(addresses: Sequence[str], seconds: int) -> None:
    for address in addresses:
        __salt__["cluster_cli.tell"](["osd", "blocklist", "add", address, str(seconds)])
