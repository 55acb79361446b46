"""Which cable is where, from what switches told hosts by LLDP: the port map that ``switches.text`` takes."""

import re
from collections.abc import Mapping, Sequence

from proposals.text.names import is_label, shown

# NX-OS and MLNX-OS call port 7 of module 1 Ethernet1/7 or Eth1/7, and read it as 1/7.
PLACE = re.compile(r"(?i)eth(?:ernet)? ?(?=\d)")


def table(told: Mapping[str, Sequence[Mapping[str, str]]]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return ``{minion: {port: "SWITCH 1/7"}}``, and a line for each host and port of which that is not known.

    told
        What each host answered (``host_lldp.neighbours``): its words are a switch's, and believed where they are names.
    """
    cables: dict[str, dict[str, str]] = {}
    unknown = []
    for minion, neighbours in sorted(told.items()):
        for one in sorted(neighbours, key=lambda one: str(one.get("port"))):
            words = [str(one.get(key, "")) for key in ("port", "switch", "place")]
            port, switch, place = (words[0], words[1], PLACE.sub("", words[2]))
            if not all(word and is_label(word) and not re.search(r"\s", word) for word in (port, switch, place)):
                unknown.append(f"{minion} {shown(port)}: its switch says '{shown(switch)}' '{shown(words[2])}'")
            elif port in cables.get(minion, {}):
                unknown.append(f"{minion} {port}: several switches answer, {shown(switch)} too: is one between them?")
            else:
                cables.setdefault(minion, {})[port] = f"{switch} {place}"
    silent = [f"{minion}: no switch told it anything (LLDP)" for minion in sorted(told) if not told[minion]]
    return cables, unknown + silent
