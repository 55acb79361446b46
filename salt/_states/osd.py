"""A host's planned OSDs as states."""

from salt.exceptions import CommandExecutionError


def usable(name):
    """Every planned disk is clean or ours; nothing is changed. ``name`` is only a name."""
    problems = __salt__["osd.check"]()
    comment = f"{len(__salt__['osd.plan']())} OSDs are planned on disks that are as the proposal saw them"
    if problems:
        comment = "\n".join(f"{__grains__['id']}: {disk} {problem}" for disk, problem in problems.items())
    return {"name": name, "result": not problems, "changes": {}, "comment": comment}


def deployed(name):
    """Every planned OSD of this host is made and starts with it."""
    missing = __salt__["osd.missing"]()
    ret = {"name": name, "result": True, "changes": {}, "comment": "all planned OSDs are there"}
    if not missing:
        return ret
    if __opts__["test"]:
        ret.update(result=None, changes={"would make": missing}, comment=f"{len(missing)} OSDs would be made")
        return ret
    try:
        done = __salt__["osd.deploy"]()
    except CommandExecutionError as err:
        ret.update(result=False, comment=str(err))
        return ret
    ret["changes"] = {f"osd.{osd_id}": uuid for uuid, osd_id in done["made"].items()}
    ret["comment"] = f"made {len(done['made'])} OSDs"
    if done["failed"]:
        ret["result"] = False
        why = "\n".join(f"OSD {uuid}: {error}" for uuid, error in done["failed"].items())
        ret["comment"] += f"; {len(done['failed'])} failed, run the stage again when the cause is gone:\n{why}"
    return ret
