"""Masters beside and above this one: what stages can work with, and what is refused (docs/concepts/masters.md)."""

from collections.abc import Mapping
from typing import TypeGuard

from proposals.stages.replies import Question
from proposals.text.errors import ProposalError
from proposals.text.names import shown
from proposals.text.notes import FEW, several

SETTING = "several_masters"
ACTIVE = Question("host_masters.active", kind=list)
BELOW = "run Halocline on the master that has their keys; where no syndic is below this one, take order_masters away"
ONE = "leave one in 'master' of the minion's configuration, or set 'master_type: failover', and restart salt-minion"
ALLOW = f"'{SETTING}: true' in ceph/site.sls says that none of the others runs Halocline"


def alone(order_masters: object) -> None:
    """Raise ProposalError on a master of masters.

    A job for a minion's id goes to every syndic too, and whoever has the same id behind one does it as well.

    order_masters
        The master's setting of that name.
    """
    if order_masters:
        raise ProposalError(
            "nobody was asked: this master is a master of masters ('order_masters: True'), and minions behind its "
            f"syndics would do what is asked of others of the same id here: {BELOW}"
        )


def several_active(answers: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the masters of each minion that may get jobs from several at the same time.

    answers
        What each minion answered to ``ACTIVE``; anything but a list of names, as from one without that
        module, is no answer.
    """
    listed = sorted((minion, answer) for minion, answer in answers.items() if _are_names(answer))
    return {minion: tuple(map(shown, masters)) for minion, masters in listed if len(masters) > 1}


def _are_names(answer: object) -> TypeGuard[list[str]]:
    return isinstance(answer, list) and all(isinstance(each, str) for each in answer)


def refuse(stage: str, active: Mapping[str, tuple[str, ...]]) -> None:
    """Raise ProposalError for minions that take jobs from several masters at once.

    stage
        Its name.
    active
        What ``several_active`` returned; not empty.
    """
    masters = ", ".join(sorted({master for each in active.values() for master in each}))
    raise ProposalError(
        f"stage {stage}: {several(list(active), most=FEW)}: takes jobs from several masters at once ({masters}), and a "
        f"stage on one does not see a stage on another: {ONE}; {ALLOW}"
    )
