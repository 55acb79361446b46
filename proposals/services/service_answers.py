"""Reads the hosts' answers while services start: blockers, changes, failures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch

from proposals.services import client_keys
from proposals.services.service import Service
from proposals.stages import plan_steps, replies
from proposals.text.names import shown
from proposals.text.notes import FEW, by_host, several

KEEPALIVED = "ceph-rgw-keepalived.service"  # moves the address of rgw_frontend among its hosts


@dataclass(frozen=True)
class AppliedPart:
    """One part of a service after it was applied."""

    what: str
    changes: Mapping[str, object] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    answer: str = ""
    warned: list[str] = field(default_factory=list)
    would: Mapping[str, list[dict]] | None = None  # in test mode: by minion, the states that would change or fail

    def text(self) -> str:
        """What a person reads of it."""
        return "\n".join(f"{self.what}: {line}" for line in self._lines())

    def as_step(self) -> dict[str, object]:
        """It as a step of a plan (``stages.plan_steps``)."""
        minions = {minion: states for minion, states in (self.would or {}).items() if states}
        return {"step": self.what, "comment": "\n".join(self._lines()), "fails": bool(self.failed), "minions": minions}

    def _lines(self) -> list[str]:
        if self.failed:
            return [*(f"FAILED: {line}" for line in self.failed), *self.warned]
        return [self.answer or self._changed(), *self.warned]

    def _changed(self) -> str:
        hosts = [minion for minion, states in (self.changes if self.would is None else self.would).items() if states]
        word = "changed" if self.would is None else "would change"
        return f"{several(sorted(hosts), most=FEW)} {word}" if hosts else f"nothing {word}"


def applied(
    what: str, answers: Mapping[str, Mapping[str, Mapping]], problems: Iterable[str], test: bool = False
) -> AppliedPart:
    """Return what came of ``state.apply`` on minions.

    answers
        By minion: the results of its states.
    problems
        What is wrong with the minions that gave no result, a line each.
    test
        Whether it was in test mode.
    """
    changes: dict[str, object] = {}
    wrong, warns = [], []
    for minion, states in sorted(answers.items()):
        wrong += [(minion, line) for line in replies.failures(states, test)]
        warns += [(minion, line) for state in states.values() for line in state.get("warnings", ())]
        if changed := {state["__id__"] for state in states.values() if state["changes"]}:
            changes[minion] = sorted(changed)
    failed, warned = [*problems, *by_host(wrong)], by_host(warns)
    if test:
        return AppliedPart(what, failed=failed, warned=warned, would=plan_steps.by_minion(answers))
    return AppliedPart(what, changes, failed, warned=warned)


def problems(steps: Mapping[str, Mapping], answers: Mapping[str, Mapping], generation: str) -> list[str]:
    """Return what stands against services on the hosts that answered: an old pillar, a port that another one holds, the
    gateways' address on a host that is to have it no more.

    steps
        What the master is told, by service.
    answers
        ``host_services.running`` of each host that answered.
    """
    lines = []
    for minion, running in sorted(answers.items()):
        if running["generation"] != generation:
            has = shown(running["generation"] or "none")
            lines.append(
                (minion, f"its pillar is of generation {has}, expected {generation}: run ceph.stage.configure again")
            )
        ports = {int(port): str(process) for port, process in running["ports"]}
        for name, step in steps.items():
            for port, process in step["ports"].get(minion, {}).items():
                names = process.split(" or ")  # a program has another name with each family
                holder = ports.get(int(port), names[0])
                if holder not in names:
                    said = f"port {port}, which {name} needs for {process}, is held by {shown(holder)}"
                    lines.append((minion, f"{said}: end that, or give the service another port"))
    return by_host(lines) + _addresses(steps, answers)


def _addresses(steps: Mapping[str, Mapping], answers: Mapping[str, Mapping]) -> list[str]:
    """Hosts that would keep the address of ``rgw_frontend`` beside those that get it: their keepalived knows no other
    peers than before.
    """
    hosts = steps.get("radosgw", {}).get("parts", {}).get("rgw-frontend", ())
    return [
        f"{minion}: {KEEPALIVED} runs, and rgw_frontend no longer means this host: its address would be on two hosts "
        "at once: run ceph.stage.removal first"
        for minion, running in sorted(answers.items())
        if hosts and minion not in hosts and KEEPALIVED in running["units"]
    ]


def left(wanted: Iterable[Service], steps: Mapping[str, Mapping], answers: Mapping[str, Mapping]) -> list[str]:
    """Return a line for each daemon that a host still runs without the role, which the stage removal takes away, and
    for each keyring that it has of a client without being named for it.
    """
    lines = []
    for service in wanted:
        parts = steps.get(service.name, {}).get("parts", {})
        for part, globs in service.units.items():
            for minion, running in sorted(answers.items()):
                for unit in running["units"] if minion not in parts.get(part, ()) else ():
                    if any(fnmatch(unit, glob) for glob in globs):
                        said = f"{shown(unit)} runs, and policy.cfg gives this host no role of it"
                        lines.append(
                            (minion, f"{said}: left alone; 'salt-run stage.plan removal' lists what would leave")
                        )
    return by_host(lines) + _keyrings(steps, answers)


def _keyrings(steps: Mapping[str, Mapping], answers: Mapping[str, Mapping]) -> list[str]:
    """Keyrings of ``ceph_keys`` on hosts that it does not name."""
    keys = steps.get("clients", {}).get("cluster", {}).get("keys", {})
    return by_host(
        (minion, f"{path} is there, and ceph_keys does not name this host for {entity}: left alone")
        for entity, hosts in keys.items()
        for minion, running in sorted(answers.items())
        if minion not in hosts and (path := client_keys.path(entity)) in running.get("keyrings", ())
    )
