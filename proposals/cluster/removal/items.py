"""What leaves: what was served once and is no more, and what the cluster or a host still has of it."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

# Who needs another leaves before it: gateways before file systems, daemons of data before those that keep the maps.
ORDER = (
    *("rgw-frontend", "rgw", "ganesha", "igw", "client-cephfs", "client-radosgw", "rbd-mirror"),
    *("grafana", "alertmanager", "prometheus", "node-exporter"),
    *("mds", "osd", "mgr", "mon", "crash", "admin", "key"),
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


@dataclass(frozen=True)
class Wanted:
    """What the served generation names: its hosts, and every entity that the cluster is to know."""

    hosts: Hosts
    keys: Collection[str] = ()


def leaving(
    before: Hosts, wanted: Wanted, found: Found, made: Collection[str], gone: Collection[str] = ()
) -> list[Item]:
    """Return every ``Item`` that leaves, in the order in which it does.

    before
        What generations that were served named until now.
    wanted
        What the served one names.
    made
        The entities whose keys the master made: others' are never touched.
    gone
        The minions that are given up.
    """
    listed = [*_osds(before, wanted.hosts, found), *_parts(before, wanted, found)]
    held = {key for minion, part in _told(before) for key in before[minion]["parts"][part].get("keys", ())}
    listed += [
        Item("key", key)
        for key in found.keys
        if key in made and key not in wanted.keys and key not in held and not key.startswith(CORE)
    ]
    listed = [item._replace(given_up=item.minion in gone) for item in listed]
    return sorted(set(listed), key=lambda item: (ORDER.index(item.kind), item.minion, len(item.name), item.name))


def strangers(before: Hosts, wanted: Wanted, found: Found) -> list[str]:
    """Return the OSDs that no profile of ours ever named: they are left alone."""
    ours = {fsid for hosts in (before, wanted.hosts) for host in hosts.values() for fsid in host["osds"]}
    return [f"osd.{osd['id']}" for osd in found.osds if osd["fsid"] and osd["fsid"] not in ours]


def digest(items: Iterable[Item]) -> str:
    """Return the short hash by which a list is confirmed: the same list has the same, in whichever order it comes."""
    hashed = hashlib.sha256(json.dumps(sorted(map(list, items))).encode()).hexdigest()[:8]
    return hashed.translate(LETTERS)


def keys(items: Iterable[Item], before: Hosts, wanted: Collection[str]) -> list[str]:
    """Return the entities whose keys go with some items: those of their daemons, but none that is still wanted."""
    of = [
        key
        for item in items
        for key in ([item.name] if item.kind == "key" else _keys(before.get(item.minion, {}), item.kind))
    ]
    return sorted({key for key in of if key not in wanted and not key.startswith(CORE)})


def _keys(host: Mapping, part: str) -> Collection[str]:
    return host.get("parts", {}).get(part, {}).get("keys", ())


def _osds(before: Hosts, wanted: Hosts, found: Found) -> Iterator[Item]:
    """OSDs that a profile named and none names now; of a host that keeps none, also its destroyed ones."""
    planned = {fsid for host in wanted.values() for fsid in host["osds"]}
    known = {osd["fsid"]: osd["id"] for osd in found.osds if osd["fsid"]}
    for minion, host in before.items():
        left = found.hosts.get(minion, {}).get("osds", {})
        for fsid in set(host["osds"]) - planned:
            if (osd_id := known.get(fsid, left.get(fsid))) is not None:
                yield Item("osd", f"osd.{osd_id}", minion, fsid)
        if host["osds"] and not wanted.get(minion, {}).get("osds"):
            for osd in found.osds:
                if osd["state"] == "destroyed" and osd["host"] == host["hostname"]:
                    yield Item("osd", f"osd.{osd['id']}", minion)


def _parts(before: Hosts, wanted: Wanted, found: Found) -> Iterator[Item]:
    """Daemons and files of hosts that lost their role."""
    for minion, part in _told(before):
        told = before[minion]["parts"][part]
        if part in wanted.hosts.get(minion, {}).get("parts", {}):
            continue
        there = part in found.hosts.get(minion, {}).get("parts", ())
        there |= any(key in found.keys and key not in wanted.keys for key in told.get("keys", ()))
        there |= part == "mon" and bool(set(told["daemons"]) & set(found.monitors))
        if there:
            yield Item(part, ", ".join(f"{part}.{name}" for name in told.get("daemons", ())) or part, minion)


def _told(before: Hosts) -> Iterator[tuple[str, str]]:
    return ((minion, part) for minion, host in before.items() for part in host["parts"] if part in ORDER)
