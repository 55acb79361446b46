"""Which TuneD profile fits a host: by what runs there, and on what."""

from collections.abc import Iterable, Mapping

LATENCY = {"mon", "mgr", "mds", "rgw", "igw", "ganesha"}


def profile(roles: Iterable[str], data: Iterable[str]) -> str | None:
    """The profile of a host; None where nothing of ours runs that would gain by one.

    roles
        The host's roles; gateways that the site names count as ``rgw`` or ``ganesha`` do.
    data
        The class of each of its data disks.
    """
    classes = set(data)
    if "storage" in roles and classes:
        return "ceph-throughput" if "hdd" in classes else "ceph-flash"
    return "ceph-latency" if LATENCY & set(roles) else None


def chosen(
    roles: Mapping[str, Iterable[str]], osds: Mapping[str, Mapping], hosts: Mapping[str, Mapping]
) -> dict[str, str]:
    """The profile of each minion that gets one.

    osds
        The planned OSDs of each minion by data disk.
    hosts
        The inventory: whether a disk rotates is the disk's to say.
    """
    found = {}
    for minion, has in roles.items():
        rotates = {disk["id"]: disk.get("rotational") for disk in hosts.get(minion, {}).get("ceph_disks", ())}
        classes = ["hdd" if rotates.get(disk, True) else "flash" for disk in osds.get(minion, {})]
        if name := profile(has, classes):
            found[minion] = name
    return found
