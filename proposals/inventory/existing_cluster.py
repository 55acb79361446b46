"""What tells of a cluster that exists already: labels on disks, ceph.conf, monitors' stores, an admin's key.

``traces`` are ``host_ceph.inspect``'s answers by minion. Nothing here opens a file or asks a minion.
"""

import ipaddress
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from proposals.settings.cluster import NETWORKS
from proposals.text import names
from proposals.text.errors import InventoryError, ProposalError

CONF = "/etc/ceph/ceph.conf"


def check(trace: Mapping) -> Mapping:
    """Return one minion's answer where it has the form of ``host_ceph.inspect``'s. Raises InventoryError."""
    conf, monitors = trace.get("conf"), trace.get("monitors")
    if isinstance(conf, Mapping) and isinstance(monitors, Mapping) and all(isinstance(path, str) for path in monitors):
        return {"conf": conf, "monitors": monitors, "admin": trace.get("admin") is True}
    raise InventoryError(
        "its answer is not of the form expected (host_ceph.inspect: 'conf' and 'monitors'): run ceph.stage.prep"
    )


def cluster(
    hosts: Mapping[str, Mapping], traces: Mapping[str, Mapping], kept: str | None, retired: Collection[str] = ()
) -> tuple[str | None, list[str]]:
    """Return the fsid of the cluster that exists, None where nothing tells of one, and what is said of others.

    kept
        The fsid that discovery kept before. Where it is among those found it is ours, others are left alone.
    retired
        The fsids of clusters that were taken apart, and of those beside them (``ceph.purge``): none is ours any more.
    Raises ProposalError where another cluster than ours is found and none of ours, where there are two, or one
    without its fsid: we do not guess which one is ours.
    """
    places: dict[str, str] = {}
    for fsid, place in (*_labels(hosts), *_traces(traces)):
        places.setdefault(fsid, place)
    past = [
        f"of cluster {fsid}, which is not the one to make: {places.pop(fsid)}; it is left alone"
        for fsid in sorted(places.keys() & set(retired))
    ]
    where = [f"{fsid} ({place})" for fsid, place in sorted(places.items()) if fsid != kept]
    if kept in places:
        return kept, [f"another cluster's: {one}; it is left alone" for one in where] + past
    if kept and places:
        raise ProposalError(
            f"cluster {', '.join(where)} is found on the hosts, and {kept} was kept in config/stack/default/ceph/"
            "cluster.yml: expected the same. If the cluster found is the one to keep, move that file away; if not, "
            f"wipe its disks and move its {CONF} away"
        )
    if len(places) > 1:
        raise ProposalError(
            f"{len(places)} clusters are found: {', '.join(where)}; expected one. Wipe the disks of the one that is "
            f"gone and move its {CONF} away, or take its hosts out of ceph_minions"
        )
    stores = [f"{minion} {path}" for minion, trace in sorted(traces.items()) for path in sorted(trace["monitors"])]
    if stores and not places and not kept:
        raise ProposalError(
            f"there is a monitor's store ({names.shown(stores[0])}), and nothing tells of which cluster: expected its "
            f"fsid in {CONF} of that host. Put it back, or move the store away if that cluster is gone"
        )
    return next(iter(places), kept), past


def carries(host: Mapping, fsid: object) -> bool:
    """Whether a host of the inventory has an OSD of a cluster."""
    return any(osd.get("cluster") == fsid for disk in host.get("ceph_disks", ()) for osd in disk.get("osds", ()))


def _labels(hosts: Mapping[str, Mapping]) -> Iterator[tuple[str, str]]:
    for minion, host in sorted(hosts.items()):
        for disk in host["ceph_disks"]:
            for osd in disk["osds"]:
                if _is_fsid(osd.get("cluster")):
                    yield osd["cluster"], f"{minion} {names.shown(disk.get('id') or disk['device'])}"


def _traces(traces: Mapping[str, Mapping]) -> Iterator[tuple[str, str]]:
    for minion, trace in sorted(traces.items()):
        if _is_fsid(trace["conf"].get("fsid")):
            yield trace["conf"]["fsid"], f"{minion} {CONF}"
        for path, fsid in sorted(trace["monitors"].items()):
            if _is_fsid(fsid):
                yield fsid, f"{minion} {names.shown(path)}"


def _is_fsid(text: object) -> bool:
    return isinstance(text, str) and bool(names.UUID.fullmatch(text))


def networks(traces: Mapping[str, Mapping], fsid: str | None) -> dict[str, str] | None:
    """Return ``{public_network, cluster_network}`` as most ceph.conf of a cluster have them; None where none has.

    Without a cluster network Ceph uses the public one for all.
    """
    told = (_networks(trace["conf"]) for trace in traces.values() if fsid and trace["conf"].get("fsid") == fsid)
    counts = Counter(pair for pair in told if pair)
    most = max(counts.items(), key=lambda counted: (counted[1], counted[0]), default=None)
    return dict(zip(NETWORKS, most[0], strict=True)) if most else None


def configured(settings: Iterable[Mapping]) -> dict[str, str] | None:
    """The same from the cluster's own configuration, ``ceph config dump``'s rows: {section, name, value}."""
    told = {row["name"]: row["value"] for row in settings if row["section"] in ("global", "mon")}
    pair = _networks(told)
    return dict(zip(NETWORKS, pair, strict=True)) if pair else None


def _networks(settings: Mapping[str, str]) -> tuple[str, str] | None:
    try:
        public = ipaddress.ip_network(settings["public_network"], strict=False)
        cluster_ = ipaddress.ip_network(settings.get("cluster_network") or public, strict=False)
    except (KeyError, ValueError, TypeError):  # not set, or a list of networks: that is for the admin to write
        return None
    return str(public), str(cluster_)


def asker(traces: Mapping[str, Mapping], fsid: str | None) -> str | None:
    """The first minion that can ask this cluster: with its ceph.conf and the admin's key; None where there is none."""
    return next(
        (
            minion
            for minion, trace in sorted(traces.items())
            if fsid and trace["admin"] and trace["conf"].get("fsid") == fsid
        ),
        None,
    )
