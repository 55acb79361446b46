"""Which cable is where, from what switches told hosts by LLDP: the port map that ``switches.text`` takes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from proposals.files import tree
from proposals.text.errors import ArgumentError
from proposals.text.names import closest, is_label, nearest, shown

# NX-OS and MLNX-OS call port 7 of module 1 Ethernet1/7 or Eth1/7, and read it as 1/7.
PLACE = re.compile(r"(?i)eth(?:ernet)? ?(?=\d)")


def read(file: str) -> Mapping[str, Any]:
    """Return the port map of a YAML file. One without a map is refused: without a map hosts would be cabled in the
    order of their names, and the file was given because they are not.

    file
        As typed; StoreError where it cannot be read.
    """
    return port_map(tree.read_yaml(file) if file.strip() else None)


def port_map(found: object) -> Mapping[str, Any]:
    """Return what was found where it is a port map. Raises ArgumentError for anything else."""
    if not isinstance(found, Mapping):
        told = "nothing" if found is None else shown(found)
        raise ArgumentError(
            f"the port map is not one: 'HOST: {{PORT: SWITCH 1/7}}' was expected, as networks.cables prints it; found "
            f"{told}"
        )
    return found


def switch_port(host: str, port: object, typed: object) -> tuple[str, str]:
    """Return the switch and the port of it that a port map names. Raises ArgumentError where it names none."""
    words = typed.split() if isinstance(typed, str) else []
    if len(words) != 2 or not all(is_label(word) for word in words):
        raise ArgumentError(
            f"port map: {shown(host)} {shown(port)}: a switch and its port, as in 'leaf1 1/7', was expected"
        )
    return words[0], words[1]


def check(found: Mapping[str, Any], hosts: Mapping[str, Mapping]) -> None:
    """Raise ArgumentError where a port map says of a proposal's hosts what cannot be: no such port, no switch's port.

    Hosts that the proposal is not for are not looked at, as networks.cables prints all; but one has to be in both.
    """
    if found and not found.keys() & hosts.keys():
        host = next((host for host in found if closest(str(host), sorted(hosts))), next(iter(found)))
        raise ArgumentError(f"port map: the proposal has no host {shown(host)}{nearest(str(host), hosts)}")
    for host in sorted(found.keys() & hosts.keys()):
        if not isinstance(found[host], Mapping):
            raise ArgumentError(f"port map: {shown(host)}: '{{PORT: SWITCH 1/7}}' was expected")
        known = [str(port["name"]) for port in hosts[host]["ports"]]
        for port, typed in found[host].items():
            if port not in known:
                raise ArgumentError(f"port map: {shown(host)} has no port {shown(port)}{nearest(str(port), known)}")
            switch_port(host, port, typed)


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
