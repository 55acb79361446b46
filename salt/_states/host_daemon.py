"""What a daemon of the distribution's is started with, and that a daemon of Ceph's runs."""

import halocline


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
def running(name: str) -> dict:
    """A daemon of Ceph's runs, now and after each boot, also one that systemd had given up on.

    Salt's own state starts ``systemctl`` three times to see that nothing is to be done; this one looks first, by one.

    A unit that ended a few times within half an hour is started no more (StartLimitBurst in Ceph's systemd/*.in), even
    where the cause is gone.

    name
        The unit, such as ``ceph-mon@mon1``.
    """
    if __salt__["daemons.units"](name).get(f"{name}.service") == "enabled":
        return halocline.unchanged(name, f"{name} runs")
    if not __opts__["test"]:
        __salt__["daemons.forgive"]([name])
    return __states__["service.running"](name, enable=True)
