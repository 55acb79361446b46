"""A Salt master's configuration made of what srv/ ships, and real `salt-run` processes under it."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent.parent
OWN = {"id": "master", "user": "root"}
SCRIPT = "from salt.scripts import salt_run; salt_run()"


@dataclass(frozen=True)
class Done:
    """How a process ended."""

    code: int
    out: str
    err: str


class Master:
    """The shipped drop-in with its absolute paths moved under ``root``; its log file is ``root/master.log``."""

    def __init__(self, root: Path, **more) -> None:
        self.root = root
        self.folder = root / "etc"
        self.pillar = root / "pillar"
        self.logs = root / "logs"
        shipped = (CHECKOUT / "srv" / "master.d" / "halocline.conf").read_text()
        for path, here in (
            ("/srv/halocline", CHECKOUT),
            ("/srv/pillar", self.pillar),
            ("/srv/salt", root / "salt"),
            ("/var/log/halocline", self.logs),
        ):
            shipped = shipped.replace(path, str(here))
        for folder in ("etc/master.d", "pillar", "salt", "cache/proc", "pki/minions", "run"):
            (root / folder).mkdir(parents=True)
        own = {"cachedir": root / "cache", "pki_dir": root / "pki", "sock_dir": root / "run", **OWN, **more}
        own |= {"log_file": root / "master.log", "pidfile": root / "master.pid"}
        (self.folder / "master").write_text("".join(f"{key}: {value}\n" for key, value in own.items()))
        (self.folder / "master.d" / "halocline.conf").write_text(shipped)

    def accept(self, minion: str) -> None:
        """Let a minion's key count as accepted; no such minion runs."""
        (self.root / "pki/minions" / minion).write_text("")

    def argv(self, *words: str) -> list[str]:
        """The words that start ``salt-run`` as an admin's shell would."""
        return [sys.executable, "-c", SCRIPT, "--config-dir", str(self.folder), *words]

    def run(self, *words: str, limit: float = 60) -> Done:
        """Run ``salt-run WORDS`` in a process of its own; ``limit`` is in seconds."""
        done = subprocess.run(self.argv(*words), capture_output=True, text=True, timeout=limit, check=False)
        return Done(done.returncode, done.stdout, done.stderr)

    def run_all(self, cases: list[list[str]]) -> list[Done]:
        """Run several at once, as many as pay on a small machine; answers in the same order."""
        with ThreadPoolExecutor(3) as pool:
            return list(pool.map(lambda words: self.run(*words), cases))
