"""Which ports of a host become the bond, and why each other port does not."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import partial

from proposals.networking.arguments import NetworkArguments
from proposals.networking.nics import PORTS, HostPorts, Nic
from proposals.text.errors import PlanError


def gbits(speed: int | None) -> str:
    """``100 Gb/s``, of a speed in Mb/s."""
    return "unknown speed" if not speed else f"{speed / 1000:g} Gb/s"


def choose(host: HostPorts, wanted: NetworkArguments) -> tuple[tuple[Nic, ...], Mapping[str, str]]:
    """The bond's ports, by name, and for each port left out the reason; no ports where no two fit together.

    Typed names decide; else what a bond of that name has already; else the fastest ports of one speed and driver, one
    of each card before a second of any. Raises PlanError for names that make no bond."""
    ports = {nic.name: nic for nic in host.nics.values() if nic.kind in PORTS}
    reasons = {name: why for name, nic in ports.items() if (why := _unfit(nic, wanted, host))}
    if wanted.ports:
        chosen, otherwise = _typed(host, ports, reasons, wanted), lambda _: "ports= does not name it"
    else:
        chosen = _best([nic for name, nic in sorted(ports.items()) if name not in reasons], wanted)
        otherwise = partial(_left, chosen=chosen, wanted=wanted)
    rest = ports.keys() - {nic.name for nic in chosen}
    by_name = tuple(sorted(chosen, key=lambda nic: nic.name))
    return by_name, {name: reasons.get(name) or otherwise(ports[name]) for name in rest}


def _best(free: list[Nic], wanted: NetworkArguments) -> list[Nic]:
    """The ports to take of those that are free; what is bonded stays so, with a cable out too."""
    members = [nic for nic in free if nic.master == wanted.bond]
    if len(members) > 1:
        same = {(nic.speed, nic.driver) for nic in members if nic.speed}  # a port without link has no speed
        more = [nic for nic in free if nic not in members and (nic.speed, nic.driver) in same]
        return (members + _spread(more))[: max(wanted.width, len(members))]
    groups: dict[tuple, list[Nic]] = {}
    for nic in free:
        groups.setdefault((nic.speed, nic.driver), []).append(nic)
    fitting = [group for group in groups.values() if len(group) > 1]
    if not fitting:
        return []
    # of equal ones the one whose ports have addresses, else the first by name
    return _spread(max(fitting, key=lambda group: (group[0].speed or 0, len(group), _used(group))))[: wanted.width]


def _unfit(nic: Nic, wanted: NetworkArguments, host: HostPorts) -> str | None:
    """Why a port can be in no bond of ours."""
    if nic.reason:
        return nic.reason
    if nic.kind == "infiniband":
        return "InfiniBand: bonds of Ethernet ports alone are planned"
    above = host.nics.get(nic.master or "")
    if nic.master and nic.master != wanted.bond:
        return f"member of {above.kind if above else 'another interface'} {nic.master}, which stays as it is"
    if burden := host.burden({nic.name, wanted.bond}):
        return f"{burden} lies on it or on {wanted.bond}, and stays as it is"
    if nic.master == wanted.bond:
        return None  # a member whose cable has fallen out is still one
    if nic.physfn and not wanted.ports:  # two of them may be named: of two ports, for a host of virtual machines
        return f"a virtual function of the port at {nic.physfn}, whose cable it shares: ports= takes it"
    if nic.link is not True:
        return "no link: is its cable plugged in, and the port switched on?"
    return None if nic.speed else "its speed is not known"


def _typed(
    host: HostPorts, ports: Mapping[str, Nic], reasons: Mapping[str, str], wanted: NetworkArguments
) -> list[Nic]:
    named = [nic for name, nic in sorted(ports.items()) if any(fnmatchcase(name, one) for one in wanted.ports)]
    argument = f"ports={','.join(wanted.ports)}"
    exact = [one for one in wanted.ports if "*" not in one and "?" not in one and one not in ports]
    if exact:
        raise PlanError(f"{host.id}: there is no port {exact[0]}; there are {', '.join(sorted(ports)) or 'none'}")
    for nic in named:
        if nic.name in reasons:
            raise PlanError(f"{host.id}: {argument}: {nic.name} cannot be in a bond: {reasons[nic.name]}")
    if len(named) < 2:
        matched = named[0].name if named else "none"
        raise PlanError(
            f"{host.id}: {argument} matches {matched}, a bond needs two ports; there are {', '.join(sorted(ports))}"
        )
    if len({nic.speed for nic in named if nic.speed}) > 1:
        speeds = ", ".join(f"{nic.name} {gbits(nic.speed)}" for nic in named)
        raise PlanError(f"{host.id}: {argument}: ports of different speed make no {wanted.mode} bond: {speeds}")
    return named


def _used(group: list[Nic]) -> int:
    return sum(bool(nic.addresses) for nic in group)


def _spread(group: list[Nic]) -> list[Nic]:
    """The ports in the order in which they are taken: one of each card before a second; with addresses first."""
    ordered = sorted(group, key=lambda nic: (not nic.addresses, nic.name))
    cards = [nic.card for nic in ordered]
    return [nic for _, nic in sorted(enumerate(ordered), key=lambda at: (cards[: at[0]].count(at[1].card), at[0]))]


def _left(nic: Nic, chosen: list[Nic], wanted: NetworkArguments) -> str:
    if not chosen:
        return "no other port has its speed and driver: a bond needs two"
    first = max(chosen, key=lambda one: one.speed or 0)
    if nic.speed != first.speed:
        return f"{gbits(nic.speed)}, and {wanted.bond} is made of ports with {gbits(first.speed)}"
    if nic.driver != first.driver:
        return f"driver {nic.driver}, and {wanted.bond} is made of ports with {first.driver}"
    return f"{wanted.bond} takes {wanted.width} ports, of different cards first: width={len(chosen) + 1} takes more"
