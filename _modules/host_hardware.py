"""What this host's machine is: firmware, cores, memory errors, RAID volumes, cables. It only looks.

A container shows its host's kernel: there only what a tool tells is known.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import halocline
import salt.utils.path
from salt.exceptions import CommandExecutionError

FORMAT = 1
LIMIT = 5  # seconds ethtool may take for one port
SYS, CONTAINER = Path("/sys"), Path("/run/systemd/container")
SAID = re.compile(r"^(driver|firmware-version): (.+)$", re.M)


def facts() -> dict[str, Any]:
    """Return what validation needs to know of this host's machine.

    ``boot`` is ``uefi`` or ``bios``, ``threads`` how many the kernel runs at once; empty and 0 where that is not known,
    in a container. ``memory_errors`` counts since the boot (kernel.org, admin-guide/RAS); ``firmware`` has kind, model
    and version of each part; ``raid``, ``neighbours``: ``host_raid.controllers``, ``host_lldp.neighbours``; ``bonds``
    names the ports of each; ``failed`` has a line for each tool that is there and does not answer.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_hardware.facts
    """
    raid = __salt__["host_raid.controllers"]()
    shared = CONTAINER.exists()
    own = [] if shared else [*_board(), *_disks(), *_ports()]
    raids = [{"kind": "raid", "model": one["model"], "version": one["firmware"]} for one in raid["controllers"]]
    return {
        "format": FORMAT,
        "boot": "" if shared else "uefi" if (SYS / "firmware/efi").is_dir() else "bios",
        "threads": 0 if shared else len(list((SYS / "devices/system/cpu").glob("cpu[0-9]*"))),
        "governors": [] if shared else sorted(set(_texts("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))),
        "memory_errors": [] if shared else list(_memory_errors()),
        "firmware": [one for one in [*own, *raids] if one["version"]],
        "raid": [{key: one[key] for key in ("tool", "model", "volumes", "batteries")} for one in raid["controllers"]],
        "bonds": {path.parents[1].name: _text(path).split() for path in SYS.glob("class/net/*/bonding/slaves")},
        "neighbours": __salt__["host_lldp.neighbours"](),
        "failed": raid["failed"],
    }


def _memory_errors() -> Iterable[dict[str, Any]]:
    """What the kernel counted of each memory controller."""
    for controller in sorted((SYS / "devices/system/edac/mc").glob("mc[0-9]*")):
        corrected, uncorrected = (int(_text(controller / name) or 0) for name in ("ce_count", "ue_count"))
        dimms = [dimm for dimm in controller.glob("dimm[0-9]*") if _counted(dimm)]
        where = sorted(_text(dimm / "dimm_label") or f"{controller.name} {dimm.name}" for dimm in dimms)
        yield {"where": ", ".join(where) or controller.name, "corrected": corrected, "uncorrected": uncorrected}


def _counted(dimm: Path) -> bool:
    return any(_text(dimm / name).strip("0") for name in ("dimm_ce_count", "dimm_ue_count"))


def _board() -> Iterable[dict[str, str]]:
    """The machine's own firmware, by the machine's model."""
    dmi = SYS / "class/dmi/id"
    yield {"kind": "bios", "model": _text(dmi / "product_name"), "version": _text(dmi / "bios_version")}


def _disks() -> Iterable[dict[str, str]]:
    """Firmware of SCSI and SATA disks (``rev``) and of NVMe devices (``firmware_rev``), once for each model."""
    found = {
        (_text(version.with_name("model")), _text(version))
        for name in ("rev", "firmware_rev")
        for version in SYS.glob(f"block/*/device/{name}")
    }
    return [{"kind": "disk", "model": model, "version": version} for model, version in sorted(found)]


def _ports() -> Iterable[dict[str, str]]:
    """Firmware of network ports, by their driver's name: once for each (ethtool(8), -i)."""
    found = set()
    for device in SYS.glob("class/net/*/device") if salt.utils.path.which("ethtool") else ():
        try:
            printed = halocline.run(["ethtool", "-i", device.parent.name], ok=None, limit=LIMIT)
        except CommandExecutionError:  # it hangs: that port has no firmware to tell
            continue
        said = dict(SAID.findall(printed))
        found.add((said.get("driver", "").strip(), said.get("firmware-version", "").strip()))
    return [{"kind": "port", "model": driver, "version": version} for driver, version in sorted(found)]


def _texts(pattern: str) -> list[str]:
    return [_text(path) for path in SYS.glob(pattern)]


def _text(path: Path) -> str:
    """The stripped text of a small file, empty where it is absent or cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
