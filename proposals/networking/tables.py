"""Network answers as tables for people."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median

from proposals.networking.bonding import gbits
from proposals.text.argument_readers import words
from proposals.text.console import console, row, table, text
from proposals.text.notes import FEW, SCREEN, counted, several
from proposals.text.tables import printed

MANY = 24  # hosts; of more, equal ones share a line, and no square of all with all is shown
EACH = "--out json has each"


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
    """Who reaches whom, as text: ``.`` answered, ``X`` did not, ``?`` was not asked; of more than ``MANY`` hosts how
    many pairs did."""
    if len(hosts) > MANY:
        good = [answers.get(one, {}).get(other) for one in hosts for other in hosts if one != other]
        if all(good):
            return f"{title}: all {len(hosts)} hosts reach all"
        told = {"answered": True, "did not": False, "were not asked": None}
        counts = [f"{count} {word}" for word, which in told.items() if (count := good.count(which))]
        return f"{title}: of {len(good)} pairs of {len(hosts)} hosts {', '.join(counts)}"

    def cell(one: str, other: str) -> str:
        return "-" if one == other else {True: ".", False: "X", None: "?"}[answers.get(one, {}).get(other)]

    return _square(title, hosts, cell)


def rates(title: str, hosts: Sequence[str], found: Mapping[tuple[str, str], float]) -> str:
    """What each pair carries, in Mb/s; of more than ``MANY`` hosts the least, the usual and the most, and the slowest
    pairs."""
    if len(hosts) > MANY:
        pairs = len(hosts) * (len(hosts) - 1) // 2
        if not found:
            return f"{title}: none of {pairs} pairs was measured"
        least, usual, most = min(found.values()), median(found.values()), max(found.values())
        rate = f"least {least:.0f}, median {usual:.0f}, largest {most:.0f}; the slowest pairs:"
        slowest = sorted(found.items(), key=lambda pair: pair[1])[:FEW]
        lines = [f"  {one} to {other}: {rate:.0f}" for (one, other), rate in slowest]
        return "\n".join([f"{title}, Mb/s of {len(found)} of {pairs} pairs: {rate}", *lines])

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
    """Every bond's ports as text; of more than ``MANY`` hosts equal ones in one line, and what a screen does not hold
    counted."""
    rows = _grouped(_bonds(hosts))
    most = SCREEN if len(hosts) > MANY else len(rows)

    def show(_: object) -> None:
        ports = table("", "host", "bond", "mode", "port", "link", "speed", "LACP", "partner", "errors")
        for cells, names in rows[:most]:
            row(ports, names, *cells)
        console().print(ports)
        if rows[most:]:
            console().print(f"and {counted(len(rows) - most, 'more line')}: {EACH}")

    return printed(show, None)


def _bonds(hosts: Mapping[str, Mapping]) -> Iterator[tuple[str, tuple]]:
    for host, mine in hosts.items():
        for name, bond in mine.items():
            for port, one in bond["ports"].items():
                speed = gbits(one["speed"]) if one["speed"] else None
                link = "yes" if one["link"] else "no"
                yield host, (name, bond["mode"], port, link, speed, one["lacp"], bond["partner"], one["errors"])
