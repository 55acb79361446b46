"""An NFS server's place in the grace database of its cluster, as a state."""

import halocline


@halocline.cluster_state
def member(name: str, user: str, pool: str, namespace: str) -> dict:
    """The grace database has this server.

    name
        The server's name, its host's.
    user
        The cephx user without ``client.``, whose keyring this host has.
    pool, namespace
        Where the database lies.
    """
    if name in __salt__["ganesha_grace.members"](user, pool, namespace):
        return halocline.unchanged(name, f"the grace database {pool}/{namespace} has {name}")
    if not __opts__["test"]:
        __salt__["ganesha_grace.join"](name, user, pool, namespace)
    return halocline.changed(
        name, f"{name} joins the grace database {pool}/{namespace}", {"member": name}, __opts__["test"]
    )
