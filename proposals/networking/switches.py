"""What the switches must be told for a network plan: one text a switch, for the guide's MLNX-OS and for NX-OS.

Sources: the SUSE Enterprise Storage guide for HPE Apollo 4510 (port-channels, MTU 9216, hybrid ports, individual LACP,
MLAG); Mellanox MLNX-OS user manual, Mellanox community DOC-2563 (lacp rate), running configurations of MLAG pairs in
HPE's Cray System Management documentation; Cisco Nexus 9000 NX-OS Interfaces Configuration Guide. NX-OS takes the rate
of a port and the fate of an individual one only while the interface is down."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from proposals.networking.cables import check, port_map, switch_port
from proposals.text.errors import ArgumentError
from proposals.text.names import nearest, shown

MTU = 9216  # bytes: a frame of 9000 with its headers and tags
PAIR = ": one of a pair; its peer link (ipl, vpc domain) is the pair's own and stands before this"
FIRST_SWITCHES = ("switch1", "switch2")


class Channel(NamedTuple):
    """What one host has on one switch: its port-channel's number and, for each cable, switch port and host port."""

    number: int
    host: str
    bond: str
    cables: tuple[tuple[str, str], ...]


class Switch(NamedTuple):
    """One switch: its channels, the tagged VLANs and the untagged one; ``paired``: of an MLAG or vPC pair."""

    name: str
    channels: tuple[Channel, ...]
    tagged: tuple[int, ...]
    lacp: bool
    fast: bool
    paired: bool


def text(answer: Mapping, system: str, ports: object = None) -> str:
    """The configuration of every switch.

    answer
        A network plan's JSON form, or the stored one.
    system
        ``mlnx-os`` or ``nx-os``.
    ports
        Which cable is where: ``{host: {port: "SWITCH 1/7"}}``. Without, hosts are cabled in the order of their names,
        each bond's first port to the first switch.

    Raises ArgumentError where the map is not one, lacks a port, names a port that no host has, or gives a switch port
    twice.

    CLI: ``python -m proposals networks switch ROOT apollo --as mlnx-os``"""
    if system not in SYSTEMS:
        raise ArgumentError(f"as={shown(system)} is not known{nearest(str(system), SYSTEMS)}")
    texts = [
        f"! {one.name}{PAIR if one.paired and one.lacp else ''}\n" + "\n".join(SYSTEMS[system](one)) + "\n"
        for one in switches(answer, ports)
    ]
    if not texts:
        raise ArgumentError("the plan has no bond: there is nothing to tell a switch")
    return "\n".join(texts)


def switches(answer: Mapping, ports: object = None) -> list[Switch]:
    """The switches that a plan's cables lead to, by name."""
    typed = answer["arguments"]
    count = typed.get("switches", 2)
    bonds = {host: link for host, one in answer["hosts"].items() for link in one["links"] if link["kind"] == "bond"}
    cabled = _map(answer["hosts"], bonds, ports) if ports is not None else _default(bonds, count)
    vlans = sorted({link["id"] for one in answer["hosts"].values() for link in one["links"] if link.get("lower")})
    names = sorted({switch for cables in cabled.values() for switch, _ in cables.values()})
    channels: dict[str, list[Channel]] = {name: [] for name in names}
    for number, (host, cables) in enumerate(sorted(cabled.items()), 1):
        for name in names:
            mine = tuple((place, port) for port, (switch, place) in sorted(cables.items()) if switch == name)
            if mine:
                channels[name].append(Channel(number, host, bonds[host]["name"], mine))
    lacp = typed.get("mode", "802.3ad") == "802.3ad"
    fast = typed.get("lacp-rate", "fast") == "fast"
    return [Switch(name, tuple(channels[name]), tuple(vlans), lacp, fast, len(names) > 1) for name in names]


