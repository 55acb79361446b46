"""New OSDs of a cluster with data: those that will come, those that wait for data, and how a person is told.

Nothing here asks the cluster.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from proposals.cluster import moves
from proposals.cluster.crush import ROOT
from proposals.cluster.removal.items import Item, digest
from proposals.settings.pools import TYPES
from proposals.text.notes import by_name, several
from proposals.text.sizes import TIB

WAIT = "'salt-run osd.fill' says how much would move, and gives it to them"
DRAINED = "one that was drained by hand ('ceph osd crush reweight') looks like a new one: 'ceph osd out' leaves it out"


class New(NamedTuple):
    """An OSD that is planned and does not exist: its host's name in the CRUSH map, its weight, its device class."""

    host: str
    weight: float
    cls: str


def coming(
    osds: Mapping[str, Mapping[str, Mapping]], hosts: Mapping[str, Mapping], states: Sequence[Mapping]
) -> list[New]:
    """Return the planned OSDs that the cluster does not have, but none that takes a destroyed one's number.

    Such a one gets its data back as a repair, by the weight that its number kept.

    osds
        By minion the planned OSDs by data disk.
    hosts
        The minions as discovery saw them.
    states
        ``cluster_osds.states``'s answer.
    """
    known = {osd["fsid"] for osd in states}
    destroyed = Counter(osd["host"] for osd in states if osd["state"] == "destroyed")
    found: list[New] = []
    for minion, disks in sorted(osds.items()):
        seen, name = hosts.get(minion, {}), hosts.get(minion, {}).get("hostname", minion)
        entries = {disk.get("id"): disk for disk in seen.get("ceph_disks", ())}
        new = [
            New(name, _weight(osd, entries.get(disk, {})), _class(osd, entries.get(disk, {})))
            for disk, osd in sorted(disks.items())
            for fsid in osd.get("uuids") or ()
            if fsid not in known
        ]
        found += new[destroyed[name] :]
    return found


def minions(osds: Mapping[str, Mapping[str, Mapping]]) -> dict[str, str]:
    """Return the minion of each planned OSD, by its fsid; ``osds`` as for ``coming``."""
    return {fsid: minion for minion, disks in osds.items() for osd in disks.values() for fsid in osd.get("uuids") or ()}


def _weight(osd: Mapping, disk: Mapping) -> float:
    """As an OSD weighs itself: TiB of its data and its DB (src/osd/OSD.cc, src/os/bluestore/BlueStore.cc)."""
    return round(((disk.get("size") or 0) / len(osd["uuids"]) + (osd.get("db_size") or 0)) / TIB, 5)


def _class(osd: Mapping, disk: Mapping) -> str:
    fast = "nvme" if str(disk.get("device", "")).startswith("/dev/nvme") else "ssd"
    return str(osd.get("class") or ("hdd" if disk.get("rotational") else fast))


def edits(
    new: Iterable[New], states: Iterable[Mapping], places: Mapping[str, Mapping[str, str]]
) -> tuple[list[list[str]], dict[str, str]]:
    """Return what new OSDs do to the CRUSH map, as words for ``crushtool``, and their device classes by number.

    places
        ``crush_locations`` by host name.
    """
    free = _free({osd["id"] for osd in states})
    words: list[list[str]] = []
    devices: dict[str, str] = {}
    for osd in new:
        number = str(next(free))
        place = places.get(osd.host, {})
        above = [("host", osd.host), *((kind, place[kind]) for kind in TYPES if kind in place)]
        above.append(("root", place.get("root", ROOT)))
        loc = [word for pair in above for word in ("--loc", *pair)]
        words.append(["--add-item", number, str(osd.weight), f"osd.{number}", *loc])
        devices[number] = osd.cls
    return words, devices


def _free(taken: set[int]) -> Iterator[int]:
    """Numbers as the monitors give them: the lowest that is free."""
    return (number for number in itertools.count() if number not in taken)


def waiting(planned: Mapping[str, str], states: Iterable[Mapping]) -> list[Item]:
    """Return the OSDs that get no data yet: of ours, running, without a weight in the CRUSH map.

    planned
        Each planned OSD's minion, by its fsid.
    """
    return [
        Item("osd", f"osd.{osd['id']}", planned[osd["fsid"]], osd["fsid"])
        for osd in sorted(states, key=lambda osd: osd["id"])
        if osd["fsid"] in planned and osd["weight"] == 0 and osd["up"] and osd["in"]
    ]


def starting(planned: Mapping[str, str], states: Iterable[Mapping], hosts: Collection[str]) -> list[str]:
    """Return the OSDs that some minions have made and that never came up, by name: they start now.

    planned
        As for ``waiting``.
    hosts
        The minions.
    """
    return sorted(
        f"osd.{osd['id']}" for osd in states if osd["new"] and not osd["up"] and planned.get(osd["fsid"]) in hosts
    )


def absent(planned: Mapping[str, str], states: Iterable[Mapping]) -> list[str]:
    """Return the minions of planned OSDs that do not run yet, sorted."""
    running = {osd["fsid"] for osd in states if osd["up"]}
    return sorted({minion for fsid, minion in planned.items() if fsid not in running})


def goes_on(begun: Mapping) -> str:
    """Return what is said of a fill that was interrupted, with its flag still set; ``begun`` has its ``hash``."""
    return f"osd.fill was interrupted, goes on by: salt-run osd.fill confirm={begun['hash']}"


def listed(items: Sequence[Item]) -> list[str]:
    """Return a line for each host of OSDs that wait; of many hosts one for all."""
    by_minion: dict[str, list[str]] = {}
    for item in items:
        by_minion.setdefault(item.minion, []).append(item.name)
    told = ((minion, names, "") for minion, names in sorted(by_minion.items()))
    return by_name(told, "  {who}: {count}: {names}", noun="OSD")


def movers(told: Mapping) -> list[str]:
    """Return what else moves data: the balancer, the autoscaler; and how fast recovery is allowed to be.

    told
        ``cluster_fill.movers``'s answer.
    """
    on = f"on ({told['balancer']['mode']}): it moves more afterwards" if told["balancer"]["active"] else "off"
    scaled = [f"{pool['name']} {pool['now']} -> {pool['then']}" for pool in told["autoscaler"]]
    changes = f"would change {', '.join(scaled)}, which moves data too" if scaled else "would change no pool"
    return [
        f"balancer: {on}",
        f"autoscaler: {changes}",
        f"recovery: osd_max_backfills {told['backfills']}, osd_recovery_max_active {told['active']} (0: by the disk)",
    ]


def plan(items: Sequence[Item], found: Mapping, told: Mapping, absent: Sequence[str]) -> list[str]:
    """Return what is said before OSDs get data.

    found
        ``cluster_moves.estimate``'s answer.
    absent
        Minions with planned OSDs that do not run.
    """
    lines = [f"get data, in one movement (hash {digest(items)}):", *listed(items), *moves.lines(found), *movers(told)]
    if absent:
        lines.append(f"not all is there: OSDs of {several(list(absent))} do not run; when they come, data moves again")
    return [*lines, DRAINED, f"to do it: salt-run osd.fill confirm={digest(items)}"]
