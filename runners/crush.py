"""``salt-run crush.*``: where hosts stand in the CRUSH map."""

import salt.pillar

from proposals import answer
from proposals.cluster import crush
from proposals.files.site import site
from proposals.inventory import kept
from proposals.text.errors import ProposalError

BEFORE = "looked at when the cluster runs"


@answer.answers
def place(test=False):
    """Bring the storage hosts to the places that the site's ``crush_locations`` gives them; a step of the deploy stage.

    In ``<pillar_root>/ceph/stack/ceph/cluster.yml``: ``crush_locations: {'osdnode[12]': {rack: r1, row: a}}``.

    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run crush.place test=true
    """
    own = salt.pillar.get_pillar(__opts__, {}, __opts__["id"], "base").compile_pillar()
    if not own.get("crush_locations"):
        return {"text": "no host has a place of its own (crush_locations): nothing changed"}
    hosts = kept.load_inventory(site(__opts__).inventory)["hosts"]
    storage = {minion: hosts[minion]["hostname"] for minion in __salt__["minions.members"]()["storage"]}
    wanted = crush.locations(own["crush_locations"], storage)
    found = __salt__["crush.known"](test)
    if found is None:
        return {"text": BEFORE}
    todo = crush.commands(wanted, found["tree"])
    return __salt__["crush.done"](todo, test, f"{len(wanted)} hosts stand where crush_locations has them")


def known(test):
    """Return ``cluster_crush.inspect``'s answer; ``None`` in test mode where there is no cluster to ask yet.

    CLI Example: for ``salt-run crush.place``.
    """
    try:
        return __salt__["minions.cluster"]("cluster_crush.inspect")
    except ProposalError:
        if test:
            return None
        raise


def done(todo, test, steady):
    """Run planned ``ceph`` commands, or in test mode say them; return a step's answer.

    CLI Example: for ``salt-run crush.place``.
    """
    words = [f"ceph {' '.join(command)}" for command in todo]
    if not todo:
        return {"text": f"{steady}: nothing changed"}
    if test:
        return {"text": "\n".join(["would run:", *words])}
    __salt__["minions.cluster"]("cluster_crush.apply", [todo])
    return {"text": "\n".join(words), "changes": {"ceph": words}}
