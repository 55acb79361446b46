"""What an NFS server exports, as a state: what it could not read stands in its log alone."""

from collections.abc import Mapping

import halocline


@halocline.cluster_state
def exporting(name: str, exports: Mapping[str, int]) -> dict:
    """The running server exports each of these. One that is missing is read again: what it lacked may be there now.

    name
        Only a name.
    exports
        Their ids, by the path that clients mount.
    """
    return _read(name, exports, again=False)


@halocline.cluster_state
def mod_watch(name: str, exports: Mapping[str, int], **_: object) -> dict:
    """The same where the file of exports has changed: it is read again, whatever is served."""
    return _read(name, exports, again=True)


def _read(name: str, exports: Mapping[str, int], again: bool) -> dict:
    ids, test = list(exports.values()), __opts__["test"]
    before = __salt__["ganesha.missing"](ids, *([0] if test else []))
    after = __salt__["ganesha.reload"](ids) if (before or again) and not test else before
    came = sorted(path for path, export in exports.items() if export in set(before) - set(after))
    lacking = sorted(path for path, export in exports.items() if export in after)
    result: bool | None = True
    comment = f"{', '.join(sorted(exports))} can be mounted"
    if lacking:
        result = None if test else False
        comment = (
            f"{', '.join(lacking)} cannot be mounted, although the server runs: is the directory or bucket there? "
            "/var/log/ganesha/ganesha.log says more; make it, then run the stage again"
        )
    return {"name": name, "result": result, "changes": {"exports": came} if came else {}, "comment": comment}
