"""From what minions answered to the inventory: grains and inspection joined, the networks worked out.

Nothing here opens a file or asks a minion.
"""

import ipaddress
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from proposals.text.errors import InventoryError, ProposalError

TABLES = {"gpt", "PMBR", "dos"}
DAY = 86400  # seconds
OLD = 7 * DAY  # disks come and go without a word: what was seen longer ago is named
# What the inventory keeps of an OSD's part; begun: a slot without a label, of a deploy that was interrupted.
OSD = ("id", "fsid", "role", "size", "offset", "cluster", "format", "encryption", "begun")


def host(
    looked: Mapping,
    nics: list[Mapping],
    name: str,
    memory: int | None = None,
    boot: str | None = None,
    floating: Collection[str] = (),
) -> dict:
    """Return one host of the inventory (docs/reference/inventory.md) from what its minion answered.

    looked
        The answer of ``disks.inspect``: ``ceph_disks`` as the grain sees them, ``inspected`` by device, ``waiting``.
    nics
        The answer of ``host_nics.inspect``; all addresses in it, such as ``192.168.124.31/24``, are the host's.
    name
        The host name, which daemons carry.
    memory
        Bytes, where known.
    boot
        The kernel's id of this boot.
    floating
        Floating addresses of services: they never count as a host's own.
    Raises InventoryError where the answers are not of this form: a minion is not trusted in it.
    """
    _check(looked, nics)
    inspected = looked.get("inspected", {})
    disks = [_disk(disk, inspected.get(disk.get("device"), {})) for disk in looked["ceph_disks"]]
    _forget_begun(disks)
    _name_clusters(disks)
    found = {"ceph_disks_format": looked.get("ceph_disks_format"), "ceph_disks": disks}
    nics = [{**nic, "addresses": _own(nic["addresses"], floating)} if nic.get("addresses") else nic for nic in nics]
    addresses = sorted({each for nic in nics for each in nic.get("addresses") or () if _is_address(each)})
    known = {"hostname": name, "addresses": addresses, "memory": memory, "boot_id": boot}
    kept = {"waiting": looked["waiting"]} if looked.get("waiting") else {}
    return {**found, **kept, "ceph_nics": nics, **known}


def _check(looked: Any, nics: Any) -> None:
    """Raise InventoryError where a minion's answers are not of the form that the rest relies on."""
    inspected = looked.get("inspected", {}) if isinstance(looked, Mapping) else None
    listed: Any = looked.get("ceph_disks") if isinstance(looked, Mapping) else None
    forms = {
        "disks.inspect: 'ceph_disks', a list of disks": _mappings(listed) and all(map(_is_disk, listed)),
        "disks.inspect: 'inspected', what lies on each disk": isinstance(inspected, Mapping)
        and all(map(_is_content, inspected.values())),
        "host_nics.inspect: a list of ports with their addresses": _mappings(nics)
        and all(_texts(nic.get("addresses")) for nic in nics),
    }
    for form, holds in forms.items():
        if not holds:
            raise InventoryError(
                f"its answer is not of the form expected ({form}): run ceph.stage.prep, then look again"
            )


def _mappings(listed: object) -> bool:
    return isinstance(listed, list) and all(isinstance(entry, Mapping) for entry in listed)


def _texts(listed: object) -> bool:
    return listed is None or (isinstance(listed, list) and all(isinstance(entry, str) for entry in listed))


def _is_disk(disk: Mapping) -> bool:
    return isinstance(disk.get("device"), str) and _texts(disk.get("in_use"))


def _is_content(content: object) -> bool:
    return (
        isinstance(content, Mapping)
        and all(_texts(content.get(key)) for key in ("signatures", "groups"))
        and isinstance(content.get("partitions", 0), int)
        and _mappings(content.get("osds", []))
        and all(map(_is_part, content.get("osds", [])))
    )


def _is_part(osd: Mapping) -> bool:
    texts = all(isinstance(osd.get(key), str) for key in ("fsid", "role", "device"))
    return texts and all(osd.get(key) is None or isinstance(osd[key], int | str) for key in ("id", "cluster"))


