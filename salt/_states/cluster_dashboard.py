"""The Ceph Dashboard as states, on a host with the admin's key."""

from salt.exceptions import CommandExecutionError


def served(name, certificate, key, port=None, given=False, instead_of=()):
    """The managers serve the dashboard with a certificate and key (files on this host).

    port
        Without one on that of the cluster's setting.
    given
        Whether the site gave them; else a certificate that somebody gave the cluster by hand stays.
    instead_of
        ``{module: why}``: modules that cannot run beside it are disabled, which is said.

    ``name`` is only a name.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": "the dashboard is served as pillar says"}
    arguments = (certificate, key, port, bool(given), sorted(instead_of))
    try:
        lines = __salt__["cluster_dashboard.pending"](*arguments)
        if lines and not __opts__["test"]:
            __salt__["cluster_dashboard.serve"](*arguments)
    except CommandExecutionError as err:
        # Before the first deploy there is nobody to ask: in test mode that is no failure.
        ret.update(result=None if __opts__["test"] else False, comment=str(err))
        return ret
    if lines:
        ret.update(result=None if __opts__["test"] else True, changes={"dashboard": lines}, comment="\n".join(lines))
        ret["warnings"] = [
            f"module {module} {'would be' if __opts__['test'] else 'was'} disabled: {why}"
            for module, why in instead_of.items()
            if f"module {module} is enabled" in lines
        ]
    return ret


def admin(name, user):
    """The dashboard has an administrator ``user``, whose first password is the one that this host was told.

    A password that was changed there since is left alone, until the master makes another one. ``name`` is only a name.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": f"{user} was given this password before"}
    mine = True
    try:
        differs = __salt__["cluster_dashboard.password_differs"](user)
        if differs and not __opts__["test"]:
            mine = __salt__["cluster_dashboard.set_password"](user)
    except CommandExecutionError as err:
        ret.update(result=None if __opts__["test"] else False, comment=str(err))
        return ret
    if differs:
        ret.update(result=None if __opts__["test"] else True, changes={"password": f"of {user}"})
        ret["comment"] = f"{user} {'would be' if __opts__['test'] else 'was'} given a password"
    if not mine:
        ret["changes"] = {}
        ret["comment"] = f"the dashboard had a user {user} before: its password was left alone"
        ret["warnings"] = [f"{ret['comment']}; 'salt-run secret.rotate dashboard.admin' sets one"]
    return ret


def gateways(name, gateways):
    """The dashboard knows these iSCSI gateways (``{host name: [user, HOST:PORT]}``); ``name`` is only a name."""
    ret = {"name": name, "result": True, "changes": {}, "comment": f"the dashboard knows {len(gateways)} gateways"}
    try:
        todo = __salt__["cluster_dashboard.gateways"](gateways, __opts__["test"])
    except CommandExecutionError as err:
        ret.update(result=None if __opts__["test"] else False, comment=str(err))
        return ret
    if todo:
        ret.update(result=None if __opts__["test"] else True, changes={"gateways": todo})
    return ret