def _default(bonds: Mapping[str, Mapping], count: int) -> dict[str, dict[str, tuple[str, str]]]:
    """Cables in the order of the hosts' names: port 1/N of each switch is the Nth host's."""
    width = max((-(-len(link["ports"]) // count) for link in bonds.values()), default=1)
    return {
        host: {
            port: (FIRST_SWITCHES[at % count], f"1/{place * width + at // count + 1}")
            for at, port in enumerate(link["ports"])
        }
        for place, (host, link) in enumerate(sorted(bonds.items()))
    }


def _map(
    hosts: Mapping[str, Mapping], bonds: Mapping[str, Mapping], ports: object
) -> dict[str, dict[str, tuple[str, str]]]:
    """The cables that a port map names."""
    typed = port_map(ports)
    check(typed, hosts)
    cables: dict[str, dict[str, tuple[str, str]]] = {}
    taken: dict[tuple[str, str], str] = {}
    for host, link in sorted(bonds.items()):
        by_port = typed.get(host, {})
        for port in link["ports"]:
            cable = switch_port(host, port, by_port.get(port))
            if cable in taken:
                raise ArgumentError(f"port map: {' '.join(cable)} is given to {taken[cable]} and to {host} {port}")
            taken[cable] = f"{host} {port}"
            cables.setdefault(host, {})[port] = cable
    return cables


def _mlnx_os(switch: Switch) -> Iterable[str]:
    yield from ["lacp"] if switch.lacp else []
    yield from ["protocol mlag"] if switch.paired and switch.lacp else []
    yield from (f"vlan {vlan}\nexit" for vlan in switch.tagged)
    kind = "mlag-port-channel" if switch.paired else "port-channel"
    member = "mlag-channel-group" if switch.paired else "channel-group"
    for channel in switch.channels:
        if not switch.lacp:
            for place, port in channel.cables:
                yield from _mlnx_port(f"interface ethernet {place}", f"{channel.host} {port}", switch)
            continue
        whole = f"interface {kind} {channel.number}"
        yield whole
        yield "exit"
        for place, _ in channel.cables:
            yield f"interface ethernet {place} {member} {channel.number} mode active"
            yield from [f"interface ethernet {place} lacp rate fast"] if switch.fast else []
        yield from _mlnx_port(whole, f"{channel.host} {channel.bond}", switch)
        yield f"{whole} lacp-individual enable force"


def _mlnx_port(interface: str, what: str, switch: Switch) -> Iterable[str]:
    yield f'{interface} description "{what}"'
    yield f"{interface} mtu {MTU} force"
    yield f"{interface} switchport mode hybrid"
    yield f"{interface} switchport hybrid access vlan 1"
    yield from (f"{interface} switchport hybrid allowed-vlan add {vlan}" for vlan in switch.tagged)
    yield f"{interface} spanning-tree port type edge"
    yield f"{interface} spanning-tree bpdufilter enable"
    yield f"{interface} no shutdown"


def _nx_os(switch: Switch) -> Iterable[str]:
    yield from ["feature lacp"] if switch.lacp else []
    yield from ["feature vpc"] if switch.paired and switch.lacp else []
    yield from (f"vlan {vlan}" for vlan in switch.tagged)
    for channel in switch.channels:
        for place, port in channel.cables:
            yield f"interface Ethernet{place}"
            yield f"  description {channel.host} {port}"
            yield "  shutdown"
            yield from _nx_port(switch)
            yield from [f"  channel-group {channel.number} mode active"] if switch.lacp else []
            yield from ["  lacp rate fast"] if switch.lacp and switch.fast else []
            yield "  no shutdown"
        if switch.lacp:
            yield f"interface port-channel{channel.number}"
            yield f"  description {channel.host} {channel.bond}"
            yield "  shutdown"
            yield from _nx_port(switch)
            yield "  no lacp suspend-individual"
            yield from [f"  vpc {channel.number}"] if switch.paired else []
            yield "  no shutdown"


def _nx_port(switch: Switch) -> Sequence[str]:
    vlans = ",".join(map(str, (1, *switch.tagged)))
    return (
        "  switchport mode trunk",
        "  switchport trunk native vlan 1",
        f"  switchport trunk allowed vlan {vlans}",
        "  spanning-tree port type edge trunk",
        "  spanning-tree bpdufilter enable",
        f"  mtu {MTU}",
    )


SYSTEMS = {"mlnx-os": _mlnx_os, "nx-os": _nx_os}
