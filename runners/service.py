"""``salt-run service.*``: gateways, file systems, the dashboard, monitoring. Planned in ``proposals/services``."""

from proposals import answer
from proposals.cluster import pools
from proposals.services import service_answers
from proposals.services.table import named
from proposals.text.errors import ProposalError

LIMIT = 60  # seconds; a host that still works on its states then is waited for on, one that is gone is not
NOTHING = "no minion has a role of these services: nothing to do"


@answer.answers
def check(services=None, test=False):
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
    wanted, steps, told = _steps(services)
    if not steps:
        return {"text": NOTHING}
    found = __salt__["crush.known"](test)
    for step in steps.values() if found is not None else ():
        pools.plan(step["pools"], found)
    answered = __salt__["minions.ask"](told["members"]["all"], ["host_services.running"])
    problems = service_answers.problems(steps, answered, told["generation"])
    if problems:
        return answer.bad("\n".join(problems))
    lines = [f"{', '.join(steps)}: nothing stands against it", *service_answers.left(wanted, steps, answered)]
    return {"text": "\n".join(lines)}


@answer.answers
def up(services=None, test=False):
    """Bring services up, one after the other; what fails is named, and the others come up: a step of their stages.

    Of each: its pools, what it needs of the cluster, then its parts, each on all of its hosts side by side. What is
    there already stays as it is.

    services
        Names such as ``[cephfs, radosgw]``; all where none is named.
    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run service.up '[cephfs]' test=True
    """
    wanted, steps, told = _steps(services)
    if not steps:
        return {"text": NOTHING}
    done = [_apply("keys", "ceph.cluster.keys", told["members"]["master"], test)]
    for service in wanted:
        if service.name in steps:
            done += _bring(service, steps[service.name], told["members"]["master"], test)
    text = "\n".join(one.text() for one in done)
    changes = {one.what: one.changes for one in done if one.changes}
    if any(one.failed for one in done):
        return {"retcode": 1, "error": text, "changes": changes}
    return {"text": text, "changes": changes}


def _bring(service, step, master, test):
    """What came of each part of a service. Its hosts are left as they are where the cluster lacks what it needs."""
    first = [(_pools, step["pools"]), (_commands, service.commands), (_on_master, service.on_master)]
    done = []
    for bring in (each for each, asked in first if asked):
        done.append(bring(service, step, master, test))
        if done[-1].failed:
            return done
    parts = [part for part in service.parts if part in step["parts"]]
    return done + [
        _apply(f"{service.name}: {part}", f"ceph.service.{part}", step["parts"][part], test) for part in parts
    ]


def _pools(service, step, _master, test):
    """Make the pools of a service that are missing."""
    return _ceph(f"{service.name}: pools", test, lambda: pools.plan(step["pools"], __salt__["crush.known"](False))[0])


def _on_master(service, _step, master, test):
    """What the master's own host does to the cluster."""
    return _apply(service.name, service.on_master, master, test)


def _commands(service, step, _master, test):
    """Give the cluster what else a service needs."""
    return _ceph(
        f"{service.name}: cluster",
        test,
        lambda: list(service.commands(step["cluster"], __salt__["minions.cluster"](f"cluster_{service.name}.inspect"))),
    )


def _ceph(what, test, plan):
    """Run the commands that a plan makes of what is found."""
    try:
        answered = __salt__["crush.done"](plan(), test, "is as planned")
    except ProposalError as err:
        return service_answers.Done(what, failed=[str(err)])
    return service_answers.Done(what, changes=answered.get("changes", {}), said=answered["text"])


def _apply(what, sls, minions, test):
    """Apply an SLS on minions, side by side, in one job."""
    arguments = [[sls, {"__kwarg__": True, "test": test}]]
    answered = __salt__["minions.ask"](minions, ["state.apply"], arguments, timeout=LIMIT)
    return service_answers.applied(what, minions, answered)


def _steps(services):
    """The chosen services, what the master is told of those that anybody runs, and all that it is told."""
    told = __salt__["minions.pillar"]()["ceph"]
    __salt__["minions.members"]()  # says so where nothing is configured yet
    wanted = named(services)
    planned = told.get("services", {})
    return wanted, {one.name: planned[one.name] for one in wanted if one.name in planned}, told
