"""A load's client: what it writes in its ledger, whatever its operations do, and that killing it loses none of that."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Event

import pytest

from lab import containers
from lab.errors import LabError
from lab.load.ground import Ground, gateways
from lab.load.judge import Demand, judge
from lab.load.node import ledger as lines
from lab.load.node import worker
from lab.load.node.content import SIZE, content
from lab.load.node.ledger import Ledger, parse
from lab.load.start import choose

WROTE = 3 * worker.OBJECTS


class Memory:
    """A client whose objects lie in memory; its operations fail where `fails` says so, and it is told to stop."""

    errors = (OSError,)

    def __init__(self, fails: frozenset[int] = frozenset(), last: int = WROTE) -> None:
        self.there: dict[int, bytes] = {}
        self.stop = Event()
        self._fails, self._last, self._count = fails, last, 0

    def write(self, number: int, data: bytes) -> None:
        self._count += 1
        if self._count == self._last:
            self.stop.set()
        if self._count in self._fails:
            raise OSError(f"write {self._count} failed")
        self.there[number] = data

    def read(self, number: int) -> bytes | None:
        return self.there.get(number)

    def close(self) -> None:
        pass


def worked(path: Path, client: Memory) -> list[lines.Entry]:
    """The entries of a whole life: work, then the check by another process's means."""
    worker.work(client, Ledger(path), lambda *which: content("token", "memory", *which), 1e6, client.stop)
    worker.check(client, Ledger(path), parse(path.read_text()), Event())
    return parse(path.read_text())


def problems(entries: list[lines.Entry], **demand: float) -> tuple[str, ...]:
    return judge({"memory": entries}, entries[-1].at, Demand(**demand)).problems


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PAUSE", 0)


def test_some_objects_are_kept_and_the_others_written_in_turn(tmp_path: Path) -> None:
    entries = worked(tmp_path / "ledger", client := Memory())
    versions = Counter(entry.object for entry in entries if entry.what == lines.WRITTEN)
    assert set(versions) == set(range(worker.OBJECTS)) == set(client.there)
    assert {versions[number] for number in range(worker.KEPT)} == {1}
    assert {versions[number] for number in range(worker.KEPT, worker.OBJECTS)} <= {3, 4}
    assert {entry.object for entry in entries if entry.what == lines.READ} == set(versions)
    assert {len(data) for data in client.there.values()} == {SIZE}
    assert problems(entries, least=2 * WROTE) == ()


def test_an_operation_that_fails_is_tried_again_and_its_object_is_left_alone_after(tmp_path: Path) -> None:
    failed = 2 * worker.OBJECTS
    entries = worked(tmp_path / "ledger", client := Memory(frozenset({failed, failed + 1})))
    assert [entry.text for entry in entries if entry.what == lines.ERROR] == [
        f"OSError: write {failed} failed",
        f"OSError: write {failed + 1} failed",
    ]
    at = next(index for index, entry in enumerate(entries) if entry.what == lines.ERROR)
    left = entries[at - 1].object
    assert left not in {entry.object for entry in entries[at + 3 :] if entry.what == lines.TRY}
    assert set(client.there) == set(range(worker.OBJECTS + 1))
    assert problems(entries) == ()


def test_a_client_that_is_stopped_while_it_fails_ends_and_says_nothing_was_lost(tmp_path: Path) -> None:
    entries = worked(tmp_path / "ledger", Memory(frozenset(range(WROTE, 10 * WROTE))))
    assert [entry.what for entry in entries].count(lines.END) == 1
    assert problems(entries) == ()


class Spoiled(Memory):
    """One of its objects can no longer be read."""

    def read(self, number: int) -> bytes | None:
        if number == 3 and self._count > worker.OBJECTS:
            raise OSError("cannot be read")
        return super().read(number)


