"""The central configuration as a state."""

from collections.abc import Mapping

import halocline


@halocline.cluster_state
def managed(name: str, options: Mapping[str, Mapping], kept: str = "halocline/config") -> dict:
    """The central configuration has ``options`` (``{section: {option: value}}``); ``name`` is only a name.

    kept
        The config-key that remembers what was set; another one where it is not the site's ``ceph_config``.
    """
    function = "changes" if __opts__["test"] else "apply"
    todo = __salt__[f"cluster_config.{function}"](options, kept)
    lines = [f"{section} {option} = {value}" for section, option, value in todo["set"]]
    lines += [f"{section} {option} is no longer set" for section, option in todo["remove"]]
    if not lines:
        return halocline.unchanged(name, "the central configuration is as pillar says")
    return halocline.changed(name, "\n".join(lines), {"options": lines}, __opts__["test"])


@halocline.cluster_state
def growth(name: str, hold: bool) -> dict:
    """New OSDs come without a weight in the CRUSH map where ``hold``; ``name`` is only a name.

    An OSD tells its weight when it first starts alone (src/osd/OSD.cc, update_crush_location): those that run keep
    theirs, and one that takes a destroyed one's number takes its weight too.
    """
    return managed(name, {"osd": {"osd_crush_initial_weight": 0}} if hold else {}, "halocline/growth")
