"""``salt-run daemon.*``: daemons that run with an older configuration than they would start with, and their restart."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from proposals.cluster import restarts
from proposals.cluster.health import report
from proposals.cluster.health.judge import Verdict
from proposals.cluster.upgrade import order
from proposals.stages import replies
from proposals.stages.replies import Replies
from proposals.text.errors import ProposalError
from proposals.text.notes import FEW, by_name, several
from runners.engine import answer
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.cluster import daemon_restart, gateways, maintained
from runners.engine.hosts import upgrading
from runners.engine.looks import stage_look
from runners.engine.runs import one_at_a_time, stage_lock, stage_log

NOTHING = "no daemon waits for a restart: nothing changed"
EACH = "'salt-run daemon.pending --out json' names each"


@answer.answers
def pending(**_: Any) -> dict[str, Any]:
    """Name the daemons that a restart would change, with their options, and those that are down; none is restarted.

    CLI Example:

    .. code-block:: bash

        salt-run daemon.pending
    """
    waiting, down, away = _seen() if stage_lock.own(__opts__) else _looked()
    stage_lock.keep(__opts__, daemon_restart.WAITING, {minion: sorted(daemons) for minion, daemons in waiting.items()})
    lines = by_name(
        (minion, [name], f"{option} is {_shown(now)}, would be {_shown(then)}")
        for minion, daemons in waiting.items()
        for name, options in daemons.items()
        for option, (now, then) in options.items()
    )
    lines += ["'salt-run state.orch ceph.stage.restart' restarts them, host by host"] if lines else []
    stopped = by_name(
        ((minion, units, "down") for minion, units in down.items()),
        "{who}: {text}: {names}; see 'systemctl status' there",
    )
    folded = [EACH] if max(len(waiting), len(down)) > FEW else []
    text = "\n".join([*away, *(lines or ["no daemon waits for a restart"]), *stopped, *folded])
    return {"text": text, "daemons": waiting, "down": down, "findings": [_warning(line) for line in stopped]}


@answer.answers
def restart(test: bool = False) -> dict[str, Any]:
    """Restart the daemons that wait for it: monitors, managers, OSDs, others; one host after the other, OSDs after a
    first host of as many hosts at once as Ceph allows (``ok-to-stop --max``), active managers and metadata servers
    last, object gateways while they are out of their balancer.

    A host's daemons are restarted when Ceph says ``ok-to-stop``, and the next host's when they are back and nothing is
    wrong that was not before. A host without Ceph's leave is waited for while that may change, then left out by name,
    and the others are restarted. Where the cluster does not answer, or daemons do not come back, nothing else is
    touched. The next run goes on. What moves, and what no restart makes (a flag, a crash report), is a warning.

    test
        Only say which.

    CLI Example:

    .. code-block:: bash

        salt-run daemon.restart test=true
    """
    if not test:
        stage_lock.free(__opts__)
        return _restarted(__opts__)
    waiting, _, lines = _looked()
    steps = _steps(waiting)
    lines += [
        line
        for own in steps.values()
        for line in by_name(((minion, names, "") for minion, names in own.items()), "would restart {names} of {who}")
    ]
    lines += [EACH] if any(len(own) > FEW for own in steps.values()) else []
    return {"text": "\n".join(lines if steps else [*lines, NOTHING]), "changes": _by_host(steps)}


@one_at_a_time.stops_daemons("daemon.restart")
def _restarted(opts: Mapping) -> dict[str, Any]:
    """Restart daemons by kind, turn by turn; the runner's answer."""
    gateways.back(opts)  # of an interrupted run
    waiting, _, away = _looked()
    steps = _steps(waiting)
    if not steps:
        return {"text": "\n".join([*away, NOTHING])}
    if not stage_lock.own(opts):  # of a stage its own log tells
        stage_log.note(opts, "daemon.restart", "restarts", hosts=len(whose := _by_host(steps)), daemons=whose)
    done: dict[str, list[str]] = {}
    left: list[str] = []
    verdict = Verdict()
    for kind, turn in _turns(steps, done):
        names = [name for own in turn.values() for name in own]
        who, listed = several(list(turn), most=FEW), several(names, "more", FEW * FEW)
        if why := daemon_restart.needed(opts, kind, names):
            left.append(f"{who}: not restarted {listed}: {why}")
            if maintained.HANGS in why:  # nobody says more of the others, and each would be waited for as long
                break
            continue
        try:
            verdict = daemon_restart.restart(opts, kind, turn)
        except ProposalError as err:
            left.append(f"{who}: {listed}: {err}")
            break
        for minion, restarted in turn.items():
            done.setdefault(minion, []).extend(restarted)
    lines = by_name(((minion, names, "restarted") for minion, names in done.items()), "{who}: {text} {names}")
    lines += [*away, *report.text(verdict)]
    if left:
        text = "\n".join([*left, *lines, "run it again when the cause is gone"])
        return {**answer.bad(text), "changes": done}
    return {"text": "\n".join(lines), "changes": done, "findings": report.warnings(verdict)}


