"""``salt-run mon.*``: the cluster's monitors. New ones come by policy.cfg, configure and deploy."""

from proposals import answer
from proposals.files.site import site
from proposals.inventory import kept
from proposals.text.errors import ArgumentError
from proposals.text.names import nearest, shown


@answer.answers
def remove(name):
    """Take a monitor out of the cluster that policy.cfg gives no role-mon any more; its store is moved aside.

    Refused while it is planned, or where the others would hold no quorum. A host that is lost does not have to answer.

    name
        The monitor's name: its host's.

    CLI Example:

    .. code-block:: bash

        salt-run mon.remove monnode3
    """
    known, name = __salt__["minions.cluster"]("cluster_mons.monitors"), str(name)
    if name not in known["names"]:
        raise ArgumentError(f"the cluster has no monitor '{shown(name)}'{nearest(name, known['names'])}")
    hosts = kept.load_inventory(site(__opts__).inventory)["hosts"]
    minion = next((minion for minion, host in hosts.items() if host.get("hostname") == name), None)
    if minion in __salt__["minions.members"]()["mon"]:
        return answer.bad(
            f"{name} has the role mon: take its line out of policy.cfg and run ceph.stage.configure first, "
            "or the next deploy would make it again"
        )
    left = __salt__["minions.cluster"]("cluster_mons.remove", [name])["names"]
    there = __salt__["minions.ask"]([minion], ["mon.retire"]) if minion else {}
    said = there.get(minion, {}).get("mon.retire", "its host does not answer: its store is still there")
    return {"text": f"mon.{name} is out of the map, left are {', '.join(left)}; {said}"}
