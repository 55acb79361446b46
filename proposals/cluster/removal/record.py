"""What was confirmed and is under way, as the monitors keep it, so that the same command goes on after anything.

A list that shrinks is still the list that was confirmed: its hash stays. A list with anything new in it is another one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proposals.cluster.removal.items import Item, digest
from proposals.text.errors import InventoryError
from proposals.text.names import shown

KEY = "halocline/removal"  # in the monitors' key store


@dataclass(frozen=True)
class Record:
    """A removal that has begun: its hash, all that was confirmed, each OSD's CRUSH weight from before, the hosts that
    leave the CRUSH map once nothing is below them, and the fsids of OSDs with a weight here that are no items any more:
    None where an older version kept the weight, which told none.
    """

    hash: str
    items: tuple[Item, ...]
    weights: Mapping[str, float] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    others: Mapping[str, str | None] = field(default_factory=dict)

    def as_list(self) -> list:
        """It as the monitors keep it; lists, which take the least room."""
        items = [list(item) for item in self.items]
        return [self.hash, items, dict(self.weights), list(self.hosts), dict(self.others)]

    def own(self, weights: Mapping[str, float], fsids: Mapping[str, str]) -> dict[str, float]:
        """Return the weights of OSDs that the cluster has yet: a purged one's number may be another OSD's by now. One
        whose fsid nobody told is taken for the same where it has no weight, as a removal leaves it.

        Arguments as for ``begin``.
        """
        known: set[tuple[str, str | None]] = set(self.others.items()) | _osds(self.items)
        return {
            osd: weight
            for osd, weight in self.weights.items()
            if osd in fsids and ((osd, fsids[osd]) in known or ((osd, None) in known and weights.get(osd) == 0))
        }


def read(text: str | None) -> Record | None:
    """Return what the monitors keep; None where nothing is under way. Raises InventoryError for another form."""
    if text is None:
        return None
    try:
        name, items, weights, hosts, *others = json.loads(text)  # older ones do not tell the others
        kept = {osd: float(old) for osd, old in weights.items()}
        listed = tuple(Item(*item) for item in items)
        untold = dict.fromkeys(kept.keys() - dict(_osds(listed)))
        return Record(name, listed, kept, tuple(hosts), dict(*others) if others else untold)
    except (ValueError, TypeError, AttributeError) as err:
        raise InventoryError(
            f"the monitors keep at {KEY} what is no removal's record ({shown(err)}): look at 'ceph config-key get "
            f"{KEY}', give OSDs that it names their weights back, and remove it by 'ceph config-key rm {KEY}'"
        ) from err


def _osds(items: Iterable[Item]) -> set[tuple[str, str]]:
    """The OSDs of a list, each by its number, with its fsid."""
    return {(item.name.removeprefix("osd."), item.fsid) for item in items if item.kind == "osd"}


def goes_on(items: Sequence[Item], begun: Record | None) -> bool:
    """Whether a list is what is left of the one that was confirmed."""
    return begun is not None and set(items) <= set(begun.items)


def moving(begun: Record, weights: Mapping[str, float], fsids: Mapping[str, str]) -> bool:
    """Whether data has begun to leave: an OSD of the list that was confirmed has less weight than it had, or is gone.

    Arguments as for ``begin``.
    """
    gone = any(fsids.get(osd) != fsid for osd, fsid in _osds(begun.items))
    return gone or any(weights.get(osd, 0.0) < old for osd, old in begun.own(weights, fsids).items())


def name(items: Sequence[Item], begun: Record | None) -> str:
    """Return the hash by which a list is confirmed: that of the list which it is the rest of, else its own."""
    return begun.hash if begun is not None and goes_on(items, begun) else digest(items)


def fsids(states: Iterable[Mapping]) -> dict[str, str]:
    """Return the fsid of each OSD that the cluster has, by its number; empty for one that was destroyed.

    states
        ``cluster_osds.states``'s answer.
    """
    return {str(osd["id"]): osd["fsid"] or "" for osd in states}


def begin(
    items: Sequence[Item],
    weights: Mapping[str, float],
    fsids: Mapping[str, str],
    begun: Record | None,
    hosts: Mapping[str, str] | None = None,
) -> Record:
    """Return the record of a list that begins; weights that an earlier one kept are the true ones.

    weights
        ``{osd number: CRUSH weight}`` as they are now.
    fsids
        As the function of that name gives them.
    hosts
        The host names of minions that keep no OSD.
    """
    if begun is not None and goes_on(items, begun):
        return begun
    empty = {(hosts or {}).get(item.minion, "") for item in items if item.kind == "osd"} - {""}
    listed = Record(digest(items), tuple(items), weights, tuple(sorted({*empty, *(begun.hosts if begun else ())})))
    own, kept = listed.own(weights, fsids), begun.own(weights, fsids) if begun else {}
    return replace(listed, weights={**own, **kept}, others={osd: fsids[osd] for osd in kept if osd not in own})


def back(begun: Record, weights: Mapping[str, float], fsids: Mapping[str, str]) -> dict[str, float]:
    """Return the weights that calling it off gives back: of OSDs that the cluster still has, where they differ.

    Arguments as for ``begin``.
    """
    kept = begun.own(weights, fsids)
    return {osd: old for osd, old in sorted(kept.items()) if osd in weights and weights[osd] != old}
