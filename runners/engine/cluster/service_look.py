"""What services of a run need to know: which of them there are, what the cluster has for them, what hosts differ in."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from proposals.cluster import pools
from proposals.services import table
from proposals.services.service import Service
from proposals.stages.replies import Question, Replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.cluster import ceph
from runners.engine.looks import early, stage_look

RUNNING, KEYS = "host_services.running", "ceph.cluster.keys"


class Run(NamedTuple):
    """The services that were chosen; the master's pillar of those that hosts of the run have, and all of its pillar."""

    chosen: Sequence[Service]
    steps: Mapping[str, Mapping[str, Any]]
    pillar: Mapping[str, Any]

    @property
    def wanted(self) -> list[Service]:
        """Those that any host has."""
        return [service for service in self.chosen if service.name in self.steps]

    @property
    def master(self) -> list[str]:
        """The minion that asks the cluster, as hosts of an SLS."""
        return list(self.pillar["members"]["master"])

    def groups(self) -> list[stage_look.Group]:
        """All of their SLS, each with its hosts."""
        return [([KEYS], self.master), *(group for service in self.wanted for group in self._groups(service))]

    def _groups(self, service: Service) -> list[stage_look.Group]:
        step = self.steps[service.name]
        first = [([service.on_master], self.master)] if service.on_master and step["cluster"] else []
        return [*first, *(([sls(part)], step["parts"][part]) for part in service.parts if step["parts"].get(part))]

    def asked(self) -> dict[str, list]:
        """What the cluster is asked for them: functions with their arguments."""
        return {stage_look.CRUSH: [], **{inspect(service): [] for service in self.wanted if service.commands}}


def run(opts: Mapping, services: str | Sequence[str] | None = None) -> Run:
    """Return the services of a run. Raises PolicyError where nothing is configured yet.

    opts
        The master's options.
    services
        Their names; all where none is named.
    """
    pillar = minions.pillar(opts)["ceph"]
    minions.members(opts)  # says so where nothing is configured yet
    chosen, planned = table.named(services), pillar.get("services", {})
    steps = {service.name: _wanted(opts, planned[service.name]) for service in chosen if service.name in planned}
    return Run(chosen, {name: step for name, step in steps.items() if step}, pillar)


def _wanted(opts: Mapping, step: Mapping[str, Any]) -> dict[str, Any]:
    """A service's step with those of its hosts that the run is to change; empty where that is none of several."""
    parts = {part: taking_part.wanted(opts, hosts) for part, hosts in step["parts"].items()}
    return {**step, "parts": parts} if any(parts.values()) or not any(step["parts"].values()) else {}


def sls(part: str) -> str:
    """Return the SLS of a part of a service."""
    return f"ceph.service.{part}"


def inspect(service: Service) -> str:
    """Return the function that says what the cluster has for a service."""
    return f"cluster_{service.name}.inspect"


def cluster(opts: Mapping, of: Run) -> dict[str, Any]:
    """Return what the cluster has for services, seen at once. Raises ProposalError where it does not answer."""
    found: dict[str, Any] = jobs.cluster(opts, stage_look.TOGETHER, [of.asked()], dict)
    return found


def hosts(opts: Mapping, of: Run, taking: Sequence[str], look: bool) -> dict[str, Replies]:
    """Return what hosts run and, where that is looked at, in what they differ from what services say.

    opts
        The master's options.
    of
        The services.
    taking
        The hosts that take part.
    look
        Whether it is looked at.
    """
    questions = [Question(RUNNING)]
    questions += [Question(stage_look.DIFFERING, [of.groups(), {}], list)] if look else []
    asked = sorted({*taking, *(stage_look.hosts(of.groups()) if look else ())})
    return jobs.ask_apart(opts, asked, questions)


def told(opts: Mapping, of: Run, taking: Sequence[str]) -> early.Told | None:
    """Return the same and what the cluster has, as the first step of the running stage was told; None where it did not
    ask, or anything has changed since.
    """
    asked = {*taking, *stage_look.hosts(of.groups())}
    found = early.taken(opts, sorted(asked), RUNNING)
    return found if found and stage_look.TOGETHER in found.replies else None


def early_questions(opts: Mapping) -> tuple[list[Question], dict[str, list], list[stage_look.Group]]:
    """Return what a stage that begins asks for all services: hosts, and the cluster; and all SLS of theirs with their
    hosts. Nothing where that is not known, as their first step will say.
    """
    try:
        every = run(opts)
    except ProposalError:
        return [], {}, []
    return ([Question(RUNNING)], every.asked(), every.groups()) if every.steps else ([], {}, [])


def lacking(of: Run, found: Mapping[str, Any]) -> list[str]:
    """Return what the cluster lacks of services, a line each.

    found
        What it has.
    """
    try:
        todo = [each for step in of.steps.values() for each in pools.plan(step["pools"], found[stage_look.CRUSH])[0]]
        for service in of.wanted:
            if service.commands:
                todo += service.commands(of.steps[service.name]["cluster"], found[inspect(service)])
    except ProposalError as err:
        return [str(err)]
    return [ceph.typed(command) for command in todo]
