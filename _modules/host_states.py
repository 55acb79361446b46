"""What a stage's states would do on this host, seen in one run of them in Salt's test mode."""

from collections.abc import Collection, Mapping, Sequence


def differing(
    groups: Sequence[tuple[Sequence[str], Collection[str]]], pillar: Mapping[str, object] | None = None
) -> list[str]:
    """Return what is not as the states of this host say, a line for each state; empty where all is. Changes nothing.

    A state that would change something or fails is one, one that warns too. What Salt says of an SLS that it cannot
    read is a line as well.

    groups
        Lists of SLS, each with the minions that they are for.
    pillar
        More pillar for them.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_states.differing '[[[ceph.cluster.osd], [osdnode1]]]'
    """
    wanted = [name for sls, minions in groups if __opts__["id"] in minions for name in sls]
    found = __salt__["state.sls"](wanted, test=True, queue=True, pillar=dict(pillar or {})) if wanted else {}
    if not isinstance(found, Mapping):
        return [str(line) for line in found]
    states = sorted(found.values(), key=lambda state: state["__run_num__"])
    return [
        f"{state['__id__']}: {state['comment']}"
        for state in states
        if state["result"] is not True or state["changes"] or state.get("warnings")
    ]
