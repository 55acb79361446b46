"""A network proposal as a picture: each link of a host beside its ports, ports that are left, and why."""

from collections.abc import Iterable, Mapping

from proposals.pictures import drawing
from proposals.pictures.drawing import Box, Picture, Row
from proposals.text.notes import counted

LEGEND = (("bond", "B", "bond, VLAN or bridge"), ("port", "P", "port"), ("unused", "-", "unused: why is beside it"))


def picture(stored: Mapping) -> Picture:
    """The picture of a network proposal, from ``networks.peek`` or stored. Addresses are those of a group's first."""
    hosts = {
        name: (_alike(host), lambda host=host: (f"reached by {host.get('reached_by') or '-'}", tuple(_rows(host))))
        for name, host in stored["hosts"].items()
    }
    nets = ", ".join(f"{name.replace('_', ' ')} {net}" for name, net in stored.get("networks", {}).items() if net)
    lines = (
        *(f"warning: {line}" for line in stored.get("warnings", ())),
        *(f"hint: {line}" for line in stored.get("hints", ())),
    )
    title = f"network proposal {stored['name']}"
    summary = f"{counted(len(stored['hosts']), 'host')}: {nets}"
    return Picture(title, summary, lines, drawing.legend(LEGEND), drawing.grouped(hosts))


def _alike(host: Mapping) -> object:
    links = tuple((link["name"], link.get("kind"), tuple(link.get("ports") or ())) for link in host["links"])
    return links, tuple((port["name"], port.get("speed"), port.get("reason")) for port in host["ports"])


def _rows(host: Mapping) -> Iterable[Row]:
    ports = {port["name"]: port for port in host["ports"]}
    shown = set()
    for link in host["links"]:
        members = [ports[name] for name in link.get("ports") or () if name in ports]
        shown |= {port["name"] for port in members}
        told = [link["name"], link.get("kind"), *(link.get("addresses") or ()), f"MTU {link.get('mtu') or '-'}"]
        text = " ".join(str(word) for word in told if word)
        yield Row((Box("bond", "B", text),), tuple(map(_port, members)), text)
    for port in host["ports"]:
        if port["name"] not in shown and port.get("reason"):
            yield Row((), (_port(port, "unused"),), f"{port['name']}: {port['reason']}")


def _port(port: Mapping, kind: str = "port") -> Box:
    speed = f"{port['speed']} Mb/s" if port.get("speed") else "speed not told"
    words = [port["name"], speed, port.get("driver"), port.get("path"), port.get("reason")]
    return Box(kind, "P", " ".join(str(word) for word in words if word))
