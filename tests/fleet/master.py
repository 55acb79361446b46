"""A real salt-master on loopback with what srv/ ships, in a folder of its own, and a fleet of simulated minions."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import salt.config
import salt.crypt
import yaml

CHECKOUT = Path(__file__).parents[2]
HERE = Path(__file__).parent
MOVED = {"/srv/halocline": str(CHECKOUT), "/srv/pillar": "pillar", "/srv/salt": "salt", "/var/log/halocline": "logs"}
SCRIPT = "from salt.scripts import {0}; {0}()"
LIMIT = 4 * 3600  # seconds for a command
PROCESS = 2000  # minions of one process: each holds four descriptors, of which a process may have 20,000


@dataclass(frozen=True)
class Done:
    """What a command printed, its status, and how long it took."""

    code: int
    out: str
    err: str
    seconds: float


class Master:
    """A master and its fleet; ``with Master(...) as master`` starts and ends both.

    root
        A folder of its own, with a short path (Salt's sockets lie in it).
    minions
        Ids whose key is accepted.
    settings
        The site's own, read behind the shipped drop-in.
    """

    def __init__(self, root: Path, minions: Sequence[str], settings: Mapping[str, Any] | None = None) -> None:
        self.root, self.minions = root, minions
        self.config = root / "conf"
        self.pillar = root / "pillar/ceph"
        self.manners = root / "fleet/manners.json"
        self.processes: list[subprocess.Popen] = []  # the master's, then the fleet's
        for folder in ("conf/master.d", "pillar", "salt", "logs", "fleet/pki", "pki/minions"):
            (root / folder).mkdir(parents=True)
        shipped = (CHECKOUT / "srv/master.d/halocline.conf").read_text()
        for path, here in MOVED.items():
            shipped = shipped.replace(path, str(root / here))
        (self.config / "master.d/halocline.conf").write_text(shipped)
        ports = dict(zip(("publish_port", "ret_port"), free_ports(2), strict=True))
        own = {"root_dir": str(root), "interface": "127.0.0.1", "id": "salt_master", "user": "root", **ports}
        own |= {"pki_dir": str(root / "pki"), "enable_fqdns_grains": False}
        own |= {"zmq_heartbeat_ivl": 0}  # ms; on a busy machine the fleet's process is late for thousands at once
        (self.config / "master").write_text(yaml.safe_dump(own))
        self.settle(settings or {})
        minion = {"root_dir": str(root / "fleet"), "pki_dir": str(root / "fleet/pki"), "id": "fleet"}
        minion |= {"master": "127.0.0.1", "master_port": ports["ret_port"], "enable_fqdns_grains": False}
        minion |= {"publish_port": ports["publish_port"], "enable_gpu_grains": False}
        minion |= {"auth_timeout": 3600}  # seconds: all of them sign in at once
        (root / "fleet/minion").write_text(yaml.safe_dump(minion))
        private, public = salt.crypt.gen_keys(2048)
        (root / "fleet/pki/minion.pem").write_text(private)
        (root / "fleet/pki/minion.pub").write_text(public)
        for name in minions:
            (root / "pki/minions" / name).write_text(public)

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Write the site's own settings; a master that runs has to be started again for them."""
        (self.config / "master.d/site.conf").write_text(yaml.safe_dump(dict(settings)))

    def opts(self) -> dict[str, Any]:
        """Its options, as its own processes read them."""
        return salt.config.master_config(str(self.config / "master"))

    def start(self, slow: float = 25, fetches: bool = True) -> None:
        """Start the master, and the fleet once it listens.

        slow
            Seconds of a slow one's answer: more than the master's ``timeout``, so that Salt asks whether it lives.
        fetches
            Whether each fetches its pillar at its start.
        """
        self._popen("-c", SCRIPT.format("salt_master"), "-c", str(self.config))
        opts = self.opts()
        until(lambda: all(listens(opts[port]) for port in ("publish_port", "ret_port")), "the master listens")
        self.manners.write_text("{}")
        words = (str(self.root / "fleet"), str(slow), "fetches" if fetches else "", str(len(self.minions)))
        for first in range(0, len(self.minions), PROCESS):
            part = (str(first), str(first + PROCESS))
            self._popen(str(HERE / "fleet.py"), *words, *part, stdout=subprocess.PIPE)
        self._heard()

    def behave(self, manners: Mapping[str, str]) -> None:
        """Let some be ``silent``, ``slow`` or ``lying`` from now on; all others answer well."""
        self.manners.write_text(json.dumps(manners))
        for process in self.processes[1:]:
            process.send_signal(signal.SIGHUP)
        self._heard()

    def _heard(self) -> None:
        """Wait until the fleet says that it is as it was told to be."""
        for number, process in enumerate(self.processes[1:], 1):
            if not process.stdout.readline():
                raise RuntimeError(f"the fleet ended:\n{self._errors(number).read_text()[-2000:]}")

    def stop(self) -> None:
        """End both, with all their children."""
        for process in reversed(self.processes):
            for signum in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(process.pid, signum)
                except ProcessLookupError:
                    break
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    continue
        self.processes.clear()

    def __enter__(self) -> "Master":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def typed(self, *words: str) -> Done:
        """Run ``salt-run WORDS``."""
        start = time.monotonic()
        command = [sys.executable, "-c", SCRIPT.format("salt_run"), "-c", str(self.config), *words]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, cwd=self.root, env=environment(), check=False
        )
        return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - start)

    def memory(self) -> int:
        """Bytes that the master's processes hold: each one's share of what it shares (PSS, proc(5))."""
        return sum(share(pid) for pid in group(self.processes[0].pid)) if self.processes else 0

    def _errors(self, number: int) -> Path:
        """What a process of ``processes`` wrote to its standard error."""
        return self.root / (f"fleet{number}.err" if number else "master.err")

    def _popen(self, *words: str, **more: Any) -> subprocess.Popen:
        with self._errors(len(self.processes)).open("wb") as err:
            made = subprocess.Popen(
                [sys.executable, *words], stderr=err, start_new_session=True, cwd=self.root, env=environment(), **more
            )
        self.processes.append(made)
        return made


def environment() -> dict[str, str]:
    """The environment in which this checkout is imported, wherever the installed one lies."""
    return {**os.environ, "PYTHONPATH": str(CHECKOUT)}


def free_ports(count: int) -> list[int]:
    """Ports of loopback on which nobody listens now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def listens(port: int) -> bool:
    """Whether somebody listens on a port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def group(leader: int) -> list[int]:
    """The processes of a process group."""
    found = []
    for process in Path("/proc").iterdir():  # a glob of their files fails where one ends meanwhile
        if not process.name.isdigit():
            continue
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader:
            found.append(int(process.name))
    return found


def share(pid: int) -> int:
    """Bytes of a process, of shared ones its share; 0 where it has gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def until(holds: Any, what: str, limit: float = 120) -> None:
    """Wait until something holds; RuntimeError with what was waited for."""
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"after {limit} s: {what}: not so")
        time.sleep(0.2)


def remove(root: Path) -> None:
    """Remove a master's folder."""
    shutil.rmtree(root, ignore_errors=True)
