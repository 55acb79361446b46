"""What an NFS server exports, as a state: what it could not read stands in its log alone."""

from collections.abc import Mapping

import halocline


@halocline.state
def kept(name: str) -> dict:
    """What the server has read is kept before the file of exports is written: what it mounts otherwise is told by that.

    name
        Only a name.
    """
    if not __salt__["ganesha.unkept"]():
        return halocline.unchanged(name, "what the server has read is known")
    if not __opts__["test"]:
        __salt__["ganesha.keep"]()
    return halocline.changed(name, "what the server has read", {"kept": "exports.conf"}, __opts__["test"])


@halocline.cluster_state
def exporting(name: str, exports: Mapping[str, int]) -> dict:
    """The running server exports each of these, as they are written. One that is missing is read again: what it lacked
    may be there now.

    name
        Only a name.
    exports
        Their ids, by the path that clients mount.
    """
    return _read(name, exports, again=False)


@halocline.cluster_state
def mod_watch(name: str, exports: Mapping[str, int], **_: object) -> dict:
    """The same where Salt saw the file of exports change and it was not read: in test mode, or by a wrong clock."""
    return _read(name, exports, again=True)


def _read(name: str, exports: Mapping[str, int], again: bool) -> dict:
    ids, test = list(exports.values()), __opts__["test"]
    before = __salt__["ganesha.missing"](ids, *([0] if test else []))
    again = again or __salt__["ganesha.unread"]()
    after = before
    if (before or again) and not test:
        after = __salt__["ganesha.reload"](ids)
    else:
        kept(name)  # a server that this run has started read them then
    came = sorted(path for path, export in exports.items() if export in set(before) - set(after))
    lacking = sorted(path for path, export in exports.items() if export in after)
    comment = f"{', '.join(sorted(exports))} can be mounted"
    if lacking:
        comment = (
            f"{', '.join(lacking)} cannot be mounted, although the server runs: is the directory or bucket there? "
            "/var/log/ganesha/ganesha.log says more; make it, then run the stage again"
        )
    result = None if test and (lacking or again) else not lacking
    changes = {"exports": came or "read again"} if came or again else {}
    return {"name": name, "result": result, "changes": changes, "comment": comment}
