"""ceph.conf as states.

Not ``file.managed`` with ``unless``: Salt loads each of its hundreds of modules to see whether the state has conditions
of its own (``mod_run_check``, salt/state.py), 0.5 s of a processor on each host.
"""

import shutil

import halocline
from salt.exceptions import CommandExecutionError


@halocline.state
def rendered(name: str, source: str) -> dict:
    """ceph.conf is what a Jinja template makes of this host's pillar; one that ``ceph.adopt`` found here stays, and one
    of another cluster is an error.

    name
        Its path; a folder that is missing is made.
    source
        The template, ``salt://...``.
    """
    if __salt__["host_ceph_conf.adopted"]():
        return halocline.unchanged(name, "stays as it was adopted")
    there, own = __salt__["host_ceph_conf.sections"]().get("global", {}).get("fsid"), str(__pillar__.get("fsid"))
    if there and (other := there.strip("\"'").lower()) != own.lower():
        raise CommandExecutionError(
            f"{name} names cluster {other}, and this host is of {own}: nothing was written; move it away where that "
            "cluster is gone, else take the host out of policy.cfg, or mend the site's fsid"
        )
    return __states__["file.managed"](name, source=source, template="jinja", makedirs=True, mode="0644")


@halocline.state
def known(name: str) -> dict:
    """Every option of ceph.conf is one of this host's Ceph, and every address that it gives an OSD is this host's.

    What is not is warned of.

    ``name`` is only a name.
    """
    if __opts__["test"] and not shutil.which("ceph-conf"):
        return halocline.unchanged(name, "looked at once Ceph's packages are here")
    warnings = []
    if unknown := __salt__["host_ceph_conf.unknown"]():
        warnings.append(f"ceph.conf has {', '.join(unknown)}: this release of Ceph does not know it and ignores it")
    if elsewhere := __salt__["host_ceph_conf.elsewhere"]():
        warnings.append(
            f"ceph.conf has {', '.join(elsewhere)}: not an address of this host, where that OSD is: it cannot start; "
            "correct the line in ceph.conf.d"
        )
    return halocline.unchanged(
        name, "; ".join(warnings) or "Ceph knows every option, and OSDs have addresses of this host"
    ) | {"warnings": warnings}
