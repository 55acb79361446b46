"""What discovery learns of all hosts together: which OSDs the cluster still has, which looks are old, the networks.

Nothing here opens a file or asks a minion.
"""

import ipaddress
from collections import Counter
from collections.abc import Iterable, Mapping

from proposals.text import addresses
from proposals.text.errors import ProposalError
from proposals.text.notes import FEW, several

DAY = 86400  # seconds
OLD = 7 * DAY  # disks come and go without a word: what was seen longer ago is named


def settle(hosts: Mapping[str, Mapping], states: Iterable[Mapping], fsid: str | None) -> None:
    """Tell each OSD on the disks what the cluster says of it: ``destroyed``, or ``orphan`` where it knows none such.

    A DB's and a WAL's own label hold no number: it comes from the cluster where the data disk is not there to say it.

    hosts
        Of the inventory; changed in place. The state of those in use stays, and of those that deploy has only begun.
    states
        ``cluster_osds.states``'s answer.
    fsid
        Our cluster's: OSDs of another one are not its to judge.
    """
    used = {one["fsid"]: one["id"] for one in states if one["state"] == "in-use"}
    given_up = {one["id"] for one in states if one["state"] == "destroyed"}
    for host in hosts.values():
        for osd in [osd for disk in host["ceph_disks"] for osd in disk["osds"]]:
            if osd["fsid"] in used and osd.get("id") is None:
                osd["id"] = used[osd["fsid"]]
            if osd["fsid"] not in used and osd.get("cluster") in (None, fsid) and not osd.get("begun"):
                osd["state"] = "destroyed" if osd.get("id") in given_up else "orphan"


def stale(
    minions: Iterable[str],
    hosts: Mapping[str, Mapping],
    boots: Mapping[str, str | None],
    looked: Mapping[str, float],
    now: float,
) -> list[str]:
    """Return which minions the inventory does not tell of as they are now, one line for each reason, in which of many
    hosts the number is told.

    minions
        Those that are asked about.
    hosts
        Of the inventory.
    boots
        The kernel's id of each minion's boot now, as far as it is known.
    looked, now
        When discovery last looked at each, and the time now: seconds since 1970.
    """
    there = [minion for minion in sorted(minions) if minion in hosts]
    reasons = {
        "not in the inventory": [minion for minion in sorted(minions) if minion not in hosts],
        "started anew since discovery looked": [
            minion for minion in there if boots.get(minion) and boots[minion] != hosts[minion].get("boot_id")
        ],
        f"looked at by discovery more than {OLD // DAY} days ago": [
            minion for minion in there if now - looked.get(minion, now) > OLD
        ],
    }
    return [f"{why}: {several(who, most=FEW)}: run ceph.stage.discovery" for why, who in reasons.items() if who]


def networks(
    hosts: Mapping[str, Mapping], master: str | None, known: Mapping[str, str | None] | None = None
) -> dict[str, str]:
    """Return ``{public_network, cluster_network}`` from the hosts' addresses.

    Public is the network that most hosts share with the master, cluster the one that most hosts share among
    those that the master is not in; without such a one, the public one too (DeepSea's users know this rule). An address
    that several hosts have counts once: bridges of Docker, Podman and libvirt have the same one on every host. IPv6
    counts where hosts share no IPv4.

    master
        The minion id of the master's own host, where it is one.
    known
        What the site says, or an earlier discovery, under the same names: taken where the hosts share no network, as
        where each has its own behind a router.
    Raises ProposalError where the hosts share no network, and none is known.
    """
    owners: dict[str, str] = {}
    for minion, each in sorted(hosts.items()):
        owners |= {ip: minion for ip in map(_ip, each["addresses"]) if ip not in owners}
    joined = ({_network(a) for a in each["addresses"] if owners[_ip(a)] == minion} for minion, each in hosts.items())
    shared = Counter(net for nets in joined for net in nets if net)
    # A bridge of containers on some host is no site of IPv4.
    version = min(
        (net.version for net in shared if shared[net] > 1), default=min((net.version for net in shared), default=4)
    )
    masters = {_network(address) for address in hosts.get(master or "", {}).get("addresses", [])}
    found = [net for net in shared if net.version == version]
    ranked = sorted(found, key=lambda net: (-shared[net], int(net.network_address), net.prefixlen))
    public = [net for net in ranked if net in masters] or ranked
    if not public and known and (told := known.get("public_network")):
        return {"public_network": told, "cluster_network": known.get("cluster_network") or told}
    if not public:
        raise ProposalError(
            "no host has an address in a network that others could share: give the hosts theirs, or set public_network "
            "in stack/ceph/cluster.yml"
        )
    private = [net for net in ranked if net not in masters and net != public[0] and shared[net] > 1]
    return {"public_network": str(public[0]), "cluster_network": str((private or public)[0])}


def _ip(address: str) -> str:
    return address.partition("/")[0]


def _network(address: str) -> addresses.Network | None:
    """The network of an address with prefix length; None for loopback and link-local ones, and those of one or two."""
    interface = ipaddress.ip_interface(address)
    few = interface.network.prefixlen > interface.max_prefixlen - 2
    return None if few or interface.is_loopback or interface.is_link_local else interface.network
