"""What a daemon of the distribution's is started with, and that a daemon runs with what its files hold."""

from collections.abc import Sequence

import halocline

UNITS = "/etc/systemd/system/"  # what is written there systemd reads when it is told to alone


@halocline.state
def arguments(name: str, variable: str, always: list[str], more: list[str]) -> dict:
    """The file that its unit reads sets a variable to these arguments.

    name
        The file, such as ``/etc/default/prometheus``.
    variable
        Its variable, such as ``ARGS``.
    always
        What it is started with on this distribution.
    more
        What is planned for this host.
    """
    value = f'"{" ".join([*always, *more])}"'
    return __states__["file.keyvalue"](
        name, key=variable, value=value, append_if_not_found=True, create_if_missing=True
    )


@halocline.state
def running(name: str, files: Sequence[str] = (), reload: bool = False) -> dict:
    """A daemon runs, now and after each boot, also one that systemd had given up on, and has read these files.

    Salt's own state starts ``systemctl`` three times to see that nothing is to be done; this one looks first, by one.
    And it restarts only where this very run has written a file: after a run that was stopped behind that, never.

    Ceph's units that ended a few times within half an hour are started no more (StartLimitBurst in Ceph's
    systemd/*.in), even where the cause is gone.

    name
        The unit, such as ``ceph-mon@mon1``.
    files
        What it reads at its start. It is restarted where one is newer.
    reload
        Whether it reads them at a reload too, and is told to do that instead.
    """
    unit = __salt__["daemons.seen"](name, list(files), reload)
    if not unit["runs"] or unit["boots"] != "enabled":
        if not __opts__["test"]:
            __salt__["daemons.forgive"]([name])
        ret = __states__["service.running"](name, enable=True)
        if ret["changes"] or ret["result"] is not True:
            return ret
    if not unit["newer"]:
        return halocline.unchanged(name, f"{name} runs")
    verb = "reload" if reload else "restart"
    if not __opts__["test"]:
        __salt__["daemons.forgive"]([name])
        if any(file.startswith(UNITS) for file in unit["newer"]):  # Salt looks at the named unit alone
            __salt__["service.systemctl_reload"]()
        __salt__[f"service.{verb}"](name)
    comment = f"{verb}: {', '.join(unit['newer'])}, written since {name} read it"
    return halocline.changed(name, comment, {name: verb}, __opts__["test"])


@halocline.state
def mod_watch(name: str, reload: bool = False, **_: object) -> dict:
    """The same where it was not restarted though this run changes a file: in test mode, or where the clock is wrong."""
    return __states__["service.mod_watch"](name, sfun="running", reload=reload)
