"""This host's TuneD profile as a state."""

import json
from pathlib import Path

from salt.exceptions import CommandExecutionError

BEFORE = Path("/var/lib/halocline/tunings/values.json")  # of what no plugin of TuneD restores


def applied(name):
    """This host runs the TuneD profile that its role and hardware ask for, or none of ours; judged by reading back.

    What its kernel or hardware lacks, and what needs a reboot, is said. ``name`` is only a name.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    wanted, active = __salt__["tunings.wanted"](), __salt__["tunings_tuned.active"]()
    if not wanted:
        return _taken_away(ret, active)
    settings = __salt__["tunings.settings"]()
    if not any(not one["left"] for one in settings):
        ret["comment"] = f"{wanted}: nothing of it can be set here: {_left(settings)}"
        return ret
    texts = __salt__["tunings_tuned.files"](wanted, settings, _before(settings))
    drifted = [one for one in __salt__["tunings.check"]() if one["state"] == "drift"]
    if active == wanted and __salt__["tunings_tuned.there"](wanted) == texts and not drifted:
        return _told(ret, wanted, settings)
    changes = {f"{one['id']} {one['on']}": {"old": one["found"], "new": one["wanted"]} for one in drifted}
    changes |= {"profile": {"old": active, "new": wanted}} if active != wanted else {}
    if __opts__["test"]:
        ret.update(result=None, changes=changes, comment=f"{wanted} would be applied")
        return ret
    try:
        __salt__["tunings_tuned.apply"](wanted, texts)
    except CommandExecutionError as err:
        ret.update(result=False, comment=str(err))
        return ret
    ret["changes"] = changes or {"profile": "written again"}
    return _told(ret, wanted, settings)


def _before(settings):
    """The values that hardware had before us, kept once: our script puts them back."""
    known = json.loads(BEFORE.read_text()) if BEFORE.exists() else {}
    own = [one for one in settings if not one["left"] and one["kind"] in ("ring", "pause", "pci", "drive")]
    new = {key: __salt__["tunings.real"](one) for one in own if (key := f"{one['on']} {one['kind']}") not in known}
    if new and not __opts__["test"]:
        BEFORE.parent.mkdir(parents=True, exist_ok=True)
        BEFORE.write_text(json.dumps({**known, **new}))
    return {**known, **new}


def _taken_away(ret, active):
    """No profile is wanted: one of ours goes, and what was before comes back."""
    if active not in __pillar__.get("ceph_tunings", {}):
        ret["comment"] = "no profile is planned for this host"
        return ret
    ret["changes"] = {"profile": {"old": active, "new": None}}
    if __opts__["test"]:
        ret.update(result=None, comment=f"{active} would be taken away")
        return ret
    try:
        __salt__["tunings_tuned.remove"]()
    except CommandExecutionError as err:
        ret.update(result=False, changes={}, comment=str(err))
        return ret
    ret["comment"] = f"{active} is taken away, what was before is restored"
    return ret


def _told(ret, wanted, settings):
    """The comment: what holds, what does not although it was set, what is left out, what waits for a reboot."""
    found = __salt__["tunings.check"]()
    drifted = [
        f"{one['id']} on {one['on']} is {one['found']}, not {one['wanted']}" for one in found if one["state"] == "drift"
    ]
    waits = [one["on"] for one in found if one["state"] == "reboot"]
    lines = [f"{wanted}: {sum(one['state'] == 'ok' for one in found)} settings hold"]
    lines += [f"set, and not so when read back: {', '.join(drifted)}"] if drifted else []
    lines += [f"reboot this host to have {' '.join(waits)}"] if waits else []
    lines += [f"left out: {_left(settings)}"] if any(one["left"] for one in settings) else []
    ret.update(result=not drifted, comment="\n".join(lines))
    return ret


def _left(settings):
    return "; ".join(f"{one['id']} ({one['left']})" for one in settings if one["left"])
