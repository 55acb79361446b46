"""This host's TuneD profile as a state."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import halocline

BEFORE = Path("/var/lib/halocline/tunings/values.json")  # of what no plugin of TuneD restores


@halocline.state
def installed(name: str, pkgs: Sequence[str]) -> dict:
    """Packages are there where this host is to have a profile. ``name`` is only a name.

    Not ``pkg.installed`` with ``onlyif``: for that Salt loads every module that it has (see ``host_ceph_conf``).

    pkgs
        Their names.
    """
    if not __salt__["tunings.wanted"]():
        return halocline.unchanged(name, "no profile is planned for this host")
    return __states__["pkg.installed"](name, pkgs=list(pkgs), refresh=True)


@halocline.state
def applied(name: str) -> dict:
    """This host runs the TuneD profile that its role and hardware ask for, or none of ours; judged by reading back.

    What its kernel or hardware lacks, and what needs a reboot, is part of the comment. ``name`` is only a name.
    """
    profile, active = __salt__["tunings.wanted"](), __salt__["tunings_tuned.active"]()
    if not profile:
        return _taken_away(name, active, "no profile is planned for this host")
    settings = __salt__["tunings.settings"]()
    if all(setting["left"] and not setting["more"] for setting in settings):
        return _taken_away(name, active, f"{profile}: nothing of it can be set here: {_left(settings)}")
    texts = __salt__["tunings_tuned.files"](profile, settings, _before(settings))
    drifted = [setting for setting in __salt__["tunings.check"]() if setting["state"] == "drift"]
    if active == profile and __salt__["tunings_tuned.there"](profile) == texts and not drifted:
        return _at_boot(name, profile, settings)
    changes: dict[str, Any] = {
        f"{row['id']} {row['on']}": {"old": row["found"], "new": row["wanted"]} for row in drifted
    }
    changes |= {"profile": {"old": active, "new": profile}} if active != profile else {}
    if __opts__["test"]:
        return halocline.changed(name, f"{profile} would be applied", changes, True)
    __salt__["tunings_tuned.apply"](profile, texts)
    return _judged(name, profile, settings, changes or {"profile": "written again"})


def _at_boot(name: str, profile: str, settings: Sequence[Mapping]) -> dict:
    """All holds now: TuneD sets it again at each boot where it starts then."""
    if __salt__["tunings_tuned.boots"]():
        return _judged(name, profile, settings, {})
    changes = {"tuned": {"old": "not started at boot", "new": "enabled"}}
    if __opts__["test"]:
        return halocline.changed(name, f"{profile} would be applied at each boot", changes, True)
    halocline.run(["systemctl", "enable", "tuned"])
    return _judged(name, profile, settings, changes)


def _before(settings: Sequence[Mapping]) -> dict[str, str]:
    """The values that hardware had before us, kept once: our script puts them back."""
    kept = json.loads(BEFORE.read_text()) if BEFORE.exists() else {}
    own = [row for row in settings if not row["left"] and row["kind"] in ("ring", "pause", "pci", "drive")]
    new = {
        key: __salt__["tunings_hardware.real"](row) for row in own if (key := f"{row['on']} {row['kind']}") not in kept
    }
    if new and not __opts__["test"]:
        BEFORE.parent.mkdir(parents=True, exist_ok=True)
        halocline.write(BEFORE, json.dumps({**kept, **new}))
    return {**kept, **new}


def _taken_away(name: str, active: str | None, why: str) -> dict:
    """Nothing is to be set: a profile of ours goes, and what was before comes back."""
    if not __salt__["tunings_tuned.ours"](active):
        return halocline.unchanged(name, why)
    changes = {"profile": {"old": active, "new": None}}
    if __opts__["test"]:
        return halocline.changed(name, f"{why}: {active} would be taken away", changes, True)
    __salt__["tunings_tuned.remove"]()
    return halocline.changed(name, f"{why}: {active} is taken away, what was before is restored", changes, False)


def _judged(name: str, profile: str, settings: Sequence[Mapping], changes: dict) -> dict:
    """The answer by what is read back: what holds, what does not although it was set, is left out, needs a reboot."""
    rows = __salt__["tunings.check"]()
    drifted = [
        f"{row['id']} on {row['on']} is {row['found']}, not {row['wanted']}" for row in rows if row["state"] == "drift"
    ]
    waiting = [row["on"] for row in rows if row["state"] == "reboot"]
    lines = [f"{profile}: {sum(row['state'] == 'ok' for row in rows)} settings hold"]
    lines += [f"set, and not so when read back: {', '.join(drifted)}"] if drifted else []
    lines += [f"reboot this host to have {' '.join(waiting)}"] if waiting else []
    lines += [f"left out: {_left(settings)}"] if any(row["left"] for row in settings) else []
    return {"name": name, "result": not drifted, "changes": changes, "comment": "\n".join(lines)}


def _left(settings: Sequence[Mapping]) -> str:
    return "; ".join(f"{row['id']} ({row['left']})" for row in settings if row["left"])
