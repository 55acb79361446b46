"""What became of a load: ledgers in, figures and findings out. It reads no clock and no file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from lab.load.node import ledger as lines
from lab.load.node.ledger import Entry

LOST, ALTERED = "lost", "altered"
Span = tuple[float, float]  # begin and end, seconds since 1970


@dataclass(frozen=True)
class Demand:
    """What a load has to show. A client that stopped, or lost or altered objects, are never allowed."""

    least: int = 1  # acknowledged operations of each client
    longest: float = float("inf")  # seconds of a client without an acknowledged operation
    errors: int | None = None  # operations of each client that fail and are tried again; None: any number
    during: int = 1  # acknowledged operations of each client in each fault


@dataclass(frozen=True)
class Damage:
    """An object that is not what was acknowledged."""

    object: int
    kind: str
    text: str


@dataclass(frozen=True)
class Figures:
    """What one client did and saw."""

    operations: int  # acknowledged: versions written, and objects read back as they were written
    during: tuple[int, ...]  # of these in each fault
    stall: float  # seconds: the longest time without one
    stalled: float  # when that began
    errors: int
    error: str  # the last one's text
    findings: tuple[Damage, ...]
    unread: tuple[int, ...]  # objects that were not read back at the end
    began: bool
    ended: bool  # it worked until it was told to stop


@dataclass(frozen=True)
class Report:
    """Every client's figures, and what is not as it was demanded, a sentence each."""

    clients: dict[str, Figures]
    faults: tuple[Span, ...] = ()
    problems: tuple[str, ...] = ()


def judge(
    ledgers: Mapping[str, Sequence[Entry]], until: float, demand: Demand | None = None, faults: Sequence[Span] = ()
) -> Report:
    """The report on a load by each client's ledger.

    until: when the load was told to stop, seconds since 1970. demand: None for one that still runs: figures alone.
    """
    clients = {name: figures(entries, until, faults) for name, entries in ledgers.items()}
    said = [f"{name} {text}" for name, each in clients.items() for text in _problems(each, demand, faults)]
    return Report(clients, tuple(faults), tuple(said))


def figures(entries: Sequence[Entry], until: float, faults: Sequence[Span] = ()) -> Figures:
    """What one ledger tells; arguments as of ``judge``."""
    history, times = History(), []
    findings: dict[tuple[int, str], Damage] = {}
    for entry in entries:
        finding = history.add(entry)
        if finding:
            findings.setdefault((finding.object, finding.kind), finding)
        elif entry.what in (lines.WRITTEN, lines.READ):
            times.append(entry.at)
    begin, end = (next((each.at for each in entries if each.what == what), None) for what in (lines.BEGIN, lines.END))
    moments = [until if begin is None else begin, *times, until if end is None else end]
    stalled, again = max(pairwise(moments), key=lambda pair: pair[1] - pair[0])
    errors = [entry.text for entry in entries if entry.what == lines.ERROR]
    checked = {entry.object for entry in entries if entry.what == lines.CHECKED}
    return Figures(
        operations=len(times),
        during=tuple(sum(first <= at <= last for at in times) for first, last in faults),
        stall=round(again - stalled, 3),
        stalled=stalled,
        errors=len(errors),
        error=errors[-1] if errors else "",
        findings=tuple(findings.values()),
        unread=tuple(sorted(history.objects - checked)),
        began=begin is not None,
        ended=end is not None,
    )


class History:
    """What was written to each object, and so what may be found in it."""

    def __init__(self) -> None:
        self._digests: dict[int, dict[str | None, int]] = {}  # object -> digest -> version, all that were ever sent
        self._acknowledged: dict[int, int] = {}

    @property
    def objects(self) -> set[int]:
        """Every object that a version was sent to."""
        return set(self._digests)

    def add(self, entry: Entry) -> Damage | None:
        """Take one entry more; what was found where that must not be.

        The version that was acknowledged last must be there, or a later one: a write without an answer may have been
        done or not.
        """
        if entry.what == lines.TRY:
            self._digests.setdefault(entry.object, {})[entry.digest] = entry.version
        elif entry.what == lines.WRITTEN:
            self._acknowledged[entry.object] = entry.version
        elif entry.what in (lines.READ, lines.CHECKED):
            return self._judge(entry)
        return None

    def _judge(self, entry: Entry) -> Damage | None:
        acknowledged = self._acknowledged.get(entry.object, 0)
        version = 0 if entry.digest is None else self._digests.get(entry.object, {}).get(entry.digest, -1)
        if version >= acknowledged:
            return None
        wanted = f"version {acknowledged} was acknowledged" if acknowledged else "no version was acknowledged"
        seen = f"version {version} is there" if version > 0 else "what is there was never written"
        kind, seen = (LOST, "nothing is there") if version == 0 else (ALTERED, seen)
        return Damage(entry.object, kind, f"object-{entry.object} is {kind}: {wanted}, {seen} at {clock(entry.at)}")


def _problems(client: Figures, demand: Demand | None, faults: Sequence[Span]) -> list[str]:
    problems = [finding.text for finding in client.findings]
    if demand is None:
        return problems
    if not client.began:
        return [*problems, "never began"]
    if not client.ended:
        problems.append(
            f"stopped: it did not work until its end, the last time without an operation began at "
            f"{clock(client.stalled)}"
        )
    if client.operations < demand.least:
        problems.append(f"has {client.operations} acknowledged operations, at least {demand.least} were asked for")
    for number, (first, last) in zip(client.during, faults, strict=True):
        if number < demand.during:
            problems.append(
                f"has {number} acknowledged operations during the fault, {clock(first)} to {clock(last)}; "
                f"at least {demand.during} were asked for"
            )
    if client.stall > demand.longest:
        problems.append(
            f"stalled for {client.stall:.1f} s from {clock(client.stalled)}, {demand.longest:.0f} s are allowed"
        )
    if demand.errors is not None and client.errors > demand.errors:
        problems.append(f"saw {client.errors} errors, {demand.errors} are allowed; the last: {client.error}")
    if client.unread:
        numbers = ", ".join(map(str, client.unread[:5])) + (" …" if len(client.unread) > 5 else "")
        problems.append(f"was not read back to the end: {len(client.unread)} objects ({numbers})")
    return problems


def clock(at: float) -> str:
    """A time as logs have it, in UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"
