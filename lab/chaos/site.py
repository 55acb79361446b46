"""A lab as chaos uses it: commands on its hosts, what runs where, whether all is whole."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docker.models.containers import Container

from lab import containers, daemon, disks, evidence, salt
from lab.chaos import judge
from lab.chaos.judge import Look
from lab.chaos.rounds import Hosts
from lab.containers import Done
from lab.errors import LabError
from lab.load.place import Place
from lab.store import find

COMMAND = 600  # seconds a command may take, a stage: more (stage.py)
WHOLE = 300  # seconds without progress until a cluster is whole again: OSDs start, data is copied
# Ceph's own daemons that run on a host, by their units.
UNITS = "systemctl list-units --quiet --plain --no-legend --state=active 'ceph-*@*.service'"
# Scan once, where Ceph has its folder for that.
POST = "[ ! -d /var/lib/ceph/crash/posted ] || timeout 60 ceph-crash --delay 0 >/dev/null 2>&1 || true"
KINDS = ("mon", "mgr", "osd", "mds", "radosgw")


class DeployedLab:
    """A running lab with a deployed cluster, by its name where several run."""

    def __init__(self, cluster: str | None) -> None:
        self.place = Place(cluster)
        self.name = self.place.lab.name
        self.master = self.place.lab.cluster.master.name
        self._client = daemon.needed()

    def node(self, host: str) -> Container:
        return containers.find(self._client, find(self.name), host)

    def run(self, host: str, command: str | list[str], check: bool = True, limit: float = COMMAND) -> Done:
        """Run a command on a host; check: LabError with its last words where its status is not 0. limit: seconds."""
        done = containers.run(self.node(host), command, limit)
        if check and done.code:
            words = command if isinstance(command, str) else " ".join(command)
            said = "\n".join((done.out + done.err).strip().splitlines()[-8:])
            raise LabError(f"{host}: '{words.splitlines()[0]}' ended with status {done.code}:\n{said}")
        return done

    def ceph(self, words: str) -> Any:
        """Ask Ceph on the master; its JSON."""
        said = self.run(self.master, f"ceph --connect-timeout 30 --format json {words}").out
        try:
            return json.loads(said)
        except ValueError as err:
            raise LabError(f"'ceph {words}' answered no JSON: {said[:200]!r}") from err

    def report(self) -> list[dict[str, Any]]:
        """Each planned OSD as ``osd.report`` has it; its status is 1 where one is not as planned."""
        done = self.run(self.master, "salt-run osd.report --out json", check=False)
        try:
            return json.loads(done.out)["osds"]
        except (ValueError, KeyError, TypeError) as err:
            raise LabError(f"salt-run osd.report ended with {done.code}: {(done.out + done.err).strip()}") from err

    def look(self) -> Look:
        """The cluster as it is now."""
        status, dump, auth = (self.ceph(words) for words in ("status", "osd dump", "auth ls"))
        return judge.look(status, dump, auth, self.report())

    def whole(self, before: Look | None = None, limit: float = WHOLE) -> tuple[Look, list[str]]:
        """Wait until all is whole and as planned; the last look, and what is not so `limit` seconds later.

        before: from the round's beginning; without it, what Ceph's checks say is taken as it is. As long as ever fewer
        copies are left to be made the seconds begin anew: an OSD that was down for long has thousands to catch up with.
        """
        deadline, least = time.monotonic() + limit, sys.maxsize
        while True:
            now = self.look()
            if 0 < now.copies < least:
                deadline, least = time.monotonic() + limit, now.copies
            found = judge.problems(now, before or now)
            if not found or time.monotonic() > deadline:
                return now, found
            time.sleep(2)

    def post_crashes(self) -> None:
        """Have every host post its crash reports now: by itself it does so every ten minutes, in another round."""
        for host in self.place.lab.cluster.containers:
            self.run(host.name, POST)

    def archive_crashes(self, host: str) -> None:
        """Archive the reports of a host's OSDs, whose disk was pulled; of any other daemon they stay."""
        for crash in self.ceph("crash ls-new"):
            if crash["entity_name"].startswith("osd.") and crash["utsname_hostname"].partition(".")[0] == host:
                self.run(self.master, ["ceph", "crash", "archive", crash["crash_id"]])

    def until(self, what: Callable[[], bool], limit: float, why: str) -> None:
        """Wait until something is so; LabError where it is not after `limit` seconds, `why`: what did not come."""
        deadline = time.monotonic() + limit
        while not what():
            if time.monotonic() > deadline:
                raise LabError(f"after {limit:.0f} s: {why}")
            time.sleep(0.5)

    def answers(self) -> None:
        """Wait until every minion answers."""
        master = self.node(self.master)
        salt.wait_for_answers(master, salt.accepted(master))

    def hosts(self) -> Hosts:
        """What faults may strike."""
        parsed, report = self.place.lab.cluster, self.report()
        daemons = {host.name: self._daemons(host.name) for host in parsed.hosts}
        return Hosts(
            master=self.master,
            minions=tuple(sorted(salt.accepted(self.node(self.master)))),
            load=self.place.default_host,
            daemons={host: kinds for host, kinds in daemons.items() if kinds},
            networks={host.name: tuple(host.addresses) for host in parsed.hosts},
            slots={host.name: self._slots(host.name, report, ("data", "db", "wal")) for host in parsed.hosts},
            data={host.name: self._slots(host.name, report, ("data",)) for host in parsed.hosts},
        )

    def osds(self, host: str, slot: str) -> list[int]:
        """Numbers of the OSDs that have a part on the disk in a slot."""
        mine = next((disk for disk in disks.plugged(find(self.name), host) if str(disk["slot"]) == slot), {"links": ()})
        links = {f"/dev/{link}" for link in mine["links"]}
        parts = ("data", "db", "wal")
        return [one["id"] for one in self.report() if one["id"] is not None and links & {one[part] for part in parts}]

    def collect(self, folder: Path) -> None:
        """Write what tells why something failed, a folder for each running host."""
        evidence.collect(self._client, find(self.name), folder)

    def _daemons(self, host: str) -> tuple[str, ...]:
        units = self.run(host, UNITS).out.split()
        kinds = {unit.removeprefix("ceph-").partition("@")[0] for unit in units if "@" in unit}
        return tuple(sorted(kinds & set(KINDS)))

    def _slots(self, host: str, report: list[dict[str, Any]], parts: tuple[str, ...]) -> tuple[str, ...]:
        used = {one[part] for one in report if one["host"] == host for part in parts}
        slots = [
            disk["slot"]
            for disk in disks.plugged(find(self.name), host)
            if used & {f"/dev/{link}" for link in disk["links"]}
        ]
        return tuple(map(str, sorted(set(slots))))
