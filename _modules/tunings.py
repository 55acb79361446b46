"""Kernel settings of this host's TuneD profile: what it is to have, what it has, what it cannot have.

A profile is made for the host from the pillar's table (``ceph_tunings``): each setting becomes the path, port or disk
that this host has. Whether it holds is read back from the kernel, never believed: TuneD passes a path that is not
there silently, and hdparm prints "setting" when it fails.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

PROC, SYS = Path("/proc"), Path("/sys")
CONTAINER = Path("/run/systemd/container")
LIMIT = 30  # seconds one command may take


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

    Each has ``id``, ``on`` (the key, path, port or disk), ``value`` and, where it is left out, why: ``left``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings.settings
    """
    name = name or wanted()
    rows = __pillar__.get("ceph_tunings", {}).get(name, {}).get("settings", ()) if name else ()
    expanded = [_fitted(setting) for row in rows for setting in _expanded(dict(row))]
    return [{**setting, "left": setting.get("left") or _left(setting)} for setting in expanded]


def _expanded(row: Mapping) -> list[dict]:
    """A setting for each place that a row of the table applies to."""
    same = {"id": row["id"], "price": row.get("price"), "least": row.get("least")}
    if "sysctl" in row:
        path = PROC / "sys" / row["sysctl"].replace(".", "/")
        return [{**same, "kind": "sysctl", "on": row["sysctl"], "path": str(path), "value": row["value"]}]
    if "sysfs" in row:
        return [{**same, "kind": "sysfs", "on": row["sysfs"], "path": str(_moved(row["sysfs"])), "value": row["value"]}]
    if "cmdline" in row:
        return [{**same, "kind": "cmdline", "on": word, "value": word} for word in row["cmdline"].split()]
    places, kind = (_ports(), row["port"]) if "port" in row else (_disks(), row["disk"])
    lacking = "planned network port" if "port" in row else "disk of an OSD"
    nowhere = [{**same, "kind": kind, "on": kind, "value": row["value"], "left": f"no {lacking} on this host"}]
    return [{**same, **_placed(kind, place, row["value"])} for place in places] or nowhere


def _fitted(setting: dict) -> dict:
    """A ring no longer than its port can have; a least value only where the host has less."""
    if setting["kind"] == "ring":
        maximums = _printed("ethtool", "-g", setting["on"]).partition("Current")[0]
        most = dict(re.findall(r"^(RX|TX):\s+(\d+)", maximums, re.MULTILINE))
        sizes = re.findall(r"(\w+) (\d+)", setting["value"])
        setting["value"] = " ".join(f"{key} {min(int(size), int(most.get(key.upper(), size)))}" for key, size in sizes)
    if setting.get("least") and (real(setting) or "").isdecimal() and int(real(setting)) > int(setting["value"]):
        setting["left"] = f"this host has {real(setting)} already"
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


def _left(setting: Mapping) -> str | None:
    """Why a setting is not applied here; None where it is."""
    if setting["price"] and setting["id"] not in __pillar__.get("ceph", {}).get("tunings_allowed", ()):
        return f"only by name, its price: {setting['price']} (ceph:tunings_allowed: [{setting['id']}])"
    if CONTAINER.exists():
        return "a container shares its host's kernel: set it there"
    if "path" in setting and not Path(setting["path"]).exists():
        return "this kernel does not have it"
    reader = READERS.get(setting["kind"])
    return "this hardware does not have it" if reader and reader(setting) is None else None


def _ports() -> list[str]:
    """The ports that the plan uses."""
    return sorted(__pillar__.get("ceph", {}).get("network", {}).get("ports", {}))


def _disks() -> list[str]:
    """The kernel's names of the disks that planned OSDs use."""
    osds = __pillar__.get("ceph", {}).get("storage", {}).get("osds", {})
    named = {osd[key] for osd in osds.values() for key in ("db", "wal", "journal") if osd.get(key)} | set(osds)
    return sorted(Path(disk).resolve().name for disk in named if Path(disk).exists())


def real(setting: Mapping) -> str | None:
    """Return what the kernel or hardware has for one setting now; None where that cannot be read.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings.real '{kind: sysctl, path: /proc/sys/net/core/somaxconn}'
    """
    if "path" in setting:
        text = _text(Path(setting["path"]))
        chosen = re.search(r"\[(\S+)\]", text)
        return chosen[1] if chosen else " ".join(text.split()) or None
    return READERS[setting["kind"]](setting)


def _cmdline(setting: Mapping) -> str:
    return setting["on"] if setting["on"] in _text(PROC / "cmdline").split() else "not on the command line"


def _ring(setting: Mapping) -> str | None:
    """``rx 8192 tx 8192``: the current settings, the second part of what ethtool prints."""
    now = _printed("ethtool", "-g", setting["on"]).partition("Current hardware settings:")[2]
    sizes = {key.lower(): size for key, size in re.findall(r"^(RX|TX):\s+(\d+)", now, re.MULTILINE)}
    return " ".join(f"{key} {sizes[key]}" for key in ("rx", "tx") if key in sizes) or None


def _pause(setting: Mapping) -> str | None:
    state = re.search(r"^RX:\s+(on|off)", _printed("ethtool", "-a", setting["on"]), re.MULTILINE)
    return f"rx {state[1]}" if state else None


def _pci(setting: Mapping) -> str | None:
    register, _, _ = setting["value"].partition("=")
    device = (SYS / "class/net" / setting["on"] / "device").resolve().name
    value = _printed("setpci", "-s", device, register).strip()
    return f"{register}={value}" if re.fullmatch(r"[0-9a-f]+", value) else None


def _drive(setting: Mapping) -> str | None:
    """``-W1 -A1`` as hdparm reads it back."""
    out = _printed("hdparm", "-W", "-A", f"/dev/{setting['on']}")
    flags = [re.search(rf"{word}\s*=\s*([01])", out) for word in ("write-caching", "look-ahead")]
    return " ".join(f"-{key}{flag[1]}" for key, flag in zip("WA", flags, strict=True)) if all(flags) else None


READERS = {"cmdline": _cmdline, "ring": _ring, "pause": _pause, "pci": _pci, "drive": _drive}


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
            "found": (now := None if setting["left"] else real(setting)),
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


def _printed(*words: str) -> str:
    """What a program prints, whatever its exit status; nothing where it is not there or hangs."""
    try:
        return halocline.run(words, ok=None, limit=LIMIT)
    except CommandExecutionError:
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _moved(path: str) -> Path:
    """A path under /sys, where the tests have moved that."""
    return SYS / Path(path).relative_to("/sys")
