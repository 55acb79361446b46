"""Ways out are tried before they are told: whoever types one gets what it promises, and no other host loses by it."""

from collections import Counter
from collections.abc import Mapping

from proposals.disks import arguments, hostplan
from proposals.disks.arguments import DiskArguments
from proposals.disks.shape import DB, Shape
from proposals.disks.values import HostPlan
from proposals.text.errors import ProposalError
from proposals.text.notes import Note, Way

FEW, MANY = 4, 400  # of different arguments so many are tried on all kinds of hosts, at least and times kinds

Typed = tuple[tuple[str, object], ...]


class Trials:
    """Plans the hosts of an answer (``plans``, by shape) with other arguments than the admin's, ``typed``."""

    def __init__(self, plans: Mapping[Shape, HostPlan], typed: DiskArguments) -> None:
        self.plans, self.typed = plans, typed
        self.harm = dict.fromkeys(self._rare(), True)
        self.parsed: dict[Typed, DiskArguments | None] = {}

    def notes(self, shape: Shape) -> tuple[Note, ...]:
        """The notes of a host of this shape, with those ways out alone that keep their promise."""
        return tuple(self._kept(shape, note) if note.ways else note for note in self.plans[shape].notes)

    def _rare(self) -> list[Typed]:
        """Arguments that few kinds of hosts would gain by, where there are too many to try each on all hosts."""
        ways = (
            way.typed for plan in self.plans.values() for note in plan.notes for group in note.ways for way in group
        )
        counts = Counter(typed for typed in ways if typed)
        return [typed for typed, _ in counts.most_common()[max(FEW, MANY // len(self.plans)) :]]

    def _kept(self, shape: Shape, note: Note) -> Note:
        first = (next((way for way in group if self._helps(shape, note, way)), None) for group in note.ways)
        return note._replace(ways=tuple((way,) for way in first if way))

    def _helps(self, shape: Shape, note: Note, way: Way) -> bool:
        if self.harm.get(way.typed):
            return False
        plan = self._plan(shape, way)
        if plan is None or plan.roles.count("data") < note.disks or any(one.kind == note.kind for one in plan.notes):
            return False
        return not way.typed or not self._harms(way.typed)

    def _harms(self, typed: Typed) -> bool:
        """Whether a host refuses ``typed``, or would have fewer data disks."""
        if typed not in self.harm:
            self.harm[typed] = len(self.plans) > 1 and any(self._loses(shape, typed) for shape in self.plans)
        return self.harm[typed]

    def _loses(self, shape: Shape, typed: Typed) -> bool:
        plan = self._plan(shape, Way("", typed))
        return plan is None or plan.roles.count("data") < self.plans[shape].roles.count("data")

    def _plan(self, shape: Shape, way: Way) -> HostPlan | None:
        """The plan with what ``way`` asks for and without a stored one; None where it is refused."""
        if way.typed not in self.parsed:
            try:
                self.parsed[way.typed] = arguments.parse({**self.typed.typed, **dict(way.typed)})
            except ProposalError:
                self.parsed[way.typed] = None
        changed = self.parsed[way.typed]
        if changed is None:
            return None
        disks = [*shape.disks, *(shape.disks[at]._replace(reason=None) for at in way.more)]
        for name, value in way.typed:
            if name == "db":  # class=CLASS
                cls = str(value).removeprefix("class=")
                disks = [one._replace(mask=one.mask | DB if one.cls == cls else one.mask & ~DB) for one in disks]
        try:
            return hostplan.plan(shape._replace(disks=tuple(disks), pinned=(), layout=None), changed)
        except ProposalError:
            return None


def told(plans: Mapping[Shape, HostPlan], typed: DiskArguments) -> dict[Shape, tuple[Note, ...]]:
    """The notes of every shape of ``plans``, which were made with the arguments ``typed``."""
    trials = Trials(plans, typed)
    return {shape: trials.notes(shape) for shape in plans}
