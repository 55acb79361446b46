"""``salt-run crush.*``: where hosts stand in the CRUSH map."""

from typing import Any

from proposals.cluster import crush
from proposals.files import site
from proposals.inventory import kept
from runners.engine import answer, ceph, minions, taking_part


@answer.answers
def place(test: bool = False) -> dict[str, Any]:
    """Bring the storage hosts to the places that the site's ``crush_locations`` gives them; a step of the deploy stage.

    In ``<pillar_root>/ceph/stack/ceph/cluster.yml``: ``crush_locations: {'osdnode[12]': {rack: r1, row: a}}``.

    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run crush.place test=true
    """
    locations = minions.pillar(__opts__).get("crush_locations")
    if not locations:
        return {"text": "no host has a place of its own (crush_locations): nothing changed"}
    hosts = kept.load_inventory(site.site(__opts__).inventory)["hosts"]
    members = taking_part.among(__opts__, minions.members(__opts__)["storage"])
    storage = {minion: hosts[minion]["hostname"] for minion in members}
    planned = crush.locations(locations, storage)
    found = ceph.found(__opts__, test)
    if found is None:
        return {"text": ceph.LATER}
    commands = crush.commands(planned, found["tree"])
    return ceph.run(__opts__, commands, test, f"{len(planned)} hosts are at their crush_locations")
