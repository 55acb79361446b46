"""``salt-run service.*``: gateways, file systems, the dashboard, monitoring. Planned in ``proposals/services``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proposals.cluster import pools
from proposals.services import service_answers
from proposals.services.service import Service
from proposals.services.service_answers import AppliedPart
from proposals.stages import replies
from proposals.text.errors import ProposalError
from runners.engine import answer
from runners.engine.asking import jobs, taking_part
from runners.engine.cluster import ceph, service_look
from runners.engine.looks import early, stage_look
from runners.engine.runs import stage_lock

LIMIT = 60  # seconds; a host that still works on its states then is waited for on, one that is gone is not
NOTHING = "no minion of this run has a role of these services: nothing to do"


@answer.answers
def check(services: str | Sequence[str] | None = None, test: bool = False) -> dict[str, Any]:
    """Check what can be checked before services come up, and touch nothing: a step of their stages.

    What the cluster can hold, whether every host is told what the master tells, and who holds the ports that they
    need. A host that does not answer is named and left out: the others come up. Daemons of hosts that lost their role
    are named and left alone.

    services
        Names such as ``[cephfs, radosgw]``; all where none is named.
    test
        As the stage in test mode calls it: a cluster that is not there yet is no error then.

    CLI Example:

    .. code-block:: bash

        salt-run service.check '[cephfs]'
    """
    run = service_look.run(__opts__, services)
    if not run.steps:
        return {"text": NOTHING}
    taking = taking_part.among(__opts__, run.pillar["members"]["all"])
    told = None if test else service_look.told(__opts__, run, taking)
    try:
        cluster = None if test else _cluster(run, told)
    except ProposalError:
        cluster = None
    found = cluster[stage_look.CRUSH] if cluster else ceph.found(__opts__, test)
    if found is not None:
        for step in run.steps.values():
            pools.plan(step["pools"], found)
    look = cluster is not None and bool(stage_lock.own(__opts__)) and not service_look.lacking(run, cluster)
    replied = dict(told.replies) if told else service_look.hosts(__opts__, run, taking, look)
    if look:  # for the next step
        replied[stage_look.DIFFERING] = replied[stage_look.DIFFERING].of(stage_look.hosts(run.groups()))
    stage_look.keep(__opts__, stage_look.Look(cluster, replied) if look and cluster else None)
    running = replied[service_look.RUNNING].of(taking)
    problems = replies.lines(running.failed)
    if problems := problems + service_answers.problems(run.steps, running.answers, run.pillar["generation"]):
        return answer.bad("\n".join(problems))
    lines = [
        f"{', '.join(run.steps)}: can be brought up",
        *service_answers.left(run.chosen, run.steps, running.answers),
    ]
    return {"text": "\n".join(lines)}


@answer.answers
def up(services: str | Sequence[str] | None = None, test: bool = False) -> dict[str, Any]:
    """Bring services up, one after the other; what fails is named, and the others come up: a step of their stages.

    Of each: its pools, what it needs of the cluster, then its parts, each on all of its hosts side by side. What is
    there already stays as it is. Where nothing of all that is to be done, one look at all hosts says so.

    services
        Names such as ``[cephfs, radosgw]``; all where none is named.
    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run service.up '[cephfs]' test=True
    """
    if not test:
        stage_lock.free(__opts__)
    run = service_look.run(__opts__, services)
    if not run.steps:
        return {"text": NOTHING}
    differ = [] if test else _differ(run)
    if not test and not differ:
        return {"text": f"{len(stage_look.hosts(run.groups()))} hosts are as told: nothing changed"}
    stage_look.keep(__opts__, None)
    done = [_apply("keys", service_look.KEYS, run.master, test)]
    for service in run.wanted:
        done += _bring(service, run.steps[service.name], run.master, test)
    text = "\n".join([*([stage_look.LINE, *differ] if differ else []), *(part.text() for part in done)])
    more: dict[str, Any] = {"changes": {part.what: part.changes for part in done if part.changes}}
    more |= {"plan": [part.as_step() for part in done]} if test else {}
    if any(part.failed for part in done):
        return {"retcode": 1, "error": text, **more}
    return {"text": text, **more}


def _cluster(run: service_look.Run, told: early.Told | None) -> Mapping[str, Any]:
    """What the cluster has for services, as the stage's first step was told, or as it says now."""
    if told is None:
        return service_look.cluster(__opts__, run)
    (master,) = run.master
    answer: Mapping[str, Any] = told.replies[stage_look.TOGETHER].of([master]).whole()[master]
    return answer