def _own(addresses: Iterable[str], floating: Collection[str]) -> list[str]:
    return [each for each in addresses if str(each).partition("/")[0] not in floating]


def _is_address(text: str) -> bool:
    """Whether this is an address with prefix length that leads to the host; a minion is not trusted in it."""
    try:
        return not ipaddress.ip_interface(text).is_loopback
    except ValueError:
        return False


def _disk(disk: Mapping, content: Mapping) -> dict:
    """One disk with what lies on it: OSDs explain partitions and volume groups, other signatures are reasons."""
    in_use = list(disk.get("in_use") or [])
    if content.get("error"):
        in_use.append("does not answer")
    osds, held = content.get("osds", []), set(content.get("signatures") or [])
    explained = {osd["device"] for osd in osds} - {disk.get("device")}
    if osds and content.get("partitions", 0) <= len(explained):
        in_use = [reason for reason in in_use if reason != "has partitions"]
        held -= TABLES
    if "has partitions" in in_use:
        held -= TABLES
    if osds and content.get("groups") and not content.get("volumes"):
        in_use = [why for why in in_use if why not in {f"LVM member of {group}" for group in content["groups"]}]
        held -= {"LVM2_member"}
    in_use += [f"holds {kind}" for kind in sorted(held)]
    return {**disk, "in_use": in_use, "osds": [_osd(found) for found in osds]}


def _osd(found: Mapping) -> dict:
    """A label or logical volume in the inventory's words; its device stays out, names of partitions move."""
    return {key: found[key] for key in OSD if found.get(key) is not None}


def _forget_begun(disks: list[dict]) -> None:
    """Slots of OSDs without any label are no OSDs yet: the stored plan, which made them, says where they belong."""
    made = {osd["fsid"] for disk in disks for osd in disk["osds"] if not osd.get("begun")}
    for disk in disks:
        disk["osds"] = [osd for osd in disk["osds"] if osd["fsid"] in made]


def _name_clusters(disks: list[dict]) -> None:
    """DB and WAL labels name no cluster and no id: their data label, on the same host, does."""
    data = {osd["fsid"]: osd for disk in disks for osd in disk["osds"] if osd["role"] == "data"}
    for disk in disks:
        for osd in disk["osds"]:
            for key in ("id", "cluster"):
                if key not in osd and key in data.get(osd["fsid"], {}):
                    osd[key] = data[osd["fsid"]][key]


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
    """Return which minions the inventory does not tell of as they are now, one line for each reason.

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
    return [f"{why}: {', '.join(who)}: run ceph.stage.discovery" for why, who in reasons.items() if who]


def networks(hosts: Mapping[str, Mapping], master: str | None) -> dict[str, str]:
    """Return ``{public_network, cluster_network}`` from the hosts' addresses.

    Public is the network that most hosts share with the master, cluster the one that most hosts share among
    those that the master is not in; without such a one, the public one too (DeepSea's users know this rule).

    master
        The minion id of the master's own host, where it is one.
    Raises ProposalError where the hosts share no network.
    """
    shared = Counter(str(net) for each in hosts.values() for net in {_network(a) for a in each["addresses"]} if net)
    masters = {str(_network(address)) for address in hosts.get(master or "", {}).get("addresses", [])}
    ranked = sorted(shared, key=lambda net: (-shared[net], ipaddress.ip_network(net)))
    public = [net for net in ranked if net in masters] or ranked
    if not public:
        raise ProposalError("no host has an address: expected one IPv4 network that the hosts share")
    private = [net for net in ranked if net not in masters and net != public[0] and shared[net] > 1]
    return {"public_network": public[0], "cluster_network": (private or public)[0]}


def _network(address: str) -> ipaddress.IPv4Network | None:
    """The IPv4 network of an address with prefix length; None for loopback and link-local ones."""
    interface = ipaddress.ip_interface(address)
    if interface.version != 4 or interface.is_loopback or interface.is_link_local or interface.network.prefixlen > 30:
        return None
    return interface.network
