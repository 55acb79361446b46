"""The network's proof: who speaks with whom in which round, and what the answers say of the odd one out."""

from collections.abc import Mapping, Sequence
from statistics import median

Rates = dict[tuple[str, str], float]  # Mb/s by pair: client, server
Round = dict[str, tuple[str, int]]  # what is measured side by side, by client: server and its port
PORT = 5201  # iperf3's own, and those after it
REACHED = 0.9  # of a link: 9.48 to 9.78 of 10 GbE, 36.82 to 38.43 of 40 GbE (Mellanox, 16 streams of 64 KiB)


def turns(hosts: Sequence[str], master: str, one_by_one: bool) -> list[list[str]]:
    """In which order hosts change their network: alone where a cluster runs, the master's own host alone at the end."""
    others = [host for host in hosts if host != master]
    groups = [[host] for host in others] if one_by_one else [others] if others else []
    return groups + ([[master]] if master in hosts else [])


def rounds(hosts: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Every pair of hosts once, no host twice in a round: n - 1 rounds of n hosts, n where n is odd.

    The circle method of round-robin tournaments: one host stands still, the others go round."""
    circle: list[str | None] = sorted(hosts) + ([None] if len(hosts) % 2 else [])
    played = []
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        pairs = zip(circle[:half], reversed(circle[half:]), strict=True)
        played.append([(one, other) for one, other in pairs if one and other])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return [each for each in played if each]


def schedule(hosts: Sequence[str]) -> list[Round]:
    """The rounds in which every pair of hosts measures once, no host in two pairs of a round."""
    return [{client: (server, PORT) for client, server in pairs} for pairs in rounds(hosts)]


def all_against_first(hosts: Sequence[str]) -> Round:
    """All hosts towards the first one at once, each on a port of its own."""
    first, *others = sorted(hosts)
    return {host: (first, PORT + number) for number, host in enumerate(others, start=1)}


def served(hosts: Sequence[str]) -> dict[str, list[int]]:
    """The ports on which each host has to serve for ``schedule`` and ``all_against_first``."""
    return {host: list(range(PORT, PORT + len(hosts))) if host == min(hosts) else [PORT] for host in hosts}


def rates(clients: Round, answers: Mapping[str, object]) -> tuple[Rates, list[str]]:
    """What one round measured, and why there is no measurement of its other pairs.

    answers
        By client: Mb/s, or why it could not measure."""
    measured, failed = {}, []
    for client, (server, _) in clients.items():
        rate = answers.get(client)
        if isinstance(rate, int | float):
            measured[client, server] = float(rate)
        else:
            failed.append(f"{client} to {server}: {rate or 'no answer'}")
    return measured, failed


def unreached(matrix: Mapping[str, Mapping[str, bool]]) -> list[str]:
    """What a matrix of answers says: hosts that nobody reaches, then single pairs.

    matrix
        ``{from: {to: whether it answered}}``; a host that is missing did not answer the question itself."""
    bad = {(source, target) for source, row in matrix.items() for target, good in row.items() if not good}
    everyone = sorted({*matrix, *(target for row in matrix.values() for target in row)})
    cut = _odd(bad, everyone)
    lines = [f"{host}: reaches and is reached by nobody: is it cut off?" for host in cut]
    rest = sorted(pair for pair in bad if not set(pair) & set(cut))
    return lines + [f"{source} does not reach {target}" for source, target in rest]


def _odd(bad: set[tuple[str, str]], everyone: list[str]) -> list[str]:
    """Hosts whose pairs with all healthy others are bad, worst first taken away; with two hosts none is odder."""
    left, cut = list(everyone), []
    while len(left) > 2:
        counts = {host: sum(host in pair and set(pair) <= set(left) for pair in bad) for host in left}
        worst = max(left, key=lambda host: counts[host])
        if counts[worst] < 2 * (len(left) - 1) * 3 // 4:
            break
        left.remove(worst)
        cut.append(worst)
    return cut


def small(hosts: Mapping[str, Mapping], size: int) -> list[str]:
    """Hosts whose own interface is too small for frames of a size; ``hosts``: name, MTU of each one's interface."""
    return [
        f"{host}: its {one['name']} has MTU {one['mtu']}, and not {size}"
        for host, one in sorted(hosts.items())
        if one["mtu"] < size
    ]


def slow(rates: Mapping[tuple[str, str], float]) -> list[str]:
    """Hosts and pairs that are slower than the others.

    rates
        Mb/s of each pair that was measured."""
    if not rates:
        return []
    usual = median(rates.values())
    lines = []
    for host in sorted({host for pair in rates for host in pair}):
        mine = [rate for pair, rate in rates.items() if host in pair]
        if len(mine) > 1 and max(mine) < usual / 2:
            lines.append(f"{host}: at most {max(mine):.0f} Mb/s, the others {usual:.0f}: look at its port, cable, MTU")
    named = {line.partition(":")[0] for line in lines}
    for (one, other), rate in sorted(rates.items()):
        if rate < usual / 2 and not {one, other} & named:
            lines.append(f"{one} to {other}: {rate:.0f} Mb/s, the others {usual:.0f}")
    return lines


def below(rates: Mapping[tuple[str, str], float], expected: Mapping[str, float]) -> list[str]:
    """Hosts whose best pair stays below what is usual for their link; ``expected``: Mb/s of each link, where known."""
    best = {host: max((rate for pair, rate in rates.items() if host in pair), default=None) for host in expected}
    return [
        f"{host}: {rate:.0f} Mb/s of the {link:.0f} Mb/s that its link has; {REACHED:.0%} is usual"
        for host, link in sorted(expected.items())
        if (rate := best[host]) is not None and rate < link * REACHED
    ]
