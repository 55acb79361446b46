"""A host's planned OSDs as states."""

from collections.abc import Sequence

import halocline

NAMED = 6  # so many OSDs are named where they are started


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
            heads = [line.partition(":")[0] for line in lines.values()]
            down = [head.removeprefix("start ") for head in heads if head.startswith("start ")]
            return halocline.changed(name, _told(heads.count("make"), down, "would be "), lines, True)
        return halocline.unchanged(name, "all planned OSDs are there")
    outcome = __salt__["osd.deploy"]()
    made, failed = outcome["made"], outcome["failed"]
    started = {f"osd.{osd_id}": "started" for osd_id in outcome["started"].values()}
    changes = {f"osd.{osd_id}": fsid for fsid, osd_id in made.items()} | started
    told = _told(len(made), list(started))
    if failed:
        why = "\n".join(f"OSD {fsid}: {error}" for fsid, error in failed.items())
        comment = f"{told}; {len(failed)} failed, run the stage again when the cause is gone:\n{why}"
        return {"name": name, "result": False, "changes": changes, "comment": comment}
    if changes:
        return halocline.changed(name, told, changes, False)
    return halocline.unchanged(name, "all planned OSDs are there")


def _told(made: int, started: Sequence[str], would: str = "") -> str:
    """How many OSDs are new, and which lay on their disks and did not run: many as a number."""
    parts = [f"{made} OSD{'' if made == 1 else 's'} {would}made"] if made or not started else []
    names = ", ".join(started) if len(started) <= NAMED else f"{len(started)} OSDs"
    return "; ".join([*parts, *([f"{names} {would}started"] if started else [])])
