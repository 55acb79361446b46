"""A host's planned OSDs as states."""

from salt.exceptions import CommandExecutionError


def usable(name):
    """Every planned disk is clean or ours; nothing is changed. ``name`` is only a name."""
    try:
        problems = __salt__["osd.check"]()
    except CommandExecutionError as err:
        return {"name": name, "result": False, "changes": {}, "comment": f"{__grains__['id']}: {err}"}
    comment = f"{len(__salt__['osd.plan']())} OSDs are planned on disks that are as the proposal saw them"
    if problems:
        comment = "\n".join(f"{__grains__['id']}: {disk} {problem}" for disk, problem in problems.items())
    return {"name": name, "result": not problems, "changes": {}, "comment": comment}


def deployed(name):
    """Every planned OSD of this host is made and starts with it."""
    ret = {"name": name, "result": True, "changes": {}, "comment": "all planned OSDs are there"}
    try:
        if __opts__["test"]:
            ret["changes"] = __salt__["osd.would"]()
            if ret["changes"]:
                ret.update(result=None, comment=f"{len(ret['changes'])} OSDs would be made")
            return ret
        done = __salt__["osd.deploy"]()
    except CommandExecutionError as err:
        ret.update(result=False, comment=str(err))
        return ret
    if done["made"]:
        ret["changes"] = {f"osd.{osd_id}": uuid for uuid, osd_id in done["made"].items()}
        ret["comment"] = f"made {len(done['made'])} OSDs"
    if done["failed"]:
        ret["result"] = False
        why = "\n".join(f"OSD {uuid}: {error}" for uuid, error in done["failed"].items())
        ret["comment"] = (
            f"made {len(done['made'])} OSDs; {len(done['failed'])} failed, run the stage again when the cause is "
            f"gone:\n{why}"
        )
    return ret
