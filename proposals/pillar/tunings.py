"""Which TuneD profile fits a host: by what runs there, and on what."""

from collections.abc import Iterable, Mapping

LATENCY = {"mon", "mgr", "mds", "igw"}  # and gateways, whose roles the site names


def profile(roles: Iterable[str], data: Iterable[str], gateways: Iterable[str]) -> str | None:
    """The profile of a host; None where nothing of ours runs that would gain by one.

    roles
        The host's roles.
    data
        The class of each of its data disks.
    gateways
        The roles of object gateways and NFS servers: the usual ones, and those that the site names.
    """
    classes = set(data)
    if "storage" in roles and classes:
        return "ceph-throughput" if "hdd" in classes else "ceph-flash"
    return "ceph-latency" if (LATENCY | set(gateways)) & set(roles) else None


def chosen(
    roles: Mapping[str, Iterable[str]],
    osds: Mapping[str, Mapping],
    hosts: Mapping[str, Mapping],
    gateways: Iterable[str],
) -> dict[str, str]:
    """The profile of each minion that gets one.

    osds
        The planned OSDs of each minion by data disk.
    hosts
        The inventory: whether a disk rotates is the disk's to say.
    gateways
        As ``profile`` takes them.
    """
    profiles = {}
    for minion, has in roles.items():
        rotates = {disk.get("id"): disk.get("rotational") for disk in hosts.get(minion, {}).get("ceph_disks", ())}
        planned = osds.get(minion, {})
        seen = [disk for disk in planned if disk in rotates] or planned  # one that is gone for now changes no profile
        classes = ["hdd" if rotates.get(disk, True) else "flash" for disk in seen]
        if name := profile(has, classes, gateways):
            profiles[minion] = name
    return profiles
