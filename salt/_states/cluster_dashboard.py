"""The Ceph Dashboard as states, on a host with the admin's key."""

from collections.abc import Mapping, Sequence

import halocline


@halocline.cluster_state
def served(
    name: str,
    certificate: str,
    key: str,
    port: int | None = None,
    origin: str = "made",
    instead_of: Mapping[str, str] | None = None,
) -> dict:
    """The managers serve the dashboard with a certificate and key (files on this host).

    port
        Without one on that of the cluster's setting.
    origin
        ``given`` by the site, or ``made`` by this host: then one that the cluster got by hand stays.
    instead_of
        ``{module: why}``: modules that cannot run beside it are disabled, with a warning.

    ``name`` is only a name.
    """
    arguments = (certificate, key, port, origin == "given", sorted(instead_of or ()))
    lines = __salt__["cluster_dashboard.pending"](*arguments)
    if not lines:
        return halocline.unchanged(name, "the dashboard is served as pillar says")
    if not __opts__["test"]:
        __salt__["cluster_dashboard.serve"](*arguments)
    warnings = [
        f"module {module} {'would be' if __opts__['test'] else 'was'} disabled: {why}"
        for module, why in (instead_of or {}).items()
        if f"module {module} is enabled" in lines
    ]
    return halocline.changed(name, "\n".join(lines), {"dashboard": lines}, __opts__["test"]) | {"warnings": warnings}


@halocline.cluster_state
def admin(name: str, user: str) -> dict:
    """The dashboard has an administrator ``user``, whose first password is the one in this host's pillar.

    A password that was changed there since is left alone, until the master makes another one. ``name`` is only a name.
    """
    if not __salt__["cluster_dashboard_access.password_differs"](user):
        return halocline.unchanged(name, f"{user} was given this password before")
    if __opts__["test"]:
        return halocline.changed(name, f"{user} would be given a password", {"password": f"of {user}"}, True)
    if __salt__["cluster_dashboard_access.set_password"](user):
        return halocline.changed(name, f"{user} was given a password", {"password": f"of {user}"}, False)
    comment = f"the dashboard had a user {user} before: its password was left alone"
    warning = f"{comment}; 'salt-run secret.rotate dashboard.admin' sets one"
    return halocline.unchanged(name, comment) | {"warnings": [warning]}


@halocline.cluster_state
def gateways(name: str, gateways: Mapping[str, Sequence[str]]) -> dict:
    """The dashboard knows these iSCSI gateways (``{host name: [user, HOST:PORT]}``); ``name`` is only a name."""
    comment = f"the dashboard knows {len(gateways)} gateways"
    todo = __salt__["cluster_dashboard_access.gateways"](gateways, __opts__["test"])
    if not todo:
        return halocline.unchanged(name, comment)
    return halocline.changed(name, comment, {"gateways": todo}, __opts__["test"])
