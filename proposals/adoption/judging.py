"""Whether a cluster that others made can be taken in, what stands against it, and what is left as it is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proposals.adoption import conf as files
from proposals.adoption import serving
from proposals.adoption.found import Cluster, Host
from proposals.cluster.upgrade import versions
from proposals.pillar import conf, held, secrets
from proposals.settings import reader
from proposals.settings.cluster import NETWORKS
from proposals.text import addresses
from proposals.text.names import shown
from proposals.text.notes import several

RELEASES = versions.RELEASES[versions.RELEASES.index("nautilus") :]  # older ones have no whole `ceph config`
MSGR1 = "v1:"
ANOTHER = "it has keys of another cluster: move its folder keys/ away, where that cluster is gone for good"
MADE = (
    "a role in policy.cfg made configure make it: 'ceph auth get NAME -o FILE', then 'salt-run secret.take NAME FILE' "
    "gives the master the cluster's; then run it again"
)
RENAME = (
    "expected the host's own name, which deploy gives monitors: add one of that name beside it, wait for the quorum, "
    "then take the other out (docs.ceph.com, rados/operations/add-or-rm-mons)"
)


@dataclass(frozen=True)
class Known:
    """What the master knows: hashes of its keys, what discovery kept and saw, whether it deployed a cluster."""

    keys: held.Keys = field(default_factory=held.Keys)
    fsid: str | None = None
    deployed: bool = False
    networks: Mapping[str, object] = field(default_factory=dict)
    inventory: Mapping[str, Mapping] = field(default_factory=dict)


def members(hosts: Sequence[Host], cluster: Cluster) -> dict[str, list[str]]:
    """Return the minions of each role that is taken in: mon, mgr, mds, rgw, storage, admin."""
    of = {"mon": cluster.monitors, "mgr": cluster.managers}
    found = {role: [host.minion for host in hosts if host.hostname in names] for role, names in of.items()}
    found["mds"] = serving.servers(hosts, cluster)
    found["rgw"] = list(serving.gateways(hosts, cluster))
    found["storage"] = [host.minion for host in hosts if any(osd.fsid in cluster.osds for osd in host.osds)]
    found["admin"] = [host.minion for host in hosts if host.admin]
    return {role: sorted(minions) for role, minions in found.items()}


def old_protocol(cluster: Cluster) -> bool:
    """Whether its monitors speak the first version of Ceph's wire protocol alone."""
    return all(address.startswith(MSGR1) for addresses in cluster.monitors.values() for address in addresses)


def strangers(hosts: Sequence[Host], cluster: Cluster) -> list[Host]:
    """Return the clients of another cluster: nothing of theirs is this one's."""
    return [
        host
        for host in hosts
        if host.fsid not in (None, cluster.fsid) and not (host.daemons or host.osds or host.foreign)
    ]


def refusals(hosts: Sequence[Host], cluster: Cluster, known: Known) -> list[str]:
    """Return what stands against taking a cluster in, a line each with what to do; empty where nothing does."""
    strange = [*_own(cluster, known), *_foreign(hosts, cluster)]
    return [*strange, *_networks(cluster, known), *_monitors(hosts, cluster, known)]


def _own(cluster: Cluster, known: Known) -> Iterator[str]:
    """What the master has of another cluster, or of this one otherwise."""
    if known.fsid and known.fsid != cluster.fsid:
        yield (
            f"config/stack/default/ceph/cluster.yml has fsid {known.fsid}, the monitors have {cluster.fsid}: where no "
            "cluster of that fsid is left, move that file away and run ceph.stage.discovery"
        )
    if known.deployed:
        yield "this master has deployed a cluster already: a second one needs a master of its own"
    for name in ("mon.", "client.admin", "client.bootstrap-osd"):
        if name not in cluster.keys:
            yield f"the monitors have no {name}: make it there ('ceph auth get-or-create {name}'), then run it again"
    differ = [name for name, key in sorted(cluster.keys.items()) if secrets.digest(key) != known.keys.known.get(name)]
    if differ := [name for name in differ if name in known.keys.known]:
        same = known.keys.known.get("mon.") == secrets.digest(cluster.keys["mon."])
        why = MADE if same else ANOTHER
        yield f"{', '.join(differ)}: the master has another key than the cluster: expected none, or the same; {why}"
    if cluster.release not in RELEASES:
        yield (
            f"the cluster's OSDs are of release '{cluster.release}': expected one of {', '.join(RELEASES)}; upgrade "
            "an older one with the tools that made it first"
        )


def _foreign(hosts: Sequence[Host], cluster: Cluster) -> Iterator[str]:
    """What no adoption takes."""
    for host in hosts:
        yield from (f"{host.minion}: {line}: these are not taken over" for line in host.foreign)
        others = sorted({osd.cluster for osd in host.osds if osd.cluster not in (None, cluster.fsid)})
        if others:
            ids = several([f"osd.{osd.id}" for osd in host.osds if osd.cluster in others], "more")
            yield (
                f"{host.minion}: {ids} of another cluster ({', '.join(map(str, others))}) on the same host: one "
                "cluster a host is taken over; take the host out of ceph_minions, or the other cluster off it"
            )


