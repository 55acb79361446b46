"""What a stage's states would do on this host, seen in one run of them in Salt's test mode."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import halocline
import salt.loader

DAEMONS = "ceph.cluster.daemons"  # what brings daemons up
FOLDERS = [Path("/var/lib/ceph", kind) for kind in ("mon", "mgr", "osd")]  # where they keep what is theirs
OTHER = "the files that grains come from changed since Salt has read them"
BARE = "no daemon of Ceph's was ever here"


def differing(
    groups: Sequence[tuple[Sequence[str], Collection[str] | None]],
    pillar: Mapping[str, object] | None = None,
    waits: bool = True,
    anew: bool = False,
) -> list[str]:
    """Return what is not as the states of this host say, a line for each state; empty where all is. Changes nothing.

    A state that would change something or fails is one, one that warns too. What Salt says of an SLS that it cannot
    read is a line as well.

    groups
        Lists of SLS, each with the minions that they are for; None: for all.
    pillar
        More pillar for them.
    waits
        Whether it waits for states that run on this host; that they do is a line otherwise.
    anew
        Whether it looks too if files that grains come from (``_grains/grain_sources.py``) are as Salt has read them.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_states.differing '[[[ceph.cluster.osd], [osdnode1]]]'
    """
    own = [sls for sls, minions in groups if minions is None or __opts__["id"] in minions]
    wanted = list(dict.fromkeys(name for sls in own for name in sls))
    if DAEMONS in wanted and not any(path for folder in FOLDERS for path in folder.glob("*")):
        return [BARE]  # no need to ask each state
    read = salt.loader.grain_funcs(__opts__)["grain_sources.grain_sources"] if anew else dict
    if any(__grains__.get(name) != value for name, value in read().items()):
        return [OTHER]
    look = halocline.WAITED.set({})
    try:
        found = __salt__["state.sls"](wanted, test=True, queue=waits, pillar=dict(pillar or {})) if wanted else {}
    finally:
        halocline.WAITED.reset(look)
    if not isinstance(found, Mapping):
        return [str(line) for line in found]
    states = sorted(found.values(), key=lambda state: state["__run_num__"])
    return [
        f"{state.get('__id__') or state['name']}: {state['comment']}"  # without an id where its module is missing
        for state in states
        if state["result"] is not True or state["changes"] or state.get("warnings")
    ]
