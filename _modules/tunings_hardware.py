"""What the kernel and the hardware of this host really have for a setting. Everything here only reads.

Nothing is believed: TuneD passes a path that is not there silently, and hdparm prints "setting" when it fails.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

PROC, SYS = Path("/proc"), Path("/sys")
LIMIT = 30  # seconds one command may take
CURRENT = "Current hardware settings:"  # between the two parts of what `ethtool -g` prints


def real(setting: Mapping) -> str | None:
    """Return what the kernel or hardware has for one setting now; None where that cannot be read.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings_hardware.real '{kind: sysctl, path: /proc/sys/net/core/somaxconn}'
    """
    if "path" in setting:
        text = _text(Path(setting["path"]))
        chosen = re.search(r"\[(\S+)\]", text)
        return chosen[1] if chosen else " ".join(text.split()) or None
    return READERS[setting["kind"]](setting)


def rings(port: str) -> dict[str, int]:
    """Return how long a port's rings may be: ``{rx, tx}``; empty where that cannot be read.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings_hardware.rings ens1f0
    """
    return _sizes(_printed("ethtool", "-g", port).partition(CURRENT)[0])


def identity(setting: Mapping) -> str:
    """Return what a setting's place is: ``vendor:device`` of a port on PCI, a disk's model; empty where it has none.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings_hardware.identity '{kind: drive, on: sda}'
    """
    if setting["kind"] == "drive":
        return _text(SYS / "block" / setting["on"] / "device/model")
    device = SYS / "class/net" / setting["on"] / "device"
    return ":".join(_text(device / name).removeprefix("0x") for name in ("vendor", "device")).strip(":")


def _cmdline(setting: Mapping) -> str:
    return setting["on"] if setting["on"] in _text(PROC / "cmdline").split() else "not on the command line"


def _ring(setting: Mapping) -> str | None:
    """``rx 8192 tx 8192``: the current settings, the second part of what ethtool prints."""
    sizes = _sizes(_printed("ethtool", "-g", setting["on"]).partition(CURRENT)[2])
    return " ".join(f"{key} {sizes[key]}" for key in ("rx", "tx") if key in sizes) or None


def _sizes(text: str) -> dict[str, int]:
    return {key.lower(): int(size) for key, size in re.findall(r"^(RX|TX):\s+(\d+)", text, re.MULTILINE)}


def _pause(setting: Mapping) -> str | None:
    state = re.search(r"^RX:\s+(on|off)", _printed("ethtool", "-a", setting["on"]), re.MULTILINE)
    return f"rx {state[1]}" if state else None


def _pci(setting: Mapping) -> str | None:
    """The bits of a register that the setting's mask names, as setpci(8) writes them: ``CAP_EXP+8.w=2000:7000``."""
    register, _, bits = setting["value"].partition("=")
    mask = bits.partition(":")[2]
    device = (SYS / "class/net" / setting["on"] / "device").resolve().name
    value = _printed("setpci", "-s", device, register).strip()
    return f"{register}={int(value, 16) & int(mask, 16):x}:{mask}" if re.fullmatch(r"[0-9a-f]+", value) else None


def _drive(setting: Mapping) -> str | None:
    """``-W1 -A1`` as hdparm reads it back."""
    out = _printed("hdparm", "-W", "-A", f"/dev/{setting['on']}")
    words = {"W": "write-caching", "A": "look-ahead"}
    flags = {key: flag[1] for key, word in words.items() if (flag := re.search(rf"{word}\s*=\s*([01])", out))}
    return " ".join(f"-{key}{flag}" for key, flag in flags.items()) if len(flags) == len(words) else None


READERS = {"cmdline": _cmdline, "ring": _ring, "pause": _pause, "pci": _pci, "drive": _drive}


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