def _networks(cluster: Cluster, known: Known) -> Iterator[str]:
    """Networks that deploy would write into the ceph.conf of new hosts, and that OSDs have otherwise."""
    public, own = (files.effective(cluster.conf, cluster.config, "osd", key) for key in NETWORKS)
    for key, text in zip(NETWORKS, (public, own or public), strict=True):
        listed = [addresses.around(word) for word in re.split(r"[\s,]+", text or "") if word]
        kept = known.networks.get(key)
        if kept and listed and None not in listed and addresses.network(kept) not in listed:
            yield (
                f"{key} of the OSDs is {shown(text)}, and that of new hosts would be {shown(kept)}: expected the same; "
                "correct it in config/stack/default/ceph/cluster.yml, or where stack/ceph/cluster.yml says so"
            )


def _monitors(hosts: Sequence[Host], cluster: Cluster, known: Known) -> Iterator[str]:
    """Monitors that deploy would not find again as they are."""
    for host in hosts:
        yield from (
            f"{host.minion}: mon.{name}: its host is {host.hostname}; {RENAME}"
            for name in host.daemons.get("mon", ())
            if name != host.hostname and name in cluster.monitors
        )
    carried = {host.hostname: host.minion for host in hosts}
    stores = {name for host in hosts for name in host.daemons.get("mon", ())}
    for name in sorted(set(cluster.monitors) - set(carried) - stores):
        yield f"mon.{name} runs on no minion that answers: accept or start its host's salt-minion, then run it again"
    if not members(hosts, cluster)["mgr"]:
        told = ", ".join(f"mgr.{name}" for name in cluster.managers) or "none"
        yield (
            f"no manager has its host's name (there is {told}): expected one, which deploy finds again: start one with "
            "its host's name (docs.ceph.com, mgr/administrator)"
        )
    yield from _addresses(carried, cluster, known)


def _addresses(carried: Mapping[str, str], cluster: Cluster, known: Known) -> Iterator[str]:
    """Monitors that listen elsewhere than deploy would say in ceph.conf."""
    mons = [carried[name] for name in sorted(cluster.monitors) if name in carried]
    settings = reader.read({**known.networks, conf.MSGR2: not old_protocol(cluster)})
    derived, problems = conf.derived(mons, known.inventory, settings)
    yield from problems
    for monitor in derived["monitors"]:
        planned = sorted(monitor["addrs"].strip("[]").split(","))
        there = sorted(cluster.monitors[monitor["name"]])
        if planned != there:
            yield (
                f"mon.{monitor['name']} listens on {', '.join(there)}: expected {', '.join(planned)}, its host's first "
                "address in public_network and Ceph's ports: correct public_network in "
                "config/stack/default/ceph/cluster.yml where that is what differs"
            )


def notes(hosts: Sequence[Host], cluster: Cluster) -> list[str]:
    """Return a line for each thing that stays as it is and that no stage looks after yet."""
    lines = []
    gateways = serving.gateways(hosts, cluster)
    for host in hosts:
        if left := [*_left(host, cluster, gateways), *host.services]:
            lines.append(f"{host.minion}: left as they are, no stage looks after them: {', '.join(left)}")
        strays = [osd for osd in host.osds if osd.fsid not in cluster.osds and osd.cluster in (None, cluster.fsid)]
        if strays:
            ids = several([f"{osd.fsid} (was osd.{osd.id})" for osd in strays], "more")
            lines.append(f"{host.minion}: OSDs that the cluster does not know any more: {ids}: left as they are")
    if far := serving.unseen(hosts, cluster):
        named = ", ".join(f"mds.{name}" for name in far)
        lines.append(f"{named}: on no minion that answers, or run without a unit: left as they are")
    there = {osd.fsid for host in hosts for osd in host.osds}
    if silent := sorted(osd_id for fsid, osd_id in cluster.osds.items() if fsid not in there):
        ids = several([f"osd.{osd_id}" for osd_id in silent], "more")
        lines.append(f"{ids}: on no minion that answers: left as they are; run it again when their hosts answer")
    clients = [name for name in cluster.others if not name.startswith("osd.")]
    if clients:
        lines.append(
            f"keys that stay the cluster's alone: {several(clients, 'more')}; 'salt-run secret.take' gives the master "
            "one that a service or ceph_keys is to have"
        )
    return lines


def _left(host: Host, cluster: Cluster, gateways: Mapping[str, int]) -> Iterator[str]:
    """A host's daemons that are not taken in, some with the reason."""
    kinds = {"mgr": cluster.managers, "mon": cluster.monitors}
    served = {"mds": serving.against(host, cluster), "radosgw": serving.against_gateways(host, cluster, gateways)}
    for kind, names in sorted(host.daemons.items()):
        for name in names:
            why = served.get(kind, {}).get(name)
            if why:
                yield f"{kind}.{name} ({why})"
            elif why is None and kind != "osd" and not (name == host.hostname and name in kinds.get(kind, ())):
                yield f"{kind}.{name}"
