"""What hosts answer while services come up, read: what stands against it, what was done, what failed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch

from proposals.services.service import Service
from proposals.text.names import shown

RUNNING = "host_services.running"


@dataclass(frozen=True)
class Done:
    """One part of a service after it was applied."""

    what: str
    changes: Mapping[str, object] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    said: str = ""
    warned: list[str] = field(default_factory=list)

    def text(self) -> str:
        """What a person reads of it."""
        if self.failed:
            lines = [f"FAILED: {line}" for line in self.failed]
        else:
            changed = f"{', '.join(sorted(self.changes))} changed" if self.changes else "nothing changed"
            lines = [self.said or changed]
        return "\n".join(f"{self.what}: {line}" for line in [*lines, *self.warned])


def applied(what: str, minions: Iterable[str], answered: Mapping[str, Mapping]) -> Done:
    """Return what came of ``state.apply`` on minions.

    answered
        ``minions.ask``'s answer; who is not in it did not answer.
    """
    changes, failed, warned = {}, [], []
    for minion in sorted(minions):
        if minion not in answered:
            failed.append(f"{minion}: does not answer: look at its salt-minion, then run the stage again")
            continue
        states = answered[minion].get("state.apply")
        if not isinstance(states, dict):  # the SLS could not be rendered: Salt's own words
            said = "; ".join(map(str, states)) if isinstance(states, list) else str(states)
            failed.append(f"{minion}: {said.strip()}")
            continue
        failed += [
            f"{minion}: {one.get('__id__')}: {str(one.get('comment')).strip()}"
            for one in sorted(states.values(), key=lambda one: one["__run_num__"])
            if one["result"] is False and not one.get("comment", "").startswith("One or more requisite failed")
        ]
        warned += [f"{minion}: {line}" for one in states.values() for line in one.get("warnings", ())]
        if changed := {one["__id__"] for one in states.values() if one["changes"]}:
            changes[minion] = sorted(changed)
    return Done(what, changes, failed, warned=warned)


def problems(steps: Mapping[str, Mapping], answered: Mapping[str, Mapping], generation: str) -> list[str]:
    """Return what stands against services on the hosts that answered: an old pillar, a port that another one holds.

    steps
        What the master is told, by service.
    answered
        ``host_services.running`` of each host that answered.
    """
    found = []
    for minion, given in sorted(answered.items()):
        running = _running(given)
        if running is None:
            found.append(f"{minion}: {shown(given.get(RUNNING))}: run ceph.stage.prep again")
            continue
        if running["generation"] != generation:
            has = shown(running["generation"] or "none")
            found.append(
                f"{minion}: its pillar is of generation {has}, expected {generation}: run ceph.stage.configure again"
            )
        ports = {int(port): str(process) for port, process in running["ports"]}
        for name, step in steps.items():
            for port, process in step["ports"].get(minion, {}).items():
                names = process.split(" or ")  # a program has another name with each family
                holder = ports.get(int(port), names[0])
                if holder not in names:
                    found.append(
                        f"{minion}: port {port}, which {name} needs for {process}, is held by {shown(holder)}: end "
                        "that, or give the service another port"
                    )
    return found


def left(wanted: Iterable[Service], steps: Mapping[str, Mapping], answered: Mapping[str, Mapping]) -> list[str]:
    """Return a line for each daemon that a host still runs without the role: removal is the admin's own step."""
    lines = []
    for service in wanted:
        parts = steps.get(service.name, {}).get("parts", {})
        for part, globs in service.units.items():
            for minion, given in sorted(answered.items()):
                running = _running(given)
                for unit in running["units"] if running and minion not in parts.get(part, ()) else ():
                    if any(fnmatch(unit, glob) for glob in globs):
                        lines.append(
                            f"{minion}: {shown(unit)} runs, and policy.cfg gives this host no role of it: left alone"
                        )
    return lines


def _running(given: Mapping) -> Mapping | None:
    """What a host said that it runs; None where it said something else."""
    running = given.get(RUNNING)
    return running if isinstance(running, dict) else None
