"""Where a run of a stage is, by the records of its log, and what is said of it.

No line a host where hosts are many: a step with more than ``MANY`` ends with one line for all of them.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from proposals.stages.lines import line, reason
from proposals.text.notes import counted, several

MANY = 10  # hosts, or OSDs, of a step that are told one by one
Record = Mapping[str, Any]


class Osds(NamedTuple):
    """How far a host is with its OSDs."""

    made: int = 0
    failed: int = 0
    of: int = 0

    @property
    def through(self) -> int:
        """Those that are not waited for any more."""
        return self.made + self.failed


class Progress:
    """Where a run is: its step, since when, and who has not answered. Times are seconds since the epoch."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.at = 0  # of them, counted from 1: several may have one name; a log begins in the first
        self.since = 0.0
        self._begin("")

    def _begin(self, step: str) -> None:
        self.step = step
        self.asked: set[str] = set()
        self.left: set[str] = set()
        self.osds: dict[str, Osds] = {}
        self.all = Osds()  # of all hosts
        self.tenths = 0  # of the step's OSDs that were told
        self.folded: list[Record] = []  # hosts without a line of their own

    def take(self, record: Record) -> list[str]:
        """Take in one record of the run's log; return what is to be said now."""
        match record["event"]:
            case "job":
                self.asked |= set(record["minions"])
                self.left |= set(record["minions"])
                return []
            case "osd":
                return self._osd(record)
            case "minion":
                return self._minion(record)
            case "step":
                folded = self._fold(_time(record))
                self._begin(record["step"])
                self.since = _time(record)
                further = range(self.at, len(self.steps))
                self.at = next((at + 1 for at in further if self.steps[at] == self.step), self.at)
                at, of = self.place()
                return [*folded, f"step {at} of {of}: {self.step}" if of else self.step]
            case "stage":
                self.since, self.steps, self.at = _time(record), list(record.get("steps", ())), 1
        folded = self._fold(_time(record)) if record["event"] in ("result", "end") else []
        if record["event"] == "end":
            return [*folded, *record.get("summary", ())]
        told = line(record)
        return [*folded, told] if told else folded

    def place(self) -> tuple[int, int]:
        """Which step this is, counted from 1, and of how many; 0 where that is not known."""
        return (self.at, len(self.steps)) if self.steps[self.at - 1 : self.at] == [self.step] else (0, 0)

    def share(self) -> float:
        """How many steps are through, and which share of this one."""
        osds = self.all
        through, of = (osds.through, osds.of) if osds.of else (len(self.asked) - len(self.left), len(self.asked))
        return max(0, self.place()[0] - 1) + (through / of if of else 0)

    def seconds(self, now: float) -> float:
        """How long the step has taken."""
        return max(0.0, now - self.since)

    def text(self, now: float) -> str:
        """What a person reads of the step while it goes on, below its name."""
        osds = self.all
        words = [] if self.step else ["sees who answers"]
        words += [f"{len(self.asked) - len(self.left)} of {len(self.asked)}"] if self.asked else []
        words += [f"{failed} failed"] if (failed := len(_failed(self.folded))) else []
        words += [_counts(osds)] if osds.of else []
        words.append(f"{self.seconds(now):.0f} s")
        behind = sorted(self.left, key=lambda minion: (-self._waits(minion), minion))
        words += [f"waits for {several([self._named(minion) for minion in behind])}"] if behind else []
        return ", ".join(words)

    def _waits(self, minion: str) -> int:
        osds = self.osds.get(minion, Osds())
        return osds.of - osds.through

    def _named(self, minion: str) -> str:
        osds = self.osds.get(minion)
        return f"{minion} ({osds.through} of {osds.of})" if osds else minion

    def _osd(self, record: Record) -> list[str]:
        """A line an OSD where they are few, one for each tenth of them where they are many."""
        minion, own = record["minion"], Osds(record["made"], record["failed"], record["of"])
        each = zip(self.all, own, self.osds.get(minion, Osds()), strict=True)
        self.osds[minion], self.all = own, Osds(*(count + now - before for count, now, before in each))
        osds = self.all
        tenths = 10 * osds.through // osds.of if osds.of else 0
        if not own.through or (osds.of > MANY and tenths <= self.tenths):
            return []
        self.tenths = tenths
        others = f"; of {len(self.osds)} hosts {_counts(osds)}" if len(self.osds) > 1 else ""
        return [f"  {minion} {_counts(own)}{others}"]

    def _minion(self, record: Record) -> list[str]:
        self.left.discard(record["minion"])
        if not self.step:  # the first, which is about who answers
            return []
        if len(self.asked) <= MANY:
            return [line(record) or ""]
        self.folded.append(record)
        return []

    def _fold(self, now: float) -> list[str]:
        """What is said of the step's hosts that had no line of their own."""
        folded, self.folded = self.folded, []
        if not folded:
            return []
        changed = {record["minion"] for record in folded if record["changes"]}
        counts = {"changed": len(changed), "failed": len(_failed(folded))}
        told = [f"{len(self.asked) - len(self.left)} of {len(self.asked)}"]
        told += [f"{count} {word}" for word, count in counts.items() if count]
        said = [f"  {', '.join([*told, f'{self.seconds(now):.0f} s'])}"]
        said += _grouped("no answer", [(minion, "") for minion in sorted(self.left)])
        said += _grouped("failed", [(record["minion"], reason(record)) for record in folded if reason(record)])
        warned = [(record["minion"], text) for record in folded for text in record.get("warnings", ())]
        return said + _grouped("warning", warned)


def told(records: Iterable[Record]) -> list[str]:
    """Return what is said of a run that has ended, step by step."""
    progress = Progress()
    return [text for record in records if record["event"] != "osd" for text in progress.take(record)]


def _failed(records: Iterable[Record]) -> set[str]:
    """The hosts that failed."""
    return {record["minion"] for record in records if reason(record)}


def _counts(osds: Osds) -> str:
    failed = f" ({osds.failed} failed)" if osds.failed else ""
    return f"{osds.through} of {counted(osds.of, 'OSD')}{failed}"


def _grouped(word: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Hosts with the same text share a line; beyond ``MANY`` lines the run log has them."""
    hosts: dict[str, list[str]] = {}
    for minion, text in pairs:
        hosts.setdefault(text, []).append(minion)
    said = [f"  {word}  {several(names)}{f': {text}' if text else ''}" for text, names in hosts.items()]
    more = len(said) - MANY
    return said if more <= 0 else [*said[:MANY], f"  {word}  and {more} others, which the run log names"]


def _time(record: Record) -> float:
    return datetime.strptime(record["time"], "%Y-%m-%dT%H:%M:%S%z").timestamp()
