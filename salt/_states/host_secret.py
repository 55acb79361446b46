"""Files that hold secrets: keyrings, passwords, private keys, configuration with one of them in it.

What a state of Salt's returns goes to the event bus, the master's job cache and the terminal, and ``file.managed``
returns the lines that it changed. These states write the same files, and no SLS can ask them for the lines.
"""

import halocline


@halocline.state
def managed(
    name: str, use: str, user: str = "root", group: str = "root", mode: str = "0600", dir_mode: str | None = None
) -> dict:
    """A file holds one of this host's secrets; a keyring with the same keys does, also with other capabilities.

    name
        Its path; folders that are missing are made.
    use
        The secret's key in ``ceph_secrets`` of the pillar.
    dir_mode
        The mode of folders that are made, where it is not that of the file with ``x`` added.
    """
    place = f"ceph_secrets:{use}"
    if not __salt__["pillar.get"](place):
        comment = f"this host's pillar holds no secret '{use}': run ceph.stage.configure, then this stage again"
        return {"name": name, "result": False, "changes": {}, "comment": comment}
    if "adopted" in __pillar__.get("ceph", {}) and __salt__["host_keys.holds"](name, use):
        return {"name": name, "result": True, "changes": {}, "comment": "was adopted, and holds this host's keys"}
    # The monitors say what a key may. Another text of the same keys is no reason to restart whoever reads them.
    replace = not __salt__["host_keys.holds"](name, use, alone=True)
    return _file(name, user=user, group=group, mode=mode, dir_mode=dir_mode, contents_pillar=place, replace=replace)


@halocline.state
def rendered(
    name: str, source: str, context: dict | None = None, user: str = "root", group: str = "root", mode: str = "0600"
) -> dict:
    """A file is what a Jinja template makes of this host's secrets.

    name
        Its path; folders that are missing are made.
    source
        The template, ``salt://...``.
    context
        Values by name for the template.
    """
    return _file(name, user=user, group=group, mode=mode, source=source, template="jinja", context=context)


def _file(name: str, **arguments: object) -> dict:
    return __states__["file.managed"](name, makedirs=True, show_changes=False, **arguments)
