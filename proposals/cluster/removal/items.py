"""What leaves: what was served once and is no more, and what the cluster or a host still has of it."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

# Who needs another leaves before it: gateways before file systems, daemons of data before those that keep the maps.
ORDER = (
    *("rgw-frontend", "rgw", "ganesha", "igw", "client-cephfs", "client-radosgw", "client-keys", "rbd-mirror"),
    *("dashboard-access", "openstack", "grafana", "alertmanager", "prometheus", "node-exporter"),
    *("mds", "osd", "bootstrap-osd", "mgr", "mon", "crash", "admin", "key"),
)
# Every cluster has these, whoever is what.
CORE = ("mon.", "client.admin", "client.bootstrap-", "client.crash", "osd.")
# Of a hash: letters alone, which no shell and no YAML takes for a number, and no vowels, so that no word comes out.
LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")
Hosts = Mapping[str, Mapping]  # by minion: {hostname, osds: [fsid], parts: {part: {daemons, keys}}}


class Item(NamedTuple):
    """One thing that leaves: its kind (of ``ORDER``), its name, the minion that has it, of an OSD its fsid.

    ``given_up``: its host is gone for good, by the admin's word.
    """

    kind: str
    name: str
    minion: str = ""
    fsid: str = ""
    given_up: bool = False


@dataclass(frozen=True)
class Found:
    """What is there.

    osds
        ``cluster_osds.states``'s answer.
    monitors
        The names in the monitors' map.
    keys
        The entities that the cluster knows.
    hosts
        By minion that answered: ``{parts: [part], osds: {fsid: number}}``, what is left of what it once was.
    """

    osds: Collection[Mapping] = ()
    monitors: Collection[str] = ()
    keys: Collection[str] = ()
    hosts: Hosts = field(default_factory=dict)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each OSD, by its fsid."""
        return {osd["fsid"]: osd["id"] for osd in self.osds if osd["fsid"]}

    @cached_property
    def destroyed(self) -> list[Mapping]:
        """The OSDs that were destroyed."""
        return [osd for osd in self.osds if osd["state"] == "destroyed"]

    @cached_property
    def entities(self) -> frozenset[str]:
        """The keys, to look some up."""
        return frozenset(self.keys)


@dataclass(frozen=True)
class Wanted:
    """What the served generation names: its hosts, and every entity that the cluster is to know."""

    hosts: Hosts
    keys: Collection[str] = ()


def candidates(before: Hosts, wanted: Hosts) -> dict[str, dict]:
    """Return what each host was once and is no more: ``{minion: {parts: {part: {daemons, keys}}, osds: [fsid]}}``.

    before
        What generations that were served named until now.
    wanted
        What the served one names.
    """
    planned = {fsid for host in wanted.values() for fsid in host["osds"]}
    lost = {}
    for minion, host in before.items():
        now = wanted.get(minion, {}).get("parts", {})
        held = {key for known in now.values() for key in known.get("keys", ())}
        parts = {part: _lost(known, now.get(part), held) for part, known in host["parts"].items() if part in ORDER}
        parts = {part: known for part, known in parts.items() if known is not None}
        osds = [fsid for fsid in host["osds"] if fsid not in planned]
        if parts or osds:
            lost[minion] = {"parts": parts, "osds": osds}
    return lost


def leaving(
    before: Hosts, wanted: Wanted, found: Found, made: Collection[str], gone: Collection[str] = ()
) -> list[Item]:
    """Return every ``Item`` that leaves, in the order in which it does: a candidate of which something is there.

    before
        As for ``candidates``.
    wanted
        What the served generation names.
    made
        The entities whose keys the master made: others' are never touched.
    gone
        The minions that are given up.
    """
    listed: list[Item] = []
    ours, stay = set(made), set(wanted.keys)
    for minion, lost in candidates(before, wanted.hosts).items():
        listed += _osds(minion, lost["osds"], before[minion], wanted.hosts.get(minion), found)
        listed += _parts(minion, lost["parts"], stay, found)
    held = {key for host in before.values() for known in host["parts"].values() for key in known.get("keys", ())}
    listed += [
        Item("key", key)
        for key in found.keys
        if key in ours and key not in stay and key not in held and not key.startswith(CORE)
    ]
    listed = [item._replace(given_up=item.minion in gone) for item in listed]
    return sorted(set(listed), key=lambda item: (ORDER.index(item.kind), item.minion, len(item.name), item.name))


