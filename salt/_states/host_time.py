"""How this host keeps time, as a state."""

import halocline


@halocline.state
def rendered(name: str, source: str) -> dict:
    """A file of chrony's is what a Jinja template makes of ``settings``, the lines of ``host_time.settings``.

    name
        Its path; folders that are missing are made.
    source
        The template, ``salt://...``.
    """
    context = {"settings": __salt__["host_time.settings"]()}
    return __states__["file.managed"](
        name, source=source, template="jinja", context=context, makedirs=True, mode="0644"
    )
