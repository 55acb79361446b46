"""Network answers as tables for people."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from proposals.networking.bonding import gbits
from proposals.text.argument_readers import words
from proposals.text.console import console, row, table, text
from proposals.text.notes import counted, several
from proposals.text.tables import printed

MANY = 24  # hosts; of more, equal ones share a line


def proposal(answer: Mapping) -> None:
    """A network plan or stored proposal: links, ports, warnings and hints."""
    out = console()
    out.print(text(f"network {answer['name']}: {words(answer['arguments'])}"))
    links = table("", "host", "link", "of", "MTU", "addresses")
    for cells, names in _grouped((name, cells) for name, host in answer["hosts"].items() for cells in _links(host)):
        row(links, names, *cells)
    out.print(links)
    ports = table("ports", "host", "port", "speed", "driver", "becomes", "why")
    for cells, names in _grouped((name, cells) for name, host in answer["hosts"].items() for cells in _ports(host)):
        row(ports, names, *cells)
    out.print(ports)
    for word, style in (("warnings", "yellow"), ("hints", "cyan")):
        for line in answer[word]:
            out.print(text(f"{word[:-1]}: {line}", style=style))
    total, networks = answer["summary"], answer["networks"]
    public, cluster = networks["public_network"], networks["cluster_network"]
    counts = f"{counted(total['hosts'], 'host')}, {counted(total['bonds'], 'bond')}"
    out.print(text(f"{counts}; public network {public}, cluster network {cluster}"))
    out.print(text("Each host puts its old network back by itself when the master does not answer over the new one."))


def _grouped(rows: Iterable[tuple[str, tuple]]) -> list[tuple[tuple, str]]:
    """Rows with the hosts they are about: each host its own, or where there are many, equal ones in one."""
    listed = list(rows)
    if len({name for name, _ in listed}) <= MANY:
        return [(cells, name) for name, cells in listed]
    groups: dict[tuple, list[str]] = {}
    for name, cells in listed:
        groups.setdefault(cells, []).append(name)
    return [(cells, several(list(dict.fromkeys(names)))) for cells, names in groups.items()]


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

    def cell(one: str, other: str) -> str:
        return "-" if one == other else {True: ".", False: "X", None: "?"}[answers.get(one, {}).get(other)]

    return _square(title, hosts, cell)


def rates(title: str, hosts: Sequence[str], found: Mapping[tuple[str, str], float]) -> str:
    """What each pair carries, in Mb/s."""

    def cell(one: str, other: str) -> str:
        rate = found.get((one, other), found.get((other, one)))
        return "-" if one == other else "?" if rate is None else f"{rate:.0f}"

    return _square(f"{title}, Mb/s", hosts, cell)


def _square(title: str, hosts: Sequence[str], cell: Callable[[str, str], str]) -> str:
    def show(_: object) -> None:
        square = table(title, "from", *hosts)
        for one in hosts:
            row(square, one, *(cell(one, other) for other in hosts))
        console().print(square)

    return printed(show, None)


def bonds(hosts: Mapping[str, Mapping]) -> str:
    """Every bond's ports as text."""

    def show(_: object) -> None:
        ports = table("", "host", "bond", "mode", "port", "link", "speed", "LACP", "partner", "errors")
        for host, mine in hosts.items():
            for name, bond in mine.items():
                for port, one in bond["ports"].items():
                    speed = gbits(one["speed"]) if one["speed"] else None
                    link = "yes" if one["link"] else "no"
                    more = one["lacp"], bond["partner"], one["errors"]
                    row(ports, host, name, bond["mode"], port, link, speed, *more)
        console().print(ports)

    return printed(show, None)
