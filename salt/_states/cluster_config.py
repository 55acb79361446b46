"""The central configuration as a state."""

from salt.exceptions import CommandExecutionError


def managed(name, options, kept="halocline/config"):
    """The central configuration has ``options`` (``{section: {option: value}}``); ``name`` is only a name.

    kept
        The config-key that remembers what was set; another one where it is not the site's ``ceph_config``.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": "the central configuration is as pillar says"}
    try:
        todo = __salt__["cluster_config." + ("changes" if __opts__["test"] else "apply")](options, kept)
    except CommandExecutionError as err:
        # Before the first deploy there is nobody to ask: in test mode that is no failure.
        ret.update(result=None if __opts__["test"] else False, comment=str(err))
        return ret
    lines = [f"{section} {option} = {value}" for section, option, value in todo["set"]]
    lines += [f"{section} {option} is no longer set" for section, option in todo["remove"]]
    if lines:
        ret.update(result=None if __opts__["test"] else True, changes={"options": lines}, comment="\n".join(lines))
    return ret