def _differ(run: service_look.Run) -> list[str]:
    """What is not as services say, a line each: as ``check`` has just seen it in the same stage, or looked at now.

    Where the cluster lacks something, as before they first come up, no host need be looked at.
    """
    if seen := stage_look.kept(__opts__):
        return seen.differing()
    try:
        cluster = service_look.cluster(__opts__, run)
    except ProposalError as err:
        return [str(err)]
    return service_look.lacking(run, cluster) or stage_look.differing(__opts__, run.groups())


def _bring(service: Service, step: Mapping[str, Any], master: Sequence[str], test: bool) -> list[AppliedPart]:
    """What came of each part of a service. Its hosts are left as they are where the cluster lacks what it needs."""
    first = [
        (_pools, step["pools"]),
        (_commands, service.commands),
        (_on_master, service.on_master and step["cluster"]),
    ]
    done = []
    for bring in (bring for bring, planned in first if planned):
        done.append(bring(service, step, master, test))
        if done[-1].failed:
            return done
    parts = [part for part in service.parts if step["parts"].get(part)]
    return done + [
        _apply(
            f"{service.name}: {part}",
            service_look.sls(part),
            step["parts"][part],
            test,
            in_turns=part in service.in_turns,
        )
        for part in parts
    ]


def _pools(service: Service, step: Mapping[str, Any], _: Sequence[str], test: bool) -> AppliedPart:
    """Make the pools of a service that are missing."""

    def plan() -> list[list[str]] | None:
        found = ceph.found(__opts__, test)
        return None if found is None else pools.plan(step["pools"], found)[0]

    return _ceph(f"{service.name}: pools", test, plan)


def _on_master(service: Service, _: Mapping[str, Any], master: Sequence[str], test: bool) -> AppliedPart:
    """What the master's own host does to the cluster."""
    return _apply(service.name, service.on_master, master, test)


def _commands(service: Service, step: Mapping[str, Any], _: Sequence[str], test: bool) -> AppliedPart:
    """Give the cluster what else a service needs."""

    def plan() -> list[list[str]] | None:
        assert service.commands  # only such a service is asked for them
        try:
            found = jobs.cluster(__opts__, service_look.inspect(service))
        except ProposalError:
            if test:
                return None
            raise
        return list(service.commands(step["cluster"], found))

    return _ceph(f"{service.name}: cluster", test, plan)


def _ceph(what: str, test: bool, plan: Callable[[], Sequence[Sequence[str]] | None]) -> AppliedPart:
    """Run the commands that a plan makes of what is found; None in test mode where there is no cluster to ask yet."""
    try:
        commands = plan()
        if commands is None:
            return AppliedPart(what, answer=ceph.LATER)
        ran = ceph.run(__opts__, commands, test, "is as planned")
    except ProposalError as err:
        return AppliedPart(what, failed=[str(err)])
    return AppliedPart(what, changes=ran.get("changes", {}), answer=ran["text"])


def _apply(what: str, sls: str, hosts: Sequence[str], test: bool, in_turns: bool = False) -> AppliedPart:
    """Apply an SLS on minions, side by side in one job, or one after the other until one does not come back."""
    arguments = [sls, {"__kwarg__": True, "test": test}]
    turns = [[host] for host in hosts] if in_turns and not test else [list(hosts)]
    awake = taking_part.among(__opts__, hosts, limited=False)  # one that was silent from the beginning stops nobody
    told, left = replies.Replies({}, []), []
    for turn in turns:
        lost = any(problem.minion in awake for problem in told.problems)
        if lost or service_answers.applied(what, told.answers, []).failed:
            left += turn
            continue
        applied = jobs.ask(__opts__, turn, "state.apply", arguments, timeout=LIMIT)
        told.answers.update(applied.answers)
        told.problems.extend(applied.problems)
    problems = replies.lines(told.problems)
    problems += [f"{', '.join(left)}: left as they are, one after the other restarts"] if left else []
    return service_answers.applied(what, told.answers, problems, test)
