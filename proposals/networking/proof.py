"""The network's proof: who speaks with whom in which round, and what the answers say of the odd one out."""

from collections.abc import Mapping, Sequence
from statistics import median

from proposals.text.notes import FEW, by_host, counted, several

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


def unreached(matrix: Mapping[str, Mapping[str, bool]], every: bool = True) -> list[str]:
    """What a matrix of answers says: hosts that nobody reaches, then single pairs.

    matrix
        ``{from: {to: whether it answered}}``; a host that is missing did not answer the question itself.
    every
        A line for each; else those of many that are alike share one."""
    bad = {(source, target) for source, row in matrix.items() for target, good in row.items() if not good}
    everyone = sorted({*matrix, *(target for row in matrix.values() for target in row)})
    cut = _odd(bad, everyone)
    lines = _said([(host, "reaches and is reached by nobody: is it cut off?") for host in cut], every)
    away = set(cut)
    rest = sorted((one, other) for one, other in bad if one not in away and other not in away)
    return lines + (_unlinked(rest) if len(rest) > FEW and not every else [_unlinked([pair])[0] for pair in rest])


def _said(told: Sequence[tuple[str, str]], every: bool, noun: str = "host") -> list[str]:
    """Lines of hosts or pairs: all, or of many those that are alike together."""
    return [f"{who}: {text}" for who, text in told] if every else by_host(told, noun=noun)


def _unlinked(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Who does not reach whom: those that miss the same hosts share a line, the others are counted."""
    targets: dict[str, list[str]] = {}
    for source, target in pairs:
        targets.setdefault(source, []).append(target)
    groups: dict[tuple[str, ...], list[str]] = {}
    for source, missed in targets.items():
        groups.setdefault(tuple(missed), []).append(source)
    shown = sorted(groups.items(), key=lambda group: -len(group[0]) * len(group[1]))
    rest = sum(len(missed) * len(sources) for missed, sources in shown[FEW:])
    return [
        *(f"{several(who)} {'do' if who[1:] else 'does'} not reach {several(missed)}" for missed, who in shown[:FEW]),
        *([f"and {counted(rest, 'more pair')}"] if rest else []),
    ]


def _odd(bad: set[tuple[str, str]], everyone: list[str]) -> list[str]:
    """Hosts whose pairs with all healthy others are bad, worst first taken away; with two hosts none is odder."""
    with_: dict[str, list[str]] = {host: [] for host in everyone}
    for one, other in bad:
        with_[one].append(other)
        with_[other].append(one)
    counts, cut = {host: len(others) for host, others in with_.items()}, []
    while len(counts) > 2:
        worst = max(counts, key=counts.__getitem__)
        if counts[worst] < 2 * (len(counts) - 1) * 3 // 4:
            break
        del counts[worst]
        cut.append(worst)
        for other in with_[worst]:
            if other in counts:
                counts[other] -= 1
    return cut


def small(hosts: Mapping[str, Mapping], size: int, every: bool = True) -> list[str]:
    """Hosts whose own interface is too small for frames of a size; ``hosts``: name, MTU of each one's interface;
    ``every`` as for ``unreached``."""
    told = [
        (host, f"its {one['name']} has MTU {one['mtu']}, and not {size}")
        for host, one in sorted(hosts.items())
        if one["mtu"] < size
    ]
    return _said(told, every)


def unmeasured(failed: Sequence[str], every: bool = True) -> list[str]:
    """What ``rates`` said of pairs without a rate; ``every`` as for ``unreached``."""
    return _said([(pair, why) for pair, _, why in (line.partition(": ") for line in failed)], every, "pair")


def slow(rates: Mapping[tuple[str, str], float], every: bool = True) -> list[str]:
    """Hosts and pairs that are slower than the others.

    rates
        Mb/s of each pair that was measured.
    every
        As for ``unreached``."""
    if not rates:
        return []
    usual = median(rates.values())
    hosts = {
        host: f"at most {max(mine):.0f} Mb/s, the others {usual:.0f}: look at its port, cable, MTU"
        for host, mine in sorted(_by_host(rates).items())
        if len(mine) > 1 and max(mine) < usual / 2
    }
    pairs = [
        (f"{one} to {other}", f"{rate:.0f} Mb/s, the others {usual:.0f}")
        for (one, other), rate in sorted(rates.items())
        if rate < usual / 2 and not {one, other} & hosts.keys()
    ]
    return [*_said(list(hosts.items()), every), *_said(pairs, every, "pair")]


def below(rates: Mapping[tuple[str, str], float], expected: Mapping[str, float], every: bool = True) -> list[str]:
    """Hosts whose best pair stays below what is usual for their link; ``expected``: Mb/s of each link, where known;
    ``every`` as for ``unreached``."""
    measured = _by_host(rates)
    told = [
        (host, f"{rate:.0f} Mb/s of the {link:.0f} Mb/s that its link has; {REACHED:.0%} is usual")
        for host, link in sorted(expected.items())
        if host in measured and (rate := max(measured[host])) < link * REACHED
    ]
    return _said(told, every)


def _by_host(rates: Mapping[tuple[str, str], float]) -> dict[str, list[float]]:
    """The rates of all pairs that a host is one of."""
    mine: dict[str, list[float]] = {}
    for pair, rate in rates.items():
        for host in pair:
            mine.setdefault(host, []).append(rate)
    return mine
