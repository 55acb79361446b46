"""Who has to answer before a stage begins, and what is said of those who do not."""

from collections.abc import Callable, Collection, Mapping, Sequence

from proposals.text.errors import ArgumentError
from proposals.text.names import shown

NEEDS = ("all", "answering", "policy")


def needed(needs: str, expected: Collection[str], targets: Callable[[], Mapping[str, Sequence[str]]]) -> set[str]:
    """Return the minions that have to answer.

    needs
        ``all``: every minion; ``policy``: those that policy.cfg gives a role; ``answering``: none by name.
    expected
        The minions that the stage addresses.
    targets
        Resolves policy.cfg, where that matters: ``{target: files that it is merged of}``.

    Raises ArgumentError for another word.
    """
    if needs not in NEEDS:
        raise ArgumentError(f"needs={shown(needs)}: expected one of {', '.join(NEEDS)}")
    if needs != "policy":
        return set(expected) if needs == "all" else set()
    chosen = targets()
    return {
        minion
        for minion in expected
        if any(not file.startswith("cluster-") for file in chosen.get(f"cluster/{minion}.sls", ()))
    }


def missing(stage: str, silent: Sequence[str], expected: Sequence[str]) -> str:
    """Return what a person reads where minions do not answer that have to.

    silent, expected
        Both sorted.
    """
    if silent == expected:
        return f"stage {stage}: no minion answers, of {len(expected)}: is salt-master running? Is their salt-minion?"
    return (
        f"stage {stage}: {len(silent)} of {len(expected)} minions do not answer: {', '.join(silent)}; "
        "start their salt-minion, or take them out of policy.cfg (or ceph_minions), and run the stage again"
    )
