"""A client's work: write an object, read one back, at a bounded rate, on a bounded set of objects."""

import itertools
import time
from collections.abc import Callable
from threading import Event
from typing import Protocol

from lab.load.node import ledger as lines
from lab.load.node.content import digest
from lab.load.node.ledger import Entry, Ledger

KEPT = 8  # objects that are written once and then only read
OBJECTS = 32  # with those that are overwritten in turn
PAUSE = 0.5  # seconds until an operation that failed is tried again
ROUNDS = 120  # through what was not read back yet

Content = Callable[[int, int], bytes]  # of an object's number and version


class Client(Protocol):
    """How objects are written and read: each write is whole, and acknowledged when it is safe."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What an operation that failed raises."""

    def write(self, number: int, data: bytes) -> None: ...

    def read(self, number: int) -> bytes | None:
        """None: nothing is there."""

    def close(self) -> None: ...


class _Stopped(Exception):
    """The client is told to stop while an operation fails."""


def work(client: Client, ledger: Ledger, content: Content, rate: float, stop: Event) -> None:
    """Write and read back until `stop` is set; `rate`: how often a second, once each object was written."""
    places, others = list(range(OBJECTS)), itertools.count(OBJECTS)  # the object in each place, and unused ones
    versions: dict[int, int] = {}
    ledger.add(lines.BEGIN)
    try:
        for turn in itertools.count():
            start = time.monotonic()
            place = turn if turn < OBJECTS else KEPT + turn % (OBJECTS - KEPT)
            number = places[place]
            versions[number] = versions.get(number, 0) + 1
            if _write(client, ledger, content, number, versions[number], stop) > 1:
                # A try that was given up may still arrive, later than other versions: this was the object's last.
                places[place] = next(others)
            _read(client, ledger, list(versions)[turn % len(versions)])
            pause = 1 / rate - (time.monotonic() - start) if turn >= OBJECTS else 0
            if stop.wait(max(0, pause)):
                break
    except _Stopped:
        pass
    ledger.add(lines.END)


def check(client: Client, ledger: Ledger, entries: list[Entry], stop: Event) -> None:
    """Read back every object that the ledger's entries tell of; in rounds, since some may fail for a while."""
    left = sorted({entry.object for entry in entries if entry.what == lines.TRY})
    for _ in range(ROUNDS):
        left = [number for number in left if not _read(client, ledger, number, lines.CHECKED)]
        if not left or stop.wait(PAUSE):
            return


def _write(client: Client, ledger: Ledger, content: Content, number: int, version: int, stop: Event) -> int:
    """Write a version until it is acknowledged; how many tries that took."""
    data = content(number, version)
    ledger.add(lines.TRY, number, version, digest(data))
    for tries in itertools.count(1):
        try:
            client.write(number, data)
        except client.errors as err:
            _failed(ledger, err)
        else:
            ledger.add(lines.WRITTEN, number, version)
            return tries
        if stop.wait(PAUSE):
            break
    raise _Stopped


def _read(client: Client, ledger: Ledger, number: int, what: str = lines.READ) -> bool:
    """Read an object; False where that failed. It has its turn again: one that is spoiled holds back no other."""
    try:
        found = client.read(number)
    except client.errors as err:
        _failed(ledger, err)
        return False
    ledger.add(what, number, digest=digest(found))
    return True


def _failed(ledger: Ledger, err: Exception) -> None:
    ledger.add(lines.ERROR, text=f"{type(err).__name__}: {err}")