@pytest.mark.slow
def test_an_object_that_cannot_be_read_is_named_and_holds_back_no_other(tmp_path: Path) -> None:
    entries = worked(tmp_path / "ledger", Spoiled())
    assert problems(entries, least=WROTE) == ("memory was not read back to the end: 1 objects (3)",)


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, worker.KEPT + 1])
def test_what_went_behind_its_back_is_named(tmp_path: Path, number: int) -> None:
    worked(path := tmp_path / "ledger", client := Memory())
    del client.there[number]
    client.there[2] = b"not that"
    worker.check(client, Ledger(path), parse(path.read_text()), Event())
    said = sorted(problems(parse(path.read_text())))
    assert len(said) == 2
    assert said[number > 2].startswith(f"memory object-{number} is lost")
    assert said[number < 2].startswith("memory object-2 is altered")


KILLED = """
import os, sys
from pathlib import Path
from threading import Event
from test_load_worker import Memory
from lab.load.node import worker
from lab.load.node.ledger import Ledger

class Counted(Memory):
    def read(self, number):  # the write before it was acknowledged, and is in the ledger
        sys.stdout.write(".")
        sys.stdout.flush()
        if self._count == 100:
            os.kill(os.getpid(), 9)
        return super().read(number)

client = Counted(last=10**6)
worker.work(client, Ledger(Path(sys.argv[1])), lambda *which: b"x", 1e6, client.stop)
"""


@pytest.mark.slow
def test_a_client_that_is_killed_has_forgotten_nothing(tmp_path: Path, checkout: Path) -> None:
    path = tmp_path / "ledger"
    alone = {"PYTHONPATH": f"{checkout}:{Path(__file__).parent}", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", KILLED, path], env=alone, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-9, "." * 100), done.stderr
    entries = parse(path.read_text())
    assert [entry.what for entry in entries].count(lines.WRITTEN) == 100
    assert any("stopped" in text for text in problems(entries))


def test_a_line_that_was_cut_off_is_not_read_and_goes_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    Ledger(path).add(lines.WRITTEN, 0, 1)
    with path.open("a") as file:
        file.write('{"at": 5, "what": "wri')
    assert len(parse(path.read_text())) == 1
    Ledger(path).add(lines.CHECKED, 0)
    assert [entry.what for entry in parse(path.read_text())] == [lines.WRITTEN, lines.CHECKED]
    assert all(json.loads(line) for line in path.read_text().splitlines())


FRONTENDS = {
    "beast port=8400": "http://node1:8400",
    "beast endpoint=0.0.0.0:8080 ssl_endpoint=0.0.0.0:8443": "http://node1:8080",
    "beast ssl_port=8400 ssl_certificate=/x/tls.pem": "https://node1:8400",
    "beast ssl_endpoint=[::]:443": "https://node1:443",
}


@pytest.mark.parametrize("words", FRONTENDS)
def test_gateways_are_those_that_ceph_knows(words: str) -> None:
    told = {"metadata": {"hostname": "node1", "frontend_config#0": words}}
    assert gateways({"services": {"rgw": {"daemons": {"summary": "", "4711": told}}}}) == [FRONTENDS[words]]
    assert gateways({"services": {}}) == []


def test_a_client_whose_service_is_not_there_is_left_out_but_not_where_it_was_named() -> None:
    told, absent = {"rados": True, "rbd": True}, {"s3": "the cluster has no gateway"}
    assert choose([], told, absent) == told
    assert choose(["rbd"], told, absent) == {"rbd": True}
    with pytest.raises(LabError, match="no client s3: the cluster has no gateway."):
        choose(["s3"], told, absent)


UNREADY = {
    "no deploy yet": (1, "Error initializing cluster client: ObjectNotFound('RADOS object not found')\n"),
    "monitors that do not answer": (1, "2026-01-02T03:04:05 0 monclient: hunting\n[errno 110] RADOS timed out\n"),
}


@pytest.mark.parametrize("how", UNREADY)
def test_without_a_cluster_a_load_says_so_and_what_makes_one(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, err = UNREADY[how]
    monkeypatch.setattr(containers, "run", lambda *_, **__: containers.Done(code, "", err))
    with pytest.raises(LabError) as refused:
        Ground(None).needed("mini")
    said = str(refused.value)
    assert said.startswith("no Ceph cluster answers on mini;") and err.splitlines()[-1] in said
    assert "python -m lab demo mini" in said and "hunting" not in said
    monkeypatch.setattr(containers, "run", lambda *_, **__: containers.Done(0, "HEALTH_WARN\n", ""))
    Ground(None).needed("mini")
