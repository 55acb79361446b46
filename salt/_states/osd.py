"""A host's planned OSDs as states."""

import halocline


@halocline.state
def usable(name: str) -> dict:
    """Every planned disk that is there is clean or ours; nothing is changed. ``name`` is only a name."""
    problems, absent = __salt__["osd.check"](), __salt__["osd.absent"]()
    planned = len(__salt__["osd.plan"]()) - len(absent)
    comment = f"{planned} OSDs are planned on disks that are as the proposal saw them"
    comment = "\n".join([comment, *(f"left out: OSD {fsid}: {why}" for fsid, why in absent.items())])
    if problems:
        comment = "\n".join(f"{__grains__['id']}: {disk} {problem}" for disk, problem in problems.items())
    return {"name": name, "result": not problems, "changes": {}, "comment": comment}


@halocline.state
def deployed(name: str) -> dict:
    """Every planned OSD of this host is made and starts with it. ``name`` is only a name."""
    if __opts__["test"]:
        lines = __salt__["osd.dry_run"]()
        if lines:
            return halocline.changed(name, f"{len(lines)} OSDs would be made", lines, True)
        return halocline.unchanged(name, "all planned OSDs are there")
    outcome = __salt__["osd.deploy"]()
    ids, failed = outcome["made"], outcome["failed"]
    changes = {f"osd.{osd_id}": fsid for fsid, osd_id in ids.items()}
    if failed:
        why = "\n".join(f"OSD {fsid}: {error}" for fsid, error in failed.items())
        comment = f"made {len(ids)} OSDs; {len(failed)} failed, run the stage again when the cause is gone:\n{why}"
        return {"name": name, "result": False, "changes": changes, "comment": comment}
    if ids:
        return halocline.changed(name, f"made {len(ids)} OSDs", changes, False)
    return halocline.unchanged(name, "all planned OSDs are there")