def strangers(before: Hosts, wanted: Wanted, osds: Iterable[Mapping]) -> list[str]:
    """Return the OSDs that no profile of ours ever named: they are left alone."""
    ours = {fsid for hosts in (before, wanted.hosts) for host in hosts.values() for fsid in host["osds"]}
    return [f"osd.{osd['id']}" for osd in osds if osd["fsid"] and osd["fsid"] not in ours]


def digest(items: Iterable[Item]) -> str:
    """Return the short hash by which a list is confirmed: the same list has the same, in whichever order it comes."""
    hashed = hashlib.sha256(json.dumps(sorted(map(list, items))).encode()).hexdigest()[:8]
    return hashed.translate(LETTERS)


def told(item: Item, before: Hosts) -> dict:
    """Return what a host was told of the part that leaves: of several gateways or keyrings, of those that do."""
    known = before.get(item.minion, {}).get("parts", {}).get(item.kind, {})
    return dict(known) if called(item) >= set(members(known)[1]) else _of(known, called(item))


def members(known: Mapping) -> tuple[str, list[str]]:
    """Return what a part of a host has several of, as ``(key, names)``: keyrings of clients, else daemons."""
    key = "clients" if "clients" in known else "daemons"
    return key, list(known.get(key, ()))


def called(item: Item) -> set[str]:
    """Return the names, without their kind, of the daemons or clients that an item is."""
    return {name.removeprefix(f"{item.kind}.") for name in item.name.split(", ")}


def past(before: Hosts, wanted: Hosts, listed: Iterable[Item], answered: Collection[str]) -> list[Item]:
    """Return the candidates of which nothing is there any more, as somebody took it away by hand.

    before, wanted
        As for ``candidates``.
    listed
        What leaves.
    answered
        The minions that said what they still have: of others nothing is known.
    """
    here = {(item.minion, item.fsid or item.kind) for item in listed}
    gone: list[Item] = []
    for minion, lost in candidates(before, wanted).items():
        if minion in answered:
            gone += [Item("osd", "", minion, fsid) for fsid in lost["osds"] if (minion, fsid) not in here]
            parts = [part for part in lost["parts"] if (minion, part) not in here]
            gone += [Item(part, _name(part, lost["parts"][part]), minion) for part in parts]
    return gone


def keys(items: Iterable[Item], before: Hosts, wanted: Collection[str]) -> list[str]:
    """Return the entities whose keys go with some items: those of their daemons, but none that is still wanted."""
    of = [key for item in items for key in ([item.name] if item.kind == "key" else told(item, before).get("keys", ()))]
    return sorted({key for key in of if key not in wanted and not key.startswith(CORE)})


def _lost(known: Mapping, now: Mapping | None, held: Collection[str]) -> dict | None:
    """A part as its host was told of it once, as far as it is no more; None where all of it still is.

    A client's keyring that by now is a daemon's there (``held``) is the same file, and stays.
    """
    names = members(known)[1]
    stay = {*held, *members(now or {})[1]}
    if now is None and not stay & set(names):
        return dict(known)
    lost = [name for name in names if name not in stay]
    return _of(known, lost) if lost else None


def _of(known: Mapping, names: Collection[str]) -> dict:
    """Of a part with several daemons or keyrings, some."""
    keys = [key for key in known.get("keys", ()) if key.partition(".")[2] in names]
    return {**known, members(known)[0]: sorted(names), "keys": keys}


def _osds(minion: str, lost: Collection[str], host: Mapping, now: Mapping | None, found: Found) -> Iterator[Item]:
    """OSDs that no profile names now; of a host that keeps none, also its destroyed ones."""
    left = found.hosts.get(minion, {}).get("osds", {})
    for fsid in lost:
        if (osd_id := found.numbers.get(fsid, left.get(fsid))) is not None:
            yield Item("osd", f"osd.{osd_id}", minion, fsid)
    if lost and not (now and now["osds"]):
        for osd in found.destroyed:
            if osd["host"] == host["hostname"]:
                yield Item("osd", f"osd.{osd['id']}", minion)


def _parts(minion: str, lost: Mapping[str, Mapping], wanted: Collection[str], found: Found) -> Iterator[Item]:
    """Daemons and files of which the host, or the cluster, still has something."""
    for part, known in lost.items():
        there = part in found.hosts.get(minion, {}).get("parts", ())
        there |= any(key in found.entities and key not in wanted for key in known.get("keys", ()))
        there |= part == "mon" and bool(set(known["daemons"]) & set(found.monitors))
        if there:
            yield Item(part, _name(part, known), minion)


def _name(part: str, known: Mapping) -> str:
    """An item's name: of its daemons as Ceph calls them, of clients their own."""
    key, names = members(known)
    return ", ".join(names if key == "clients" else [f"{part}.{name}" for name in names]) or part
