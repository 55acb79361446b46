"""Which switch port each port of this host leads to, as the switches tell it themselves by LLDP. It only looks.

Who listens is lldpd, where it runs (lldpcli(8): the form ``json0`` is always the same), else systemd-networkd, which
keeps each frame that it heard below ``/run/systemd/netif/lldp``, a file for each port: eight bytes of length, the
lowest first, and the frame (systemd 252, ``src/network/networkctl.c``). TLVs of a frame: IEEE 802.1AB, 8.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import halocline
import salt.utils.path
from salt.exceptions import CommandExecutionError

LIMIT = 10  # seconds lldpcli may take
FRAMES, NET = Path("/run/systemd/netif/lldp"), Path("/sys/class/net")
HEADER = 14  # bytes of an Ethernet frame before its first TLV
PORT_ID, PORT_ABOUT, SYSTEM = 2, 4, 5  # types of TLV
READABLE = {1, 5, 7}  # subtypes of a port's id that are text: interface alias, interface name, locally assigned


def neighbours() -> list[dict[str, str]]:
    """Return what is at the other end of each port: ``{port, switch, place, about}``, texts of the switch's own.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_lldp.neighbours
    """
    if salt.utils.path.which("lldpcli"):
        try:
            return list(_lldpd(halocline.run(["lldpcli", "-f", "json0", "show", "neighbors"], limit=LIMIT)))
        except (CommandExecutionError, ValueError, KeyError, IndexError, TypeError, AttributeError):
            pass  # it does not run: networkd may have heard something
    return list(_networkd())


def _lldpd(printed: str) -> Iterator[dict[str, str]]:
    for interface in json.loads(printed)["lldp"][0].get("interface", ()):
        chassis, port = interface["chassis"][0], interface["port"][0]
        yield {
            "port": interface["name"],
            "switch": chassis["name"][0]["value"] if "name" in chassis else "",
            "place": port["id"][0]["value"],
            "about": port["descr"][0]["value"] if "descr" in port else "",
        }


def _networkd() -> Iterator[dict[str, str]]:
    names = {_text(path / "ifindex"): path.name for path in NET.iterdir()}
    for file in sorted(FRAMES.glob("[0-9]*")):
        heard = file.read_bytes()
        while len(heard) > 8:
            end = 8 + int.from_bytes(heard[:8], "little")
            if file.name in names:
                yield {"port": names[file.name], **_frame(heard[8:end])}
            heard = heard[end:]


def _frame(frame: bytes) -> dict[str, str]:
    """What one frame says: each TLV has 7 bits of type, 9 of length."""
    said = {"switch": "", "place": "", "about": ""}
    rest = frame[HEADER:]
    while len(rest) >= 2 and (head := int.from_bytes(rest[:2], "big")):
        kind, value = head >> 9, rest[2 : 2 + (head & 0x1FF)]
        if kind == PORT_ID and value[:1]:
            said["place"] = value[1:].decode(errors="replace") if value[0] in READABLE else value[1:].hex(":")
        elif kind in (PORT_ABOUT, SYSTEM):
            said["about" if kind == PORT_ABOUT else "switch"] = value.decode(errors="replace")
        rest = rest[2 + len(value) :]
    return said


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # no interface: bonding_masters lies there too
        return ""
