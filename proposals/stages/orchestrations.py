"""A stage's orchestration as Salt tells of it: what was typed, what it printed, which state runs are left of one."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from proposals.stages import targets
from proposals.text.errors import ArgumentError
from proposals.text.names import nearest, shown
from proposals.text.notes import FEW, several

MOVE = "osd_migrate.together"
KEYS = "ceph_{}"  # of the pillar, by which a stage's SLS are told
GIVEN = ("only", "confirm", "gone", "steps", "suite", "target", "size", "label")  # of them, for one run
SITE = ("health", "minions", "os", "repos", "tunings", "upgrade")  # those that are the site's, or a stage's own
Jobs = dict[str, list[dict[str, str]]]  # by minion: the state runs on it, each with jid, fun, what
NOTHING_BEGUN = 2  # a stage's exit status
BEFORE = "minions.sync"  # what may stand before a check and change something
CHECKS = {  # the steps that leave all as it was where they refuse
    *("stage.begin", "validate.prep", "validate.deploy", "targets.same", "ceph-stage-deploy-check", "health.before"),
    *("policy.push", "service.check", "removal.check", "upgrade.check"),
}


def typed(words: Iterable[Any]) -> list[str]:
    """Return an orchestration's arguments as typed; of an inline pillar its keys alone: its values may be secrets.

    words
        ``fun_args`` of Salt's job.
    """
    shown = []
    for word in words:
        if isinstance(word, dict):
            pairs = {key: value for key, value in word.items() if key != "orchestration_jid"}
            pillar = pairs.pop("pillar", None)
            shown += [f"{key}={value}" for key, value in sorted(pairs.items())]
            shown += [f"pillar={sorted(pillar)}"] if isinstance(pillar, dict) else []
        else:
            shown.append(str(word))
    return shown


def check(words: Iterable[Any]) -> None:
    """Raise ArgumentError where an inline pillar has a key that is meant for a stage and that none reads.

    Salt says nothing of it, and where ``ceph_only`` is misspelt the stage would change all hosts.

    words
        ``fun_args`` of Salt's job.
    """
    read = [KEYS.format(key) for key in (*GIVEN, *SITE)]
    given = [pillar for word in words if isinstance(word, dict) if isinstance(pillar := word.get("pillar"), dict)]
    for key in (str(key) for pillar in given for key in pillar):
        meant = KEYS.format(key) if key in GIVEN else key.lower().replace("-", "_")
        if meant.startswith(KEYS.format("")) and key not in read:
            raise ArgumentError(f"pillar: '{shown(key)}' is nothing that a stage reads{nearest(meant, read)}")


def told(**typed: object) -> list[str]:
    """Return what is typed behind an orchestration's name so that its SLS are told more.

    typed
        ``only``: Salt's glob, for some hosts alone; ``confirm``, ``gone``, ``steps``: of the stage removal. None for
        what was not typed. ArgumentError where ``only`` names nothing.
    """
    typed = {**typed, "only": targets.pattern(typed.get("only"))}
    pillar = {KEYS.format(key): value for key, value in typed.items() if value is not None}
    return [f"pillar={json.dumps(pillar)}"] if pillar else []


def states(printed: str) -> list[dict[str, Any]] | None:
    """Return an orchestration's states in order, of what it printed as JSON; None where that is something else."""
    found = _data(printed)
    return sorted(found.values(), key=lambda state: state["__run_num__"]) if isinstance(found, dict) else None


def _data(printed: str) -> Any:
    """What an orchestration says of the master: its states, or words on why it has none (a broken pillar)."""
    begins = printed.find("{")
    try:
        told = json.loads(printed[begins:])["data"] if begins >= 0 else None
    except (ValueError, KeyError):
        return None
    return next(iter(told.values()), None) if isinstance(told, dict) else told


def failure(printed: str, errors: str) -> str:
    """Return why a stage that has no run log failed: its failed steps' words, else all that it printed.

    printed, errors
        Its standard output and standard error.
    """
    found = states(printed)
    if found is None and isinstance(words := _data(printed), list):
        return "\n".join(map(str, words))
    if found is None:
        return printed.strip() or errors.strip()
    return "\n".join(state["comment"] for state in found if state["result"] is False)


def status(ended: int, records: Sequence[Mapping[str, Any]]) -> int:
    """Return a stage's exit status: 1 where something asked for was not made, 2 where nothing was begun.

    ended
        How its process ended: its status, or the number of the signal that ended it below zero.
    records
        Its run log; empty where it has none.
    """
    if ended <= 0:
        return 128 - ended if ended else 0  # as a shell has it
    if records and records[-1].get("result") != "failed":  # as where there is no master to take the first job
        return NOTHING_BEGUN if ended == 1 and not {"step", "result"} & {each["event"] for each in records} else ended
    results = [each for each in records if each["event"] == "result"]
    failed = {each["step"] for each in results if each["result"] == "failed"}
    began = {each["step"] for each in results if each.get("changed")} - {BEFORE, *failed}
    return NOTHING_BEGUN if failed <= CHECKS and not began else ended


def state_runs(running: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the state runs among what a minion says that runs on it (``saltutil.running``), in short.

    A DB that is being moved counts as one: its OSD is stopped meanwhile, and a stage would take its ``noout`` away.
    """
    return [
        {"jid": str(job.get("jid")), "fun": function, "what": what}
        for job in running
        if isinstance(job, Mapping)
        for function, what in _calls(job)
        if function.startswith(("state.", MOVE))
    ]


def _calls(job: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A job's functions, each with what it was told first: of a job of several Salt has a list of each. One of a
    minion's own schedule, such as the mine's, has ``fun_args`` in place of ``arg``.
    """
    function, words = job.get("fun"), job.get("arg", job.get("fun_args"))
    if isinstance(function, list) and isinstance(words, list):
        return [(str(each), _first(own)) for each, own in zip(function, words, strict=False)]
    return [(str(function), _first(words))]


def _first(words: object) -> str:
    """The first argument as typed; of named ones, among them an inline pillar, nothing: they may be secrets."""
    first = words[0] if isinstance(words, list) and words else ""
    return "" if isinstance(first, Mapping) else str(first)


def named(jobs: Jobs) -> str:
    """Return state runs by minion in words, the first of each."""
    first = {minion: runs[0] for minion, runs in sorted(jobs.items())}
    told = [
        f"{minion} ({' '.join(filter(None, [run['fun'], run['what']]))}, job {run['jid']})"
        for minion, run in first.items()
    ]
    return several(told, most=FEW)


def ended(jobs: Jobs) -> str:
    """Return what ends state runs that are left: ``stage.stop``; a DB that is being moved has to come to its end."""
    kinds = {run["fun"] for runs in jobs.values() for run in runs}
    told = ["end them with 'salt-run stage.stop'"] if kinds - {MOVE} else []
    told += (
        [f"{MOVE} ends by itself when its DB is copied ('salt-run osd.migrate' goes on then)"] if MOVE in kinds else []
    )
    return f"{'; '.join(told)}, and run the stage again"
