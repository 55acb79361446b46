"""Kernel settings of this host's TuneD profile: what it is to have, what it has, what it cannot have.

A profile is made for the host from the pillar's table (``ceph_tunings``): each setting becomes the path, port or disk
that this host has. Whether it holds is read back from the kernel (``tunings_hardware``), never believed.
"""

import fnmatch
import re
from collections.abc import Mapping
from pathlib import Path

PROC, SYS = Path("/proc"), Path("/sys")
CONTAINER = Path("/run/systemd/container")
LISTED = ("pci", "drive")  # what is written to devices that a list names, and to no other


def wanted() -> str | None:
    """Return the name of this host's profile; None where it is to have none.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings.wanted
    """
    name = __pillar__.get("ceph", {}).get("tuning")
    return name if name in __pillar__.get("ceph_tunings", {}) else None


def settings(name: str | None = None) -> list[dict]:
    """Return every setting of the profile as this host would have it, in the table's order.

    Each has ``id``, ``on`` (the key, path, port or disk), ``value`` and, where it is left out, why: ``left``; ``more``
    says whether that is only because the host has more now. What a list has to name has its ``identity`` too
    (``tunings_hardware.identity``).

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings.settings
    """
    name = name or wanted()
    rows = __pillar__.get("ceph_tunings", {}).get(name, {}).get("settings", ()) if name else ()
    expanded = [_fitted(setting) for row in rows for setting in _expanded(dict(row))]
    return [_judged(setting) for setting in expanded]


def _expanded(row: Mapping) -> list[dict]:
    """A setting for each place that a row of the table applies to."""
    same = {"id": row["id"], "price": row.get("price"), "least": row.get("least"), "devices": row.get("devices", ())}
    if "cmdline" in row:
        return [{**same, "kind": "cmdline", "on": word, "value": word} for word in row["cmdline"].split()]
    value = _told(row["value"])
    if "sysctl" in row:
        path = PROC / "sys" / row["sysctl"].replace(".", "/")
        return [{**same, "kind": "sysctl", "on": row["sysctl"], "path": str(path), "value": value}]
    if "sysfs" in row:
        return [{**same, "kind": "sysfs", "on": row["sysfs"], "path": str(_moved(row["sysfs"])), "value": value}]
    places, kind = (_ports(), row["port"]) if "port" in row else (_disks(), row["disk"])
    lacking = "planned network port" if "port" in row else "disk of an OSD"
    nowhere = [{**same, "kind": kind, "on": kind, "value": value, "left": f"no {lacking} on this host"}]
    return [{**same, **_placed(kind, place, value)} for place in places] or nowhere


def _told(value: object) -> str:
    """A value as the kernel tells it, where YAML read a number, a boolean, or more than one blank."""
    return " ".join(str(int(value) if isinstance(value, bool) else value).split())


def _fitted(setting: dict) -> dict:
    """A ring no longer than its port can have; a least value only where the host has less; whose a register is."""
    if setting["kind"] == "ring":
        most = __salt__["tunings_hardware.rings"](setting["on"])
        sizes = ((key, int(size)) for key, size in re.findall(r"(\w+) (\d+)", setting["value"]))
        setting["value"] = " ".join(f"{key} {min(size, most.get(key, size))}" for key, size in sizes)
    if setting.get("least"):
        now = __salt__["tunings_hardware.real"](setting) or ""
        if now.isdecimal() and int(now) > int(setting["value"]):
            setting["more"] = f"this host has {now} already"
    if setting["kind"] in LISTED:
        setting["identity"] = __salt__["tunings_hardware.identity"](setting)
    return setting


def _placed(kind: str, place: str, value: str) -> dict:
    """A setting of one port or disk."""
    if kind == "rps_cpus":
        local = _text(SYS / "class/net" / place / "device" / value)
        path = SYS / "class/net" / place / "queues/rx-0/rps_cpus"
        setting = {"kind": "sysfs", "on": f"{place} rps_cpus", "path": str(path), "value": local}
        return setting if local else {**setting, "left": f"{place} does not tell which CPUs are next to it"}
    if kind in ("scheduler", "read_ahead_kb"):
        path = SYS / "block" / place / "queue" / kind
        return {"kind": "sysfs", "on": f"{place} {kind}", "path": str(path), "value": value}
    return {"kind": kind, "on": place, "value": value}


def _judged(setting: Mapping) -> dict:
    """A setting with why it is left out, if it is, and whether that is only because the host has more now."""
    left, more = setting.get("left") or _left(setting), setting.get("more")
    return {**setting, "left": left or more, "more": bool(more and not left)}


def _left(setting: Mapping) -> str | None:
    """Why a setting is not applied here; None where it is."""
    if setting["price"] and setting["id"] not in _named("tunings_allowed"):
        return f"only by name, its price: {setting['price']} (ceph:tunings_allowed: [{setting['id']}])"
    if CONTAINER.exists():
        return "a container shares its host's kernel: set it there"
    if setting["kind"] in LISTED and (why := _unlisted(setting)):
        return why
    if "path" in setting and not Path(setting["path"]).exists():
        return "this kernel does not have it"
    if "path" not in setting and __salt__["tunings_hardware.real"](setting) is None:
        return "this hardware does not have it"
    return None


def _unlisted(setting: Mapping) -> str | None:
    """Why nothing is written to a device: our table lists those with a known register, the site its safe drives."""
    identity = setting["identity"]
    if setting["kind"] == "pci":
        known = setting["devices"]
        return None if identity in known else f"{identity or 'no PCI device'} is none of {', '.join(known)}"
    if any(fnmatch.fnmatchcase(identity, model) for model in _named("tunings_drives")):
        return None
    return f"its model '{identity}' is not in ceph:tunings_drives, the drives that keep what they acknowledged"


def _named(key: str) -> list[str]:
    """What the site names there; one alone need not be in a list, and its letters are no names: `*` would be all."""
    said = __pillar__.get("ceph", {}).get(key) or []
    return [str(each) for each in (said if isinstance(said, list) else [said])]


def _ports() -> list[str]:
    """The ports that the plan uses."""
    return sorted(__pillar__.get("ceph", {}).get("network", {}).get("ports", {}))


def _disks() -> list[str]:
    """The kernel's names of the disks that planned OSDs use."""
    osds = __pillar__.get("ceph", {}).get("storage", {}).get("osds", {})
    named = {osd[key] for osd in osds.values() for key in ("db", "wal", "journal") if osd.get(key)} | set(osds)
    return sorted(Path(disk).resolve().name for disk in named if Path(disk).exists())


def check() -> list[dict]:
    """Return each setting of this host's profile with its real value and whether it holds; nothing is changed.

    ``state``: ok, drift, reboot (on the command line of the next boot) or left out, with the reason.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings.check
    """
    return [
        {
            "id": setting["id"],
            "on": setting["on"],
            "wanted": setting["value"],
            "found": (now := None if setting["left"] else __salt__["tunings_hardware.real"](setting)),
            "state": _state(setting, now),
            "why": setting["left"],
        }
        for setting in settings()
    ]


def _state(setting: Mapping, now: str | None) -> str:
    if setting["left"]:
        return "left"
    if now == setting["value"]:
        return "ok"
    return "reboot" if setting["kind"] == "cmdline" else "drift"


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _moved(path: str) -> Path:
    """A path under /sys, where the tests have moved that."""
    return SYS / Path(path).relative_to("/sys")
