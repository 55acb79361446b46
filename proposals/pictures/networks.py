"""A network proposal as a picture: each link of a host beside its ports and their switches, ports that are left."""

from collections.abc import Callable, Iterable, Mapping

from proposals.networking import cables
from proposals.pictures import drawing
from proposals.pictures.drawing import Box, Picture, Row
from proposals.text.errors import ArgumentError
from proposals.text.notes import counted

LETTERS = {"bond": "B", "vlan": "V"}
LEGEND = (
    ("bond", "B", "bond"),
    ("bond", "V", "VLAN on a bond"),
    ("port", "P", "port"),
    ("unused", "-", "unused: why is beside it"),
)
Cables = Mapping[str, Mapping[str, str]]  # of hosts: {port: "SWITCH 1/7"}


def picture(stored: Mapping, wires: Cables | None = None) -> Picture:
    """The picture of a network proposal, from ``networks.peek`` or stored. Addresses are those of a group's first.

    wires
        Where each port's cable leads, as ``networks.cables`` tells it; hosts of which it is known are drawn one by one.
    Raises ArgumentError where that is no such map."""
    known = {} if wires is None else wires
    if not isinstance(known, Mapping) or not all(isinstance(each, Mapping) for each in known.values()):
        raise ArgumentError(
            "the port map is not one: 'HOST: {PORT: SWITCH 1/7}' was expected, as networks.cables prints it"
        )
    hosts = {name: _host(host, known.get(name, {})) for name, host in stored["hosts"].items()}
    nets = ", ".join(f"{name.replace('_', ' ')} {net}" for name, net in stored.get("networks", {}).items() if net)
    lines = (
        *(f"warning: {line}" for line in stored.get("warnings", ())),
        *(f"hint: {line}" for line in stored.get("hints", ())),
    )
    title = f"network proposal {stored['name']}"
    summary = f"{counted(len(stored['hosts']), 'host')}: {nets}"
    return Picture(title, summary, lines, drawing.legend(LEGEND), drawing.grouped(hosts))


def wired(stored: Mapping, wires: Cables | None) -> Picture:
    """The picture with the cables of a port map that an admin wrote, where there is one; it has to fit the hosts."""
    cables.check(wires or {}, stored["hosts"])
    return picture(stored, wires)


def _host(host: Mapping, wires: Mapping) -> tuple[object, Callable[[], tuple[str, tuple[Row, ...]]]]:
    """What hosts share whose pictures are the same, and what draws this one."""
    links = [[link.get(key) for key in ("name", "kind", "id", "lower", "mtu", "ports")] for link in host["links"]]
    ports = [[port.get(key) for key in ("name", "speed", "reason")] for port in host["ports"]]
    alike = repr((links, ports, wires))  # a stored proposal may hold anything where it was edited
    return alike, lambda: (f"reached by {host.get('reached_by') or '-'}", tuple(_rows(host, wires)))


def _rows(host: Mapping, wires: Mapping) -> Iterable[Row]:
    ports = {port["name"]: port for port in host["ports"]}
    shown = set()
    for link in host["links"]:
        members = [ports[name] for name in link.get("ports") or (link["name"],) if name in ports]
        shown |= {port["name"] for port in members}
        plugged = [f"{port['name']} at {wires[port['name']]}" for port in members if port["name"] in wires]
        text = ", ".join([*_link(link), *plugged])
        head = Box("bond", LETTERS.get(str(link.get("kind")), "L"), text)
        yield Row((head,), tuple(_port(port, wires) for port in members), text)
    for port in host["ports"]:
        if port["name"] not in shown and port.get("reason"):
            yield Row((), (_port(port, wires, "unused"),), f"{port['name']}: {port['reason']}")


def _link(link: Mapping) -> Iterable[str]:
    """``bond0.3001: VLAN 3001 on bond0``, its addresses, its MTU."""
    what = f"VLAN {link['id']} on {link.get('lower')}" if "id" in link else link.get("kind")
    yield f"{link['name']}: {what or 'link'}"
    yield from map(str, link.get("addresses") or ())
    yield f"MTU {link.get('mtu') or '-'}"


def _port(port: Mapping, wires: Mapping, kind: str = "port") -> Box:
    speed = f"{port['speed']} Mb/s" if port.get("speed") else "speed not told"
    wire = f"at {wires[port['name']]}" if port["name"] in wires else None
    words = [port["name"], speed, port.get("driver"), port.get("path"), wire, port.get("reason")]
    return Box(kind, "P", " ".join(str(word) for word in words if word))
