"""A round that does not go its way: whatever happens, the fault is mended, the stage and the load are ended."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from requests import Timeout
from test_chaos import TINY, look

from lab.chaos import cli, game, site
from lab.chaos.faults import Fault
from lab.chaos.game import Game, bounded
from lab.chaos.judge import Look
from lab.chaos.record import Outcome
from lab.chaos.rounds import draw
from lab.chaos.site import DeployedLab
from lab.cli import main
from lab.containers import Done
from lab.errors import LabError
from lab.load.judge import Demand, Report, Span, judge
from lab.load.node.ledger import parse

SEED = 7
NUMBER = next(number for number in range(1, 40) if draw(SEED, number, TINY).fault == "network")
WORKED = (
    '{"at": 0, "what": "begin"}\n{"at": 1, "what": "written", "object": 0, "version": 1}\n{"at": 2, "what": "end"}\n'
)


class Ground:
    def seconds(self, *_: str) -> float:
        return 50.0


class Place:
    ground = Ground()


class Site:
    """A site on which everything goes well; it notes what is done."""

    name, master, place = "mini", "saltmaster", Place()
    said = ""  # by discovery

    def __init__(self, done: list[str]) -> None:
        self.done = done

    def run(self, _: str, command: Any, *__: Any, **___: Any) -> Done:
        self.done.append(str(command))
        return Done(0, self.said if "discovery" in command else "nothing was left out", "")

    def whole(self, *_: Any, **__: Any) -> tuple[Any, list[str]]:
        return look({}), []

    def post_crashes(self) -> None:
        self.done.append("crashes posted")

    def archive_crashes(self, host: str) -> None:
        self.done.append(f"crashes of {host} archived")

    def answers(self) -> None:
        self.done.append("answers")

    def collect(self, _: Path) -> None:
        self.done.append("collect")


class Stage:
    """A stage that is reached and ends as it is told."""

    end: tuple[int, str] = (0, "")

    def __init__(self, site: Site, name: str, _: Path) -> None:
        self.done, self.name = site.done, name

    def usual(self) -> list[tuple[str, float]]:
        return []  # it never ran

    def start(self) -> None:
        self.done.append(f"struck {self.name}")

    def reached(self, *_: Any) -> str:
        return "now"

    def ended(self) -> tuple[int, str]:
        return self.end

    def stop(self) -> None:
        self.done.append("stage stopped")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A lab that is none; what is done on it."""
    noted: list[str] = []

    def note(word: str) -> Callable[..., None]:
        return lambda *_: noted.append(word)

    def report(_: str, demand: Demand, faults: Sequence[Span]) -> Report:
        return judge({"rados": parse(WORKED)}, 2, demand, faults)

    named = {"start": "load", "stop": "load stopped"}
    for name, word in named.items():
        monkeypatch.setattr(game, name, note(word))
    monkeypatch.setattr(game, "report", report)
    monkeypatch.setattr(game, "Stage", Stage)
    monkeypatch.setattr(game.change, "make", note("change"))
    monkeypatch.setattr(game.change, "populate", note("populate"))
    monkeypatch.setitem(game.FAULTS, "network", Fault(note("cut"), note("mend")))
    monkeypatch.setattr(game.time, "sleep", lambda _: None)
    return noted


def play(done: list[str], tmp_path: Path) -> Outcome:
    outcome = Outcome(draw(SEED, NUMBER, TINY), "again")
    Game(Site(done), tmp_path).play(outcome)
    return outcome


def raises(error: BaseException) -> Callable[..., None]:
    def act(*_: Any) -> None:
        raise error

    return act


def test_a_round_that_goes_well(done: list[str], tmp_path: Path) -> None:
    outcome = play(done, tmp_path)
    assert (outcome.problems, outcome.broken, outcome.status, outcome.moment) == ([], False, 0, "now")
    stage = outcome.what.stage
    assert done.index("load") < done.index("change") < done.index(f"struck {stage}") < done.index("cut")
    assert done.index("cut") < done.index("mend") < done.index("answers") < done.index("load stopped")
    assert "stage stopped" not in done and "salt-run stage.stop" not in done and done.count("mend") == 1
    assert f"salt-run stage.run {stage}" in done[done.index("answers") :]
    assert outcome.load["rados"]["operations"] == 1


