"""``salt-run stage.*``: what a stage asks of the minions as a whole."""

from proposals import answer


def present(stage, members=None, **_):
    """Ask every minion of a stage whether it is there; name those that are not.

    stage
        The stage's name, for the message.
    members
        The minions that it needs; without it, every minion of ours.

    CLI Example:

    .. code-block:: bash

        salt-run stage.present prep
    """
    expected = sorted(members) if members else __salt__["minions.ours"]()
    if not expected:
        return answer.bad(
            f"stage {stage}: no minion is ours: accept keys (salt-key), or look at ceph_minions in "
            "<pillar_root>/ceph/minions.sls"
        )
    answered = __salt__["minions.ask"](expected, ["test.ping"])
    silent = sorted(set(expected) - set(answered))
    if silent:
        return answer.bad(
            f"stage {stage}: {len(silent)} of {len(expected)} minions do not answer: {', '.join(silent)}; "
            "start their salt-minion, or take them out of policy.cfg (or ceph_minions), and run the stage again"
        )
    return {"text": f"{len(answered)} minions answer"}
