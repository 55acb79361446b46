"""What stands in ceph.conf, as a state."""

import halocline


@halocline.state
def known(name: str) -> dict:
    """Every option of ceph.conf is one of this host's Ceph; those that are not are warned of, and do nothing.

    ``name`` is only a name.
    """
    if __opts__["test"]:
        return halocline.unchanged(name, "looked at once ceph.conf is written")
    unknown = __salt__["host_ceph_conf.unknown"]()
    warnings = (
        [f"ceph.conf has {', '.join(unknown)}: this release of Ceph does not know it and ignores it"] if unknown else []
    )
    return halocline.unchanged(name, "; ".join(warnings) or "Ceph knows every option") | {"warnings": warnings}
