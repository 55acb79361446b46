"""``salt-run minions.*``: which minions are ours, and one job that asks them."""

import salt.client
import salt.pillar
import salt.utils.minions


def ours():
    """Return the accepted minions that ``ceph_minions`` matches, sorted.

    CLI Example:

    .. code-block:: bash

        salt-run minions.ours
    """
    return match(_ceph_minions())


def match(target):
    """Return the minions that a Salt compound match names, sorted.

    CLI Example:

    .. code-block:: bash

        salt-run minions.match 'osd*'
    """
    found = salt.utils.minions.CkMinions(__opts__).check_minions(target, "compound")
    return sorted(found["minions"])


def ask(minions, functions, arguments=None, timeout=60):
    """Run functions on minions in one job; return ``{minion: {function: answer}}`` of those that answered.

    minions
        A list of minion ids. Those that the running stage found silent when it began are not asked again.
    functions
        A list of function names.
    arguments
        For each function its list of arguments.
    timeout
        Seconds to wait for an answer.

    CLI Example:

    .. code-block:: bash

        salt-run minions.ask '[node1]' '[test.ping]'
    """
    arguments = arguments or [[] for _ in functions]
    asked = sorted(set(minions) - set(__salt__["stage_lock.silent"]()))
    if not asked:
        return {}
    with salt.client.get_local_client(mopts=__opts__) as client:
        found = client.cmd(asked, list(functions), arguments, tgt_type="list", timeout=timeout)
    return {minion: answer for minion, answer in found.items() if isinstance(answer, dict)}


def _ceph_minions():
    """The site's ``ceph_minions``, from the master's own pillar: one place for stages and runners."""
    own = salt.pillar.get_pillar(__opts__, {}, __opts__["id"], "base").compile_pillar()
    return own.get("ceph_minions", "*")
