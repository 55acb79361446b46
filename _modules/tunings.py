"""Kernel settings of this host's TuneD profile: what it is to have, what it has, what it cannot have.

A profile is made for the host from the pillar's table (``ceph_tunings``): each setting becomes the path, port or disk
that this host has. Whether it holds is read back from the kernel, never believed: TuneD passes a path that is not
there silently, and hdparm prints "setting" when it fails.
"""

import re
import subprocess
from pathlib import Path

PROC, SYS = Path("/proc"), Path("/sys")
CONTAINER = Path("/run/systemd/container")
LIMIT = 30  # seconds one command may take


def wanted():
    """Return the name of this host's profile; None where it is to have none.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings.wanted
    """
    name = __pillar__.get("ceph", {}).get("tuning")
    return name if name in __pillar__.get("ceph_tunings", {}) else None


def settings(name=None):
    """Return every setting of the profile as this host would have it, in the table's order.

    Each has ``id``, ``on`` (the key, path, port or disk), ``value`` and, where it is left out, why: ``left``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings.settings
    """
    name = name or wanted()
    rows = __pillar__.get("ceph_tunings", {}).get(name, {}).get("settings", ()) if name else ()
    found = [_fitted(one) for row in rows for one in _expanded(dict(row))]
    return [{**one, "left": one.get("left") or _left(one)} for one in found]


def _expanded(row):
    """One row for each place that it applies to."""
    same = {"id": row["id"], "price": row.get("price"), "least": row.get("least")}
    if "sysctl" in row:
        path = PROC / "sys" / row["sysctl"].replace(".", "/")
        return [{**same, "kind": "sysctl", "on": row["sysctl"], "path": str(path), "value": row["value"]}]
    if "sysfs" in row:
        return [{**same, "kind": "sysfs", "on": row["sysfs"], "path": str(_moved(row["sysfs"])), "value": row["value"]}]
    if "cmdline" in row:
        return [{**same, "kind": "cmdline", "on": word, "value": word} for word in row["cmdline"].split()]
    places, kind = (_ports(), row["port"]) if "port" in row else (_disks(), row["disk"])
    what = "planned network port" if "port" in row else "disk of an OSD"
    nowhere = [{**same, "kind": kind, "on": kind, "value": row["value"], "left": f"no {what} on this host"}]
    return [{**same, **_placed(kind, place, row["value"])} for place in places] or nowhere


def _fitted(one):
    """A ring no longer than its port can have; a least value only where the host has less."""
    if one["kind"] == "ring":
        most = dict(
            re.findall(r"^(RX|TX):\s+(\d+)", _said("ethtool", "-g", one["on"]).partition("Current")[0], re.MULTILINE)
        )
        asked = re.findall(r"(\w+) (\d+)", one["value"])
        one["value"] = " ".join(f"{key} {min(int(size), int(most.get(key.upper(), size)))}" for key, size in asked)
    if one.get("least") and (real(one) or "").isdecimal() and int(real(one)) > int(one["value"]):
        one["left"] = f"this host has {real(one)} already"
    return one


def _placed(kind, place, value):
    """A setting of one port or disk."""
    if kind == "rps_cpus":
        local = _text(SYS / "class/net" / place / "device" / value)
        path = SYS / "class/net" / place / "queues/rx-0/rps_cpus"
        found = {"kind": "sysfs", "on": f"{place} rps_cpus", "path": str(path), "value": local}
        return found if local else {**found, "left": f"{place} does not tell which CPUs are next to it"}
    if kind in ("scheduler", "read_ahead_kb"):
        path = SYS / "block" / place / "queue" / kind
        return {"kind": "sysfs", "on": f"{place} {kind}", "path": str(path), "value": value}
    return {"kind": kind, "on": place, "value": value}


def _left(one):
    """Why a setting is not applied here; None where it is."""
    if one["price"] and one["id"] not in __pillar__.get("ceph", {}).get("tunings_allowed", ()):
        return f"only by name, its price: {one['price']} (ceph:tunings_allowed: [{one['id']}])"
    if CONTAINER.exists():
        return "a container shares its host's kernel: set it there"
    if "path" in one and not Path(one["path"]).exists():
        return "this kernel does not have it"
    reader = READERS.get(one["kind"])
    return "this hardware does not have it" if reader and reader(one) is None else None


def _ports():
    """The ports that the plan uses."""
    return sorted(__pillar__.get("ceph", {}).get("network", {}).get("ports", {}))


def _disks():
    """The kernel's names of the disks that planned OSDs use."""
    osds = __pillar__.get("ceph", {}).get("storage", {}).get("osds", {})
    named = {osd[key] for osd in osds.values() for key in ("db", "wal", "journal") if osd.get(key)} | set(osds)
    return sorted(Path(disk).resolve().name for disk in named if Path(disk).exists())


def real(one):
    """Return what the kernel or hardware has for one setting now; None where that cannot be read.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings.real '{kind: sysctl, path: /proc/sys/net/core/somaxconn}'
    """
    if "path" in one:
        text = _text(Path(one["path"]))
        chosen = re.search(r"\[(\S+)\]", text)
        return chosen[1] if chosen else " ".join(text.split()) or None
    return READERS[one["kind"]](one)


def _cmdline(one):
    return one["on"] if one["on"] in _text(PROC / "cmdline").split() else "not on the command line"


def _ring(one):
    """``rx 8192 tx 8192``: the current settings, the second part of what ethtool prints."""
    now = _said("ethtool", "-g", one["on"]).partition("Current hardware settings:")[2]
    found = {key.lower(): value for key, value in re.findall(r"^(RX|TX):\s+(\d+)", now, re.MULTILINE)}
    return " ".join(f"{key} {found[key]}" for key in ("rx", "tx") if key in found) or None


def _pause(one):
    found = re.search(r"^RX:\s+(on|off)", _said("ethtool", "-a", one["on"]), re.MULTILINE)
    return f"rx {found[1]}" if found else None


def _pci(one):
    register, _, _ = one["value"].partition("=")
    device = (SYS / "class/net" / one["on"] / "device").resolve().name
    found = _said("setpci", "-s", device, register).strip()
    return f"{register}={found}" if re.fullmatch(r"[0-9a-f]+", found) else None


def _drive(one):
    """``-W1 -A1`` as hdparm reads it back."""
    said = _said("hdparm", "-W", "-A", f"/dev/{one['on']}")
    found = [re.search(rf"{word}\s*=\s*([01])", said) for word in ("write-caching", "look-ahead")]
    return " ".join(f"-{key}{each[1]}" for key, each in zip("WA", found, strict=True)) if all(found) else None


READERS = {"cmdline": _cmdline, "ring": _ring, "pause": _pause, "pci": _pci, "drive": _drive}


def check():
    """Return each setting of this host's profile with its real value and whether it holds; nothing is changed.

    ``state``: ok, drift, reboot (on the command line of the next boot) or left out, with the reason.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings.check
    """
    found = []
    for one in settings():
        now = None if one["left"] else real(one)
        state = (
            "left"
            if one["left"]
            else "ok"
            if now == one["value"]
            else "reboot"
            if one["kind"] == "cmdline"
            else "drift"
        )
        found.append(
            {"id": one["id"], "on": one["on"], "wanted": one["value"], "found": now, "state": state, "why": one["left"]}
        )
    return found


def _said(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False).stdout
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""


def _text(path):
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _moved(path):
    """A path under /sys, where the tests have moved that."""
    return SYS / Path(path).relative_to("/sys")
