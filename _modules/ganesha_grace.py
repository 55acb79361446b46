"""The grace database that NFS servers of one cluster share: an object in a pool, with a key for each server.

The form of the object is that of ganesha's src/support/rados_grace.c.
"""

import re
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

CONF = Path("/etc/ganesha/ganesha.conf")
PLACE = re.compile(r'^    (nodeid|userid|pool|namespace) = "(.*)";$', re.M)  # as its template has it
ABSENT = "(2) No such file or directory"  # of the object or its pool, in the words of rados
STOP = 120  # seconds that its unit may take to end


def members(user: str, pool: str, namespace: str) -> list[str]:
    """Return the servers in a grace database, sorted; none where there is no database yet.

    user
        The cephx user without ``client.``, whose keyring this host has.
    pool, namespace
        Where the database lies.

    Raises CommandExecutionError where the cluster does not answer, or does not let that user read it.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha_grace.members ganesha.node1 .nfs ganesha
    """
    command = ["rados", "--id", user, "--pool", pool, "--namespace", namespace, "listomapkeys", "grace"]
    try:
        return sorted(halocline.run(command, limit=60).split())
    except CommandExecutionError as err:
        if ABSENT in str(err):
            return []
        raise


def join(server: str, user: str, pool: str, namespace: str, limit: float = 3) -> None:
    """Put a server into a grace database. What the database holds is believed, not the tool's exit status.

    server
        The server's name, its host's.
    user, pool, namespace
        As for ``members``.
    limit
        Seconds in which the tool is started again: it crashes at times (4.3), its work done or not.

    Raises CommandExecutionError where the database does not hold it.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha_grace.join node1 ganesha.node1 .nfs ganesha
    """
    command = ["ganesha-rados-grace", "--userid", user, "--pool", pool, "--ns", namespace, "add", server]

    def add() -> None:
        status = halocline.status(command)
        if server not in members(user, pool, namespace):
            raise CommandExecutionError(
                f"'{' '.join(command)}' ended with status {status}, and the grace database has no key {server}: is the "
                f"pool {pool} there, and does 'ceph auth get client.{user}' allow it? Then run the stage again"
            )

    halocline.until(add, limit)


def leave(server: str, user: str, pool: str, namespace: str, limit: float = 3) -> None:
    """Take a server that has stopped out of a grace database, so that no other waits for its clients.

    Arguments and errors as for ``join``; on its own host, or on another one of that cluster with that one's user.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha_grace.leave node4 ganesha.node1 .nfs ganesha
    """
    command = ["ganesha-rados-grace", "--userid", user, "--pool", pool, "--ns", namespace, "remove", server]

    def take() -> None:
        if server in members(user, pool, namespace):
            status = halocline.status(command)
            if server in members(user, pool, namespace):
                raise CommandExecutionError(
                    f"'{' '.join(command)}' ended with status {status}, and the grace database still has {server}"
                )

    halocline.until(take, limit)


def former() -> dict[str, str]:
    """Return the place in a grace database that this host's configuration gives its server, as the arguments of
    ``leave``; empty where the configuration is none of ours.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha_grace.former
    """
    found = dict(PLACE.findall(CONF.read_text(encoding="utf-8"))) if CONF.exists() else {}
    names = {"server": "nodeid", "user": "userid", "pool": "pool", "namespace": "namespace"}
    return {name: found[key] for name, key in names.items()} if len(found) == len(names) else {}


def depart(server: str, user: str, pool: str, namespace: str) -> None:
    """Stop this host's server for good, and take it out of a grace database. Arguments and errors as for ``leave``.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha_grace.depart node1 ganesha.node1 .nfs ganesha
    """
    halocline.run(["systemctl", "stop", "nfs-ganesha"], limit=STOP)
    leave(server, user, pool, namespace)


def lift(server: str, user: str, pool: str, namespace: str, limit: float = 3) -> bool:
    """End the grace that a server began when it stopped, where it is not awaited; return whether there was one.

    One that ends asks the others for grace until it is back: they open no file anew as long as its flag stands
    (rados_cluster_shutdown in ganesha's src/SAL/recovery). After this its clients cannot claim what they had.

    Arguments and errors as for ``leave``.

    CLI Example:

    .. code-block:: bash

        salt 'node1' ganesha_grace.lift node1 ganesha.node1 .nfs ganesha
    """
    if not (server in members(user, pool, namespace) and _needs(server, user, pool, namespace)):
        return False
    command = ["ganesha-rados-grace", "--userid", user, "--pool", pool, "--ns", namespace, "lift", server]

    def done() -> None:
        status = halocline.status(command)
        if _needs(server, user, pool, namespace):
            raise CommandExecutionError(
                f"'{' '.join(command)}' ended with status {status}, and {server} needs grace yet"
            )

    halocline.until(done, limit)
    return True


def _needs(server: str, user: str, pool: str, namespace: str) -> bool:
    """Whether others wait for a server's clients: the lowest bit of its one byte, which is printed as a hex dump."""
    command = ["rados", "--id", user, "--pool", pool, "--namespace", namespace, "getomapval", "grace", server]
    found = re.search(r"^0+ +([0-9a-f]{2})\b", halocline.run(command, limit=60), re.M)
    if found is None:
        raise CommandExecutionError(f"the grace database says nothing of {server} that is known")
    return bool(int(found[1], 16) & 1)
