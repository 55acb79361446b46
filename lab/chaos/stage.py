"""A stage that runs on the lab's master while something happens to it."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from lab import containers
from lab.chaos import moment
from lab.chaos.moment import Record
from lab.chaos.site import DeployedLab
from lab.errors import LabError

LOGS = "/var/log/halocline"
LIMIT = 1200  # seconds: jobs of an interrupted run are waited for 600 s, and what is broken is waited for too
ENDS = 60  # seconds from `stage.stop` to the end
POLL = 0.2


class Stage:
    """One run of a stage; all that it prints goes to a file."""

    def __init__(self, site: DeployedLab, name: str, output: Path) -> None:
        self._site, self.name, self._output = site, name, output
        self._known = self._logs()
        self._process: subprocess.Popen[bytes] | None = None

    def usual(self) -> list[tuple[str, float]]:
        """The steps of its newest run that ended well, each with its seconds."""
        for log in self._known:
            if steps := moment.lengths(self._read(log)):
                return steps
        return []

    def start(self) -> None:
        """Type it as an admin does, away from this terminal's signals."""
        node = containers.name_of(self._site.place.lab, self._site.master)
        typed = ["salt-run", "state.orch", f"ceph.stage.{self.name}"]
        words = ["docker", "exec", node, "timeout", "-k", "5", str(LIMIT), *typed]
        with self._output.open("wb") as out:
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def reached(self, usual: Sequence[tuple[str, float]], part: float) -> str:
        """Wait for the moment that a part of its usual length means, or for its end; which of both, for a person."""
        step, seconds = moment.moment(usual, part)
        deadline = time.monotonic() + LIMIT
        while not (begun := moment.begun(self.records(), step, usual)) and self.runs:
            if time.monotonic() > deadline:
                raise LabError(f"ceph.stage.{self.name} did not come to {step or 'its begin'} within {LIMIT} s.")
            time.sleep(POLL)
        end = time.monotonic() + seconds
        while self.runs and time.monotonic() < end:
            time.sleep(min(POLL, max(0.0, end - time.monotonic())))
        return f"{seconds:.1f} s after {begun} began" if self.runs else moment.LATE

    def records(self) -> list[Record]:
        """The run's log so far."""
        new = [log for log in self._logs() if log not in self._known]
        return self._read(new[0]) if new else []

    def kill(self, signal: str) -> None:
        """Send its process a signal; nothing where it has ended."""
        pids = [record["pid"] for record in self.records() if record["event"] == "stage"]
        for pid in pids[:1]:
            self._site.run(self._site.master, f"kill -{signal} {pid}", check=False)

    def ended(self) -> tuple[int, str]:
        """Wait for its end: exit status, and all that it printed."""
        assert self._process
        try:
            code = self._process.wait(LIMIT + ENDS)
        except subprocess.TimeoutExpired as err:
            raise LabError(f"ceph.stage.{self.name} did not end within {LIMIT + ENDS} s.") from err
        if code == containers.TIMED_OUT:
            raise LabError(f"ceph.stage.{self.name} did not end within {LIMIT} s.")
        return code, self._output.read_text(errors="replace")

    def stop(self) -> None:
        """End it where it still runs."""
        if not self.runs or not self._process:
            return
        self._site.run(self._site.master, "salt-run stage.stop", check=False)
        try:
            self._process.wait(ENDS)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _logs(self) -> list[str]:
        """Paths of the stage's logs, the newest first."""
        command = f"ls -t {LOGS}/{self.name}-*.jsonl 2>/dev/null"
        return self._site.run(self._site.master, command, check=False).out.split()

    def _read(self, log: str) -> list[Record]:
        return moment.parse(self._site.run(self._site.master, ["cat", log]).out)