ERRORS = {"ctrl-c": KeyboardInterrupt(), "lab": LabError("the kernel is gone"), "docker": Timeout("the kernel is gone")}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("where", ["begin", "hold", "end"])
def test_whatever_happens_the_fault_is_mended_and_all_is_ended(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, where: str
) -> None:
    if where == "begin":
        monkeypatch.setitem(game.FAULTS, "network", Fault(raises(error), game.FAULTS["network"].mend))
    elif where == "hold":
        monkeypatch.setattr(game.time, "sleep", raises(error))
    else:
        monkeypatch.setattr(Stage, "ended", raises(error))
    if isinstance(error, LabError | Timeout):
        outcome = play(done, tmp_path)
        assert outcome.broken and outcome.problems == ["the kernel is gone"] and done[-1] == "collect"
    else:
        with pytest.raises(KeyboardInterrupt):
            play(done, tmp_path)
    assert done.count("mend") == 1
    assert done.index("mend") < done.index("stage stopped") < done.index("load stopped")


def test_a_fault_that_cannot_be_mended_is_said_and_ends_the_game(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Fault(game.FAULTS["network"].begin, raises(LabError("the cable is lost")))
    monkeypatch.setitem(game.FAULTS, "network", stuck)
    outcome = play(done, tmp_path)
    assert outcome.broken and "load stopped" in done
    assert outcome.problems == ["the fault is not mended: the cable is lost", "the cable is lost"]


def test_what_a_stage_must_not_do_is_said_and_the_game_goes_on(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stage, "end", (1, "Traceback (most recent call last):"))
    outcome = play(done, tmp_path)
    assert outcome.problems == ["the stage printed a traceback"] and not outcome.broken and done[-1] == "collect"


def test_crash_reports_of_a_fault_that_makes_some_are_archived(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the next round's own are seen; of other faults there must be none."""
    host = draw(SEED, NUMBER, TINY).host
    assert play(done, tmp_path).problems == [] and f"crashes of {host} archived" not in done
    assert done.index("answers") < done.index("crashes posted")
    network = game.FAULTS["network"]
    monkeypatch.setitem(game.FAULTS, "network", Fault(network.begin, network.mend, crashes=True))
    assert play(done, tmp_path).problems == [] and done.count(f"crashes of {host} archived") == 1


def test_a_look_is_awaited_that_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game.time, "sleep", lambda _: None)
    degraded, busy = {"active+undersized+degraded": 33}, {"OSD_DOWN": "1 osds down"}
    looks = [look({"groups": degraded}), look({"checks": busy}), look({})]

    class Lab(DeployedLab):
        def __init__(self) -> None: ...

        def look(self) -> Look:
            return looks.pop(0)

    last, wrong = Lab().whole(look({}))
    assert (wrong, looks, last) == ([], [], look({}))
    looks += [look({"checks": busy}), look({"groups": degraded})]
    assert Lab().whole(limit=0) == (look({"checks": busy}), []) and len(looks) == 1  # as it was found before the round
    (said,) = Lab().whole(look({}), limit=-1)[1]
    assert "33 active+undersized+degraded" in said


def test_data_that_is_brought_back_is_waited_for_as_long_as_it_gets_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in round 7 of seed 3: 5,576 copies at twenty a second."""
    passed = [0.0]
    clock = SimpleNamespace(monotonic=lambda: passed[0], sleep=lambda _: passed.__setitem__(0, passed[0] + 100))
    monkeypatch.setattr(site, "time", clock)

    class Lab(DeployedLab):
        def __init__(self, *copies: int | None) -> None:
            self.copies = list(copies)

        def look(self) -> Look:
            left = self.copies.pop(0)
            return look({} if left is None else {"groups": {"active+recovering": 1}, "copies": left})

    assert Lab(0, 5000, 3000, 3000, 2000, 2000, 100, None).whole(look({}), limit=150)[1] == []
    lab = Lab(5000, 3000, 3000, 3001, None)
    (said,) = lab.whole(look({}), limit=150)[1]
    assert "1 active+recovering" in said and lab.copies == [None], (
        "it neither got less, nor was it waited for any longer"
    )


def test_only_reports_of_the_pulled_disks_osds_are_archived() -> None:
    typed: list[Any] = []

    class Lab(DeployedLab):
        master = "saltmaster"

        def __init__(self) -> None: ...

        def ceph(self, _: str) -> Any:
            made = [
                ("a", "osd.3", "node1"),
                ("b", "osd.1", "node2"),
                ("c", "mon.node1", "node1"),
                ("d", "osd.4", "node1.x"),
            ]
            return [dict(zip(("crash_id", "entity_name", "utsname_hostname"), each, strict=True)) for each in made]

        def run(self, host: str, command: Any, check: bool = True, limit: float = 0) -> Done:
            typed.append(command)
            return Done(0, "", "")

    Lab().archive_crashes("node1")
    assert typed == [["ceph", "crash", "archive", "a"], ["ceph", "crash", "archive", "d"]]


def test_a_client_that_hardly_works_until_the_stages_have_ended_is_said(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it did before the fault: each of the four stages again takes longer than anything may hold it up."""
    clock = SimpleNamespace(sleep=lambda _: None, monotonic=time.monotonic, time=lambda: 1000.0 * len(done))
    monkeypatch.setattr(game, "time", clock)
    outcome = play(done, tmp_path)
    assert outcome.span and outcome.span[0] == 1000.0 * (done.index("cut")) and outcome.load["rados"]["during"] == (0,)
    assert outcome.span[1] == 1000.0 * done.index("crashes posted")
    owed = (outcome.span[1] - outcome.span[0] - 50 - game.SLACK - outcome.what.hold) // 4
    assert [f"at least {owed:.0f} were asked for" in each for each in outcome.problems] == [True] and not outcome.broken


def test_a_stage_again_that_ends_well_without_a_host_is_said(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Site, "said", "discovery: done in 5.0 s\n  node2: left out: does not answer; start its minion\n"
    )
    outcome = play(done, tmp_path)
    told = "ceph.stage.discovery node2: left out: does not answer; start its minion"
    assert outcome.problems == [told] and not outcome.broken


def test_where_something_is_lost_the_lab_is_left_as_it_is(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No further round: the next load would take away what is to be looked at."""
    lost = WORKED.replace('{"at": 2,', '{"at": 1, "what": "read", "object": 0}\n{"at": 2,')
    monkeypatch.setattr(game, "report", lambda *_: judge({"rados": parse(lost)}, 2, Demand()))
    outcome = play(done, tmp_path)
    assert outcome.broken and "object-0 is lost" in outcome.problems[0]


def test_a_load_that_cannot_be_ended_hides_nothing(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stage, "ended", raises(LabError("first")))
    monkeypatch.setattr(game, "stop", raises(LabError("second")))
    outcome = play(done, tmp_path)
    assert outcome.broken and outcome.problems == ["load: it cannot be ended: second", "first"]


@pytest.mark.slow
def test_games_go_on_with_a_seed_and_each_keeps_its_report(
    done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(cli, "FOLDER", tmp_path)
    monkeypatch.setattr(cli, "DeployedLab", lambda _: Site(done))
    monkeypatch.setattr(Site, "hosts", lambda _: TINY, raising=False)
    monkeypatch.setattr(Ground, "needed", lambda *_: None, raising=False)
    nothing = Fault(lambda *_: None, lambda *_: None)
    monkeypatch.setattr(game, "FAULTS", dict.fromkeys(game.FAULTS, nothing))
    own = SimpleNamespace(signal=lambda *_: None, SIGTERM=15, default_int_handler=None)
    monkeypatch.setattr(cli, "signal", own)  # pytest keeps its own
    for words in ("--rounds 2", "--from 3 --rounds 1"):
        assert main(["chaos", "--seed", "7", *words.split()]) == 0
    reports = sorted(str(path) for path in (tmp_path / "mini").glob("*.json"))
    assert [Path(path).name[:6] for path in reports] == ["7-1-2-", "7-3-3-"]
    folders = sorted(path.name[:4] for path in (tmp_path / "mini").iterdir() if path.is_dir())
    assert folders == ["7-1-", "7-2-", "7-3-"]
    capsys.readouterr()
    assert main(["chaos", "--report", *reports]) == 0
    assert "3 of 3 rounds whole, 0 struck no stage; longest stalls: rados 1.0 s" in capsys.readouterr().out


@pytest.mark.slow
def test_a_round_is_bounded() -> None:
    with pytest.raises(LabError, match="the round takes longer than 1 s"), bounded(1):
        time.sleep(10)
    with bounded(1):
        pass
