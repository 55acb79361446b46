"""What the process of a stage knows between its steps: nothing of it outlives the stage, or is written anywhere."""

from collections.abc import Mapping
from typing import Generic, TypeVar

from runners.engine.runs import stage_lock

Known = TypeVar("Known")


class Memory(Generic[Known]):
    """One such thing, for the stage that this process runs; of a runner typed by hand nothing is kept."""

    def __init__(self) -> None:
        self._by_job: dict[str, Known] = {}

    def keep(self, opts: Mapping, known: Known | None) -> None:
        """Keep it for the later steps; None: what was kept holds no more.

        opts
            The master's options.
        known
            What a step has seen.
        """
        self._by_job.clear()
        if known is not None and (job := stage_lock.own(opts)):
            self._by_job[job["jid"]] = known

    def kept(self, opts: Mapping) -> Known | None:
        """Return what an earlier step of the running stage kept, if anything."""
        return self._by_job.get(stage_lock.own(opts).get("jid", ""))

    def taken(self, opts: Mapping) -> Known | None:
        """Return it for the last time."""
        return self._by_job.pop(stage_lock.own(opts).get("jid", ""), None)
