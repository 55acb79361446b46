"""The rounds, one after the other: load, change, a stage that is struck, the mending, the stages again, the judge."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from requests import RequestException

from lab.chaos import change, judge, rounds
from lab.chaos.faults import FAULTS
from lab.chaos.judge import Look
from lab.chaos.record import Outcome
from lab.chaos.site import DeployedLab
from lab.chaos.stage import LIMIT, Stage
from lab.errors import LabError
from lab.load.judge import Demand
from lab.load.start import start
from lab.load.stop import report, stop
from lab.progress import step

ROUND = 3600  # seconds one round may take; usual are four to eight minutes on two cores
SETTLES = 60  # seconds for what the round before left: its load's pool is taken away
# A whole host that says nothing: its peers wait, tell the monitors at their next report; these elect a leader, and give
# its file systems to a standby.
SILENT = (
    "osd_heartbeat_grace",
    "osd_heartbeat_interval",
    "osd_mon_report_interval",
    "mon_lease",
    "mon_election_timeout",
    "mds_beacon_grace",
)
SLACK = 20  # seconds more: peering, replaying journals, and the clients' next look at the map, on two busy cores
FAILED = (LabError, RequestException)  # the second is Docker's, which may not answer in time


class Game:
    """One round after the other on a site; what cannot be kept in memory goes below `folder`."""

    def __init__(self, site: DeployedLab, folder: Path) -> None:
        self.site, self.folder = site, folder
        self.limit = site.place.ground.seconds(*SILENT) + SLACK

    def play(self, outcome: Outcome) -> None:
        """Play a round; what went wrong is in its outcome. Whatever happens, the fault is mended and the load ends."""
        what, began = outcome.what, time.monotonic()
        folder = self.folder / f"{what.seed}-{what.number}-{outcome.began}"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with bounded(ROUND):
                self._round(outcome, folder)
        except FAILED as err:
            outcome.broken = True
            outcome.problems.append(str(err))
        finally:
            outcome.seconds["round"] = round(time.monotonic() - began, 1)
        if outcome.problems:
            with suppress(*FAILED), step(f"collect what the hosts know of it, in {folder}"):
                self.site.collect(folder)

    def _round(self, outcome: Outcome, folder: Path) -> None:
        what = outcome.what
        before, wrong = self.site.whole(limit=SETTLES)
        if wrong:
            raise LabError(f"the cluster is not whole before round {what.number}: {'; '.join(wrong)}")
        with self._load(outcome):
            with step(f"change: {what.change}"):
                change.make(self.site, what)
            for name in rounds.before(what.stage, what.change):
                self._stage(name)
            began = self._strike(outcome, folder)
            with step("wait until every minion answers"):
                self.site.answers()
            for name in rounds.again(what.stage):
                outcome.problems += judge.complete(name, self._stage(name))
            outcome.span = (began, time.time())
            self._judge(outcome, before)

    def _stage(self, name: str) -> str:
        """A stage that has to go well, and what an admin types after it; what the stage printed."""
        with ExitStack() as undo, step(f"ceph.stage.{name}"):
            undo.callback(self.site.run, self.site.master, "salt-run stage.stop", False)  # where this is interrupted
            done = self.site.run(self.site.master, f"salt-run stage.run {name}", limit=LIMIT)
            if name == "discovery":
                change.populate(self.site)
            undo.pop_all()
        return done.out

    def _strike(self, outcome: Outcome, folder: Path) -> float:
        """Run the round's stage, let the fault happen and mend it, wait for the stage's end; when the fault began."""
        what = outcome.what
        fault, stage = FAULTS[what.fault], Stage(self.site, what.stage, folder / "stage.txt")
        usual = stage.usual()
        with ExitStack() as undo, step(f"ceph.stage.{what.stage}, struck: {what.fault} {what.detail} {what.host}"):
            undo.callback(stage.stop)
            stage.start()
            outcome.moment = stage.reached(usual, what.part)
            began = time.time()
            undo.callback(self._mend, outcome)
            fault.begin(self.site, what, stage)
            time.sleep(what.hold)
            fault.mend(self.site, what)
            outcome.seconds["fault"] = round(time.time() - began, 1)
            undo.pop_all()
            undo.callback(stage.stop)
            outcome.status, said = stage.ended()
            undo.pop_all()
        names = what.host if fault.named else ""
        outcome.problems += judge.behaved(outcome.status, said, fault.codes(what.detail), names, fault.excused)
        return began

    def _mend(self, outcome: Outcome) -> None:
        """Mend a fault after something else went wrong, which stays what is told first."""
        try:
            FAULTS[outcome.what.fault].mend(self.site, outcome.what)
        except FAILED as err:
            outcome.problems.append(f"the fault is not mended: {err}")

    def _judge(self, outcome: Outcome, before: Look) -> None:
        with step("wait until all is whole and as planned"):
            self.site.post_crashes()
            if FAULTS[outcome.what.fault].crashes:
                self.site.archive_crashes(outcome.what.host)
            _, wrong = self.site.whole(before)
        outcome.broken = bool(wrong)
        outcome.problems += wrong

    @contextmanager
    def _load(self, outcome: Outcome) -> Iterator[None]:
        """Clients that write and read back meanwhile; their figures, and what they lost, go into the outcome."""
        start(self.site.name)
        try:
            yield
        finally:
            self._unload(outcome)

    def _unload(self, outcome: Outcome) -> None:
        name, longest = self.site.name, self.limit + outcome.what.hold
        during = judge.owed(outcome.span, longest) if outcome.span else 0
        try:
            stop(name)  # of what is lost or different it leaves all as it is
            loaded = report(name, Demand(during=during, longest=longest), [outcome.span] if outcome.span else [])
        except FAILED as err:  # what went wrong before stays what is told first
            outcome.broken = True
            outcome.problems.append(f"load: it cannot be ended: {err}")
            return
        outcome.load = {client: asdict(figures) for client, figures in loaded.clients.items()}
        outcome.problems += [f"load: {problem}" for problem in loaded.problems]
        outcome.broken |= any(figures.findings or figures.unread for figures in loaded.clients.values())


@contextmanager
def bounded(seconds: int) -> Iterator[None]:
    """Raise LabError in what takes longer; the main thread's alone."""

    def late(_: int, __: FrameType | None) -> None:
        raise LabError(f"the round takes longer than {seconds} s.")

    kept = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, kept)
