"""What processes were started with: every command line and environment on this machine while one watches.

A lab's nodes share the machine's kernel, so one watcher sees the processes of all of them.
"""

import contextlib
import os
import threading
import time

ROUND = 0.003  # seconds between two looks
SETTLES = 0.2  # seconds in which a new process may still become what it is (fork, then exec)


class ProcessWatch:
    """Collect from /proc, in a thread, until the `with` ends; processes that live some 10 ms are seen."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self._first: dict[str, float] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "ProcessWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def holding(self, texts: list[bytes]) -> list[str]:
        """The command lines and environments in which one of the texts stands."""
        return [
            each.replace(b"\0", b" ").decode(errors="replace") for each in self.seen if any(t in each for t in texts)
        ]

    def _watch(self) -> None:
        while not self._end.is_set():
            now = time.monotonic()
            there = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names are enough
            for pid in there:
                if now - self._first.setdefault(pid, now) < SETTLES:
                    self._read(pid)
            for gone in set(self._first).difference(there):
                del self._first[gone]
            time.sleep(ROUND)

    def _read(self, pid: str) -> None:
        for what in ("cmdline", "environ"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/{what}", "rb") as file:  # noqa: PTH123 - quick
                self.seen.add(file.read())
