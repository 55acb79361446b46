"""What stands against taking a cluster apart. Nothing here asks anybody."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from proposals.text import names
from proposals.text.errors import ArgumentError
from proposals.text.notes import several

DESPITE = ("clients", "data")
OWN_POOLS = ("device_health_metrics", ".mgr")  # the managers' own: no user's data


def fsid(typed: object) -> str:
    """Return the fsid that was typed. Raises ArgumentError where it is none."""
    if isinstance(typed, str) and names.UUID.fullmatch(typed):
        return typed
    raise ArgumentError(f"fsid={names.shown(typed)}: expected the cluster's fsid, as 'ceph fsid' prints it")


def words(name: str, typed: object, known: Collection[str] | None = None) -> set[str]:
    """Return the words of an argument, with commas between. Raises ArgumentError for one that is not known."""
    found = {word.strip() for word in str(typed).split(",")} if typed else set()
    if known is not None and (wrong := sorted(found - set(known))):
        raise ArgumentError(f"{name}={names.shown(wrong[0])}{names.nearest(wrong[0], known)}")
    return found


def hosts(answers: Mapping[str, Mapping], fsid: str) -> Iterator[str]:
    """Yield a line for each host that says it is of another cluster.

    answers
        ``daemons_purge.look``'s, by minion.
    fsid
        The cluster that is meant.
    """
    for minion, seen in sorted(answers.items()):
        for place, told in (("its pillar", seen["pillar"]), ("its /etc/ceph/ceph.conf", seen["conf"])):
            if told not in (None, fsid):
                yield f"{minion}: {place} names cluster {names.shown(told)}, typed was {fsid}: nothing there is touched"


def cluster(seen: Mapping[str, Any] | None, silent: str, fsid: str, despite: Collection[str]) -> Iterator[str]:
    """Yield what the monitors have against it, a line each.

    seen
        ``cluster_purge.look``'s answer; None where no monitor answers, for the reason ``silent``.
    fsid
        The cluster that is meant.
    despite
        What the admin accepts, of ``DESPITE``.
    """
    if seen is None:
        if lacking := sorted(set(DESPITE) - set(despite)):
            yield (
                f"nobody knows whether clients are connected and what data there is ({silent}): where neither matters, "
                f"add despite={','.join(DESPITE)} (lacking: {', '.join(lacking)})"
            )
        return
    if seen["fsid"] != fsid:
        yield f"the monitors that answer are of cluster {names.shown(seen['fsid'])}, typed was {fsid}"
    if seen["clients"] and "clients" not in despite:
        clients = several([names.shown(each) for each in seen["clients"]], "more")
        yield f"clients are connected: {clients}: end them; where they may lose it, add despite=clients"
    if (full := data(seen)) and "data" not in despite:
        yield f"there is data: {'; '.join(full)}: it would be lost; where it may be, add despite=data"


def data(seen: Mapping[str, Any]) -> list[str]:
    """Return the pools in which anything is, but for the managers' own."""
    pools = [pool for pool in seen["pools"] if pool["name"] not in OWN_POOLS and pool["objects"]]
    return [f"pool {names.shown(pool['name'])}: {pool['objects']} objects, {pool['bytes']} bytes" for pool in pools]


def left(left: Collection[str], known: Collection[str], silent: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with the hosts that are left by name, and the silent ones that are not.

    left
        As typed.
    known
        The cluster's hosts.
    silent
        Those that do not answer.
    """
    for minion in sorted(set(left) - set(known)):
        yield f"left={names.shown(minion)}: no host of this cluster is called so"
    for minion in sorted((set(left) & set(known)) - set(silent)):
        yield f"left={minion}: it answers, so it can be taken apart: leave it out of left="
    for minion in sorted(set(silent) - set(left)):
        yield f"{minion} does not answer: start its salt-minion; where it is gone, or is to keep all, add left={minion}"
