"""``salt-run minions.*``: which minions are ours."""

from runners.engine import answer
from runners.engine import minions as minions_


@answer.answers
def ours() -> list[str]:
    """Return the accepted minions that ``ceph_minions`` matches, sorted.

    CLI Example:

    .. code-block:: bash

        salt-run minions.ours
    """
    return minions_.ours(__opts__)