def _steps(waiting: Mapping[str, Mapping]) -> dict[str, order.Waiting]:
    """Whose daemons wait, by kind, in Ceph's order."""
    return {kind: own for kind in order.KINDS if (own := _of_kind(waiting, kind))}


def _by_host(steps: Mapping[str, order.Waiting]) -> dict[str, list[str]]:
    """The daemons that wait, by host."""
    daemons: dict[str, list[str]] = {}
    for minion, names in (item for own in steps.values() for item in own.items()):
        daemons.setdefault(minion, []).extend(names)
    return daemons


def _of_kind(waiting: Mapping[str, Mapping], kind: str) -> dict[str, list[str]]:
    """Whose daemons of a kind wait."""
    named = {minion: sorted(name for name in own if name.startswith(f"{kind}.")) for minion, own in waiting.items()}
    return {minion: names for minion, names in named.items() if names}


def _turns(
    steps: Mapping[str, order.Waiting], done: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, dict[str, Sequence[str]]]]:
    """In Ceph's order, each kind in its turns; active managers and metadata servers last, as standbys take over.

    ``done`` is what was restarted so far: hosts of OSDs go alone until one has, as one without leave is left out.
    """

    def passed() -> bool:
        return any(name.startswith("osd.") for names in done.values() for name in names)

    for kind, waiting in steps.items():
        last = upgrading.active(jobs.cluster(__opts__, upgrading.SEEN, kind=dict)) if kind in ("mgr", "mds") else set()
        turns = daemon_restart.turns(__opts__, kind, order.in_order(waiting, last), passed=passed)
        yield from ((kind, turn) for turn in turns)


def _seen() -> tuple[dict[str, dict], dict[str, list], list[str]]:
    """The same as ``_looked`` says, by the look that a stage's steps behind this one take theirs from."""
    seen = stage_look.kept(__opts__) or stage_look.look(__opts__)
    stage_look.keep(__opts__, seen)
    return (*_told(seen.hosts, seen.cluster[stage_look.STARTUP]), [])


def _looked() -> tuple[dict[str, dict], dict[str, list], list[str]]:
    """Which daemons of which minion wait, with what, which units are down, and a line for each host in maintenance, of
    which nothing is asked, as of a stage's: one job, after two to the cluster.
    """
    startup = jobs.cluster(__opts__, stage_look.STARTUP)
    records = [] if stage_lock.own(__opts__) else maintained.records(__opts__).values()
    asked = taking_part.among(__opts__, minions.members(__opts__)["all"])
    here = [minion for minion in asked if minion not in {record.minion for record in records}]
    told = _told(jobs.ask_apart(__opts__, here, stage_look.HOSTS[:2]), startup)
    return (*told, [f"{record.minion}: {record.why}: left out" for record in records])


def _told(hosts: Mapping[str, Replies], startup: Sequence[Mapping]) -> tuple[dict[str, dict], dict[str, list]]:
    """The same of what hosts and cluster told. Raises ProposalError that names each host that did not."""
    told = (
        replies.read(hosts[stage_look.SETTINGS], partial(restarts.waiting, startup=startup)),
        hosts[stage_look.STOPPED],
    )
    waiting, down = ({minion: own for minion, own in one.whole().items() if own} for one in told)
    return waiting, down


def _warning(line: str) -> dict[str, Any]:
    return {"severity": "warning", "hosts": [], "message": line, "fix": "a daemon that is planned is to run"}


def _shown(value: object) -> object:
    return "not set" if value is None else value
