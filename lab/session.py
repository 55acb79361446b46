"""A running lab in a program's hands: commands on its hosts, its verbs, what one needs when something failed."""

import subprocess
import sys
from pathlib import Path

from lab import containers, daemon
from lab.containers import Done
from lab.evidence import collect
from lab.guest import guests
from lab.store import CHECKOUT, find


class Session:
    """One running lab.

    CLI Example: `python -c "from lab.session import Session; print(Session('tiny').run('node1', 'lsblk').out)"`
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._client = daemon.needed()
        find(name)

    @property
    def hosts(self) -> list[str]:
        """Names of the lab's hosts, added ones too."""
        return [host.name for host in find(self.name).cluster.hosts]

    @property
    def master(self) -> str:
        return find(self.name).cluster.master.name

    def run(self, host: str, command: str | list[str], check: bool = True, limit: float = 600) -> Done:
        """Run a command on a host: exit code, standard output, standard error.

        check: raise AssertionError with both outputs where the exit code is not 0. limit: seconds.
        """
        lab = find(self.name)
        if lab.cluster.host(host).guest:
            return guests.find(host).run(command, check=check, limit=limit)
        done = containers.run(containers.find(self._client, lab, host), command, limit)
        if check and done.code:
            raise AssertionError(f"{host}: {command!r} ended with {done.code}\n{done.out}\n{done.err}")
        return done

    def verb(self, verb: str, *words: str, check: bool = True) -> Done:
        """Type a verb of the lab (`pull`, `stop` …) for this lab; check as in `run`."""
        argv = [sys.executable, "-m", "lab", verb, "--cluster", self.name, *words]
        done = subprocess.run(argv, cwd=CHECKOUT, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise AssertionError(f"lab {verb} {' '.join(words)} ended with {done.returncode}\n{done.stderr}")
        return Done(done.returncode, done.stdout, done.stderr)

    def collect(self, folder: Path) -> None:
        """Write what tells why something failed, a folder for each running host."""
        collect(self._client, find(self.name), folder)
