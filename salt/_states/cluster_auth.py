"""The cluster's keys as a state."""

import halocline


@halocline.cluster_state
def registered(name: str) -> dict:
    """The cluster knows every key of this host's ``register`` keyring; ``name`` is only a name."""
    missing = __salt__["cluster_auth.missing"]()
    if not missing:
        return halocline.unchanged(name, "the cluster knows every key")
    if not __opts__["test"]:
        __salt__["cluster_auth.register"]()
    told = ", ".join(f"{name} ({what})" for name, what in sorted(missing.items()))
    comment = f"{len(missing)} keys {'would be' if __opts__['test'] else 'were'} registered: {told}"
    return halocline.changed(name, comment, {"keys": missing}, __opts__["test"])


@halocline.cluster_state
def admin(name: str) -> dict:
    """The cluster knows ``client.admin`` by the key in this monitor host's pillar; ``name`` is only a name."""
    if not (__salt__["mon.exists"]() and __salt__["cluster_auth.admin_differs"]()):
        return halocline.unchanged(name, "the admin's key is known")
    if not __opts__["test"]:
        __salt__["cluster_auth.set_admin"]()
    return halocline.changed(
        name, "the cluster has a newer key of the admin", {"keys": ["client.admin"]}, __opts__["test"]
    )
