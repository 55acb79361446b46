"""Masters beside this one: what a stage can work with, and why it is refused otherwise (docs/concepts/masters.md)."""

from collections.abc import Mapping

from proposals.text.names import shown
from proposals.text.notes import FEW, several

SETTING = "several_masters"
MEND = (
    "leave one in 'master' of the minion's configuration, or set 'master_type: failover', and restart salt-minion; "
    f"'{SETTING}: true' in ceph/site.sls says that none of the others runs Halocline"
)
# A job for a minion's id goes to every syndic too, and whoever has the same id behind one does it as well.
ABOVE = (
    "this master is a master of masters ('order_masters: True'): minions behind its syndics would do what is asked of "
    "others of the same id here"
)
BELOW = "run Halocline on the master whose own minions the hosts are; without syndics, take order_masters away"


def several_active(answers: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the masters of each minion that may get jobs from several at the same time.

    answers
        What each minion answered to ``host_masters.active``; anything but a list, as from one without that module, is
        no answer.
    """
    listed = {minion: answer for minion, answer in answers.items() if isinstance(answer, list)}
    return {minion: tuple(map(shown, masters)) for minion, masters in sorted(listed.items()) if len(masters) > 1}


def refused(stage: str, active: Mapping[str, tuple[str, ...]]) -> str:
    """Return what a person reads where a stage is refused for minions with several active masters.

    stage
        Its name.
    active
        What ``several_active`` returned; not empty.
    """
    masters = ", ".join(sorted({master for each in active.values() for master in each}))
    return (
        f"stage {stage}: {several(list(active), most=FEW)}: takes jobs from several masters at once ({masters}), and a "
        f"stage on one does not see a stage on another: {MEND}"
    )
