"""What a daemon of the distribution's is started with."""


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
