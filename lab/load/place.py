"""A lab as a load sees it: the record of its load, its ledgers, the hosts.

labs/NAME/load/load.json     where it runs, which clients, when it was stopped
labs/NAME/load/CLIENT.jsonl  each client's ledger once it was stopped; until then it grows on the clients' host
"""

import json
import shutil
from dataclasses import asdict, dataclass

from docker.models.containers import Container

from lab import containers, daemon
from lab.errors import LabError
from lab.load.ground import Ground
from lab.load.node.clients import FOLDER
from lab.load.node.ledger import Entry, parse
from lab.store import Lab, find

PROGRAM = FOLDER / "program"  # on the clients' host
ENDS = 60  # seconds a client may take for the operation that it is in when it is told to stop
HOST = "client1"  # where clients run, if the lab has it


@dataclass
class Load:
    """One load as its record has it."""

    host: str
    clients: list[str]
    absent: dict[str, str]  # clients that were left out, and why
    stopped: float | None = None  # seconds since 1970
    removed: bool = False  # nothing of it is in the cluster any more


class Place:
    """A lab, by its name where several run."""

    def __init__(self, cluster: str | None) -> None:
        self.lab: Lab = find(cluster)
        self.folder = self.lab.folder / "load"
        self._record = self.folder / "load.json"
        self._client = daemon.needed()

    def node(self, host: str) -> Container:
        return containers.find(self._client, self.lab, host)

    @property
    def ground(self) -> Ground:
        return Ground(self.node(self.lab.cluster.master.name))

    @property
    def default_host(self) -> str:
        names = [host.name for host in self.lab.cluster.hosts]
        return HOST if HOST in names else self.lab.cluster.master.name

    @property
    def load(self) -> Load | None:
        """The lab's load, running or stopped."""
        return Load(**json.loads(self._record.read_text())) if self._record.exists() else None

    def known(self) -> Load:
        """The same; LabError where none was started."""
        if load := self.load:
            return load
        raise LabError(f"no load was started on {self.lab.name}: `python -m lab load start` starts one.")

    def save(self, load: Load) -> None:
        self.folder.mkdir(exist_ok=True)
        self._record.write_text(json.dumps(asdict(load), indent=1))

    def forget(self) -> None:
        """No load was ever started here."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def state(self, load: Load, client: str) -> str:
        """What systemd says of a client's unit: `active` while it works."""
        return containers.run(self.node(load.host), ["systemctl", "is-active", f"lab-load-{client}"]).out.strip()

    def fetch(self, load: Load, client: str) -> str:
        """The text of a client's ledger from its host; empty where it has not begun."""
        return containers.run(self.node(load.host), f"cat {FOLDER}/{client}.jsonl 2>/dev/null").out

    def ledger(self, load: Load, client: str) -> list[Entry]:
        """A client's ledger: that which was kept when the load was stopped, else from its host."""
        kept = self.folder / f"{client}.jsonl"
        return parse(kept.read_text() if load.stopped else self.fetch(load, client))

    def ledgers(self, load: Load) -> dict[str, list[Entry]]:
        return {name: self.ledger(load, name) for name in load.clients}
