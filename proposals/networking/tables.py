"""Network answers as tables for people."""

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from proposals.networking.bonding import gbits
from proposals.text.tables import _console, _grouped, _row, _table, printed


def proposal(answer: Mapping) -> None:
    """A network plan or stored proposal: links, ports, warnings and hints."""
    console = _console()
    typed = " ".join(f"{key}={value}" for key, value in answer["arguments"].items()) or "(no arguments)"
    console.print(Text(f"network {answer['name']}: {typed}"))
    links = _table("", "host", "link", "of", "MTU", "addresses")
    for row, names in _grouped((name, row) for name, host in answer["hosts"].items() for row in _links(host)):
        _row(links, names, *row)
    console.print(links)
    ports = _table("ports", "host", "port", "speed", "driver", "becomes", "why")
    for row, names in _grouped((name, row) for name, host in answer["hosts"].items() for row in _ports(host)):
        _row(ports, names, *row)
    console.print(ports)
    for word, style in (("warnings", "yellow"), ("hints", "cyan")):
        for line in answer[word]:
            console.print(Text(f"{word[:-1]}: {line}", style=style))
    told, networks = answer["summary"], answer["networks"]
    public, cluster = networks["public_network"], networks["cluster_network"]
    console.print(
        Text(f"{told['hosts']} hosts, {told['bonds']} bonds; public network {public}, cluster network {cluster}")
    )
    console.print(
        Text("Each host puts its old network back by itself when the master does not answer over the new one.")
    )


def _links(host: Mapping) -> Iterator[tuple]:
    for link in host["links"]:
        of = " + ".join(link.get("ports", ())) or (f"VLAN {link['id']} on {link['lower']}" if "id" in link else None)
        master = " (the master comes this way)" if host["reached_by"] == link["name"] else ""
        yield link["name"], of, link["mtu"], f"{', '.join(link['addresses']) or '-'}{master}"


def _ports(host: Mapping) -> Iterator[tuple]:
    for port in host["ports"]:
        speed = gbits(port["speed"]) if port["speed"] else None
        yield port["name"], speed, port["driver"], port["role"], port["reason"]


def matrix(title: str, hosts: Sequence[str], answers: Mapping[str, Mapping[str, bool]]) -> str:
    """Who reaches whom, as text: ``.`` answered, ``X`` did not, ``?`` was not asked."""

    def cell(source: str, target: str) -> str:
        return "-" if source == target else {True: ".", False: "X", None: "?"}[answers.get(source, {}).get(target)]

    return _square(title, hosts, cell)


def rates(title: str, hosts: Sequence[str], measured: Mapping[tuple[str, str], float]) -> str:
    """What each pair carries, in Mb/s."""

    def cell(source: str, target: str) -> str:
        rate = measured.get((source, target), measured.get((target, source)))
        return "-" if source == target else "?" if rate is None else f"{rate:.0f}"

    return _square(f"{title}, Mb/s", hosts, cell)


def _square(title: str, hosts: Sequence[str], cell) -> str:
    def show(_: object) -> None:
        table = _table(title, "from", *hosts)
        for one in hosts:
            _row(table, one, *(cell(one, other) for other in hosts))
        _console().print(table)

    return printed(show, None)


def bonds(hosts: Mapping[str, Mapping]) -> str:
    """Every bond's ports as text."""

    def show(_: object) -> None:
        table = _table("", "host", "bond", "mode", "port", "link", "speed", "LACP", "partner", "errors")
        for host, mine in hosts.items():
            for name, bond in mine.items():
                for port, one in bond["ports"].items():
                    speed = gbits(one["speed"]) if one["speed"] else None
                    link = "yes" if one["link"] else "no"
                    _row(
                        table, host, name, bond["mode"], port, link, speed, one["lacp"], bond["partner"], one["errors"]
                    )
        _console().print(table)

    return printed(show, None)
