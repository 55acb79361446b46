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


@halocline.cluster_state
def moved(name: str, user: str, pool: str, namespace: str) -> dict:
    """A server whose configuration gives it another place has stopped and left that one, before the configuration is
    written anew: the others there would wait for it, and open no file anew, for ever. Arguments as for ``member``.
    """
    before = __salt__["ganesha_grace.former"]()
    if before in ({}, {"server": name, "user": user, "pool": pool, "namespace": namespace}):
        return halocline.unchanged(name, f"{name} has had no other place")
    if not __opts__["test"]:
        __salt__["ganesha_grace.depart"](**before)
    left = f"{before['pool']}/{before['namespace']}"
    comment = f"{before['server']} stops and leaves the grace database {left}"
    return halocline.changed(name, comment, {"left": left}, __opts__["test"])
