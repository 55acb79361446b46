"""What an NFS server exports, as a state: what it could not read stands in its log alone."""

from salt.exceptions import CommandExecutionError


def exporting(name, exports):
    """The running server exports each of these. One that is missing is read again: what it lacked may be there now.

    name
        Only a name.
    exports
        Their ids, by the path that clients mount.
    """
    return _read(name, exports, again=False)


def mod_watch(name, exports, **_):
    """The same where the file of exports has changed: it is read again, whatever is served."""
    return _read(name, exports, again=True)


def _read(name, exports, again):
    ret = {"name": name, "result": True, "changes": {}, "comment": f"{', '.join(sorted(exports))} can be mounted"}
    ids, test = list(exports.values()), __opts__["test"]
    try:
        before = __salt__["ganesha.missing"](ids, *([0] if test else []))
        after = __salt__["ganesha.reload"](ids) if (before or again) and not test else before
    except CommandExecutionError as err:
        # Before the first run there is no server to ask: in test mode that is no failure.
        return {**ret, "result": None if test else False, "comment": str(err)}
    came = sorted(path for path, number in exports.items() if number in set(before) - set(after))
    lacking = sorted(path for path, number in exports.items() if number in after)
    ret["changes"] = {"exports": came} if came else {}
    if lacking:
        ret["result"] = None if test else False
        ret["comment"] = (
            f"{', '.join(lacking)} cannot be mounted, although the server runs: is the directory or bucket there? "
            "/var/log/ganesha/ganesha.log says more; make it, then run the stage again"
        )
    return ret
