"""What was confirmed and is under way, as the monitors keep it, so that the same command goes on after anything.

A list that shrinks is still the list that was confirmed: its hash stays. A list with anything new in it is another one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proposals.cluster.removal.items import Item, digest
from proposals.text.errors import InventoryError
from proposals.text.names import shown

KEY = "halocline/removal"  # in the monitors' key store


@dataclass(frozen=True)
class Record:
    """A removal that has begun: its hash, all that was confirmed, each OSD's CRUSH weight from before, and the hosts
    that leave the CRUSH map once nothing is below them.
    """

    hash: str
    items: tuple[Item, ...]
    weights: Mapping[str, float] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()

    def as_list(self) -> list:
        """It as the monitors keep it; lists, which take the least room: they have 64 KiB for a value."""
        return [self.hash, [list(item) for item in self.items], dict(self.weights), list(self.hosts)]


def read(text: str | None) -> Record | None:
    """Return what the monitors keep; None where nothing is under way. Raises InventoryError for another form."""
    if text is None:
        return None
    try:
        name, items, weights, hosts = json.loads(text)
        kept = {osd: float(old) for osd, old in weights.items()}
        return Record(name, tuple(Item(*item) for item in items), kept, tuple(hosts))
    except (ValueError, TypeError, AttributeError) as err:
        raise InventoryError(
            f"the monitors keep at {KEY} what is no removal's record ({shown(err)}): look at 'ceph config-key get "
            f"{KEY}', give OSDs that it names their weights back, and remove it by 'ceph config-key rm {KEY}'"
        ) from err


def goes_on(items: Sequence[Item], begun: Record | None) -> bool:
    """Whether a list is what is left of the one that was confirmed."""
    return begun is not None and set(items) <= set(begun.items)


def name(items: Sequence[Item], begun: Record | None) -> str:
    """Return the hash by which a list is confirmed: that of the list which it is the rest of, else its own."""
    return begun.hash if begun is not None and goes_on(items, begun) else digest(items)


def begin(
    items: Sequence[Item], weights: Mapping[str, float], begun: Record | None, hosts: Mapping[str, str] | None = None
) -> Record:
    """Return the record of a list that begins; weights that an earlier one kept are the true ones.

    weights
        ``{osd number: CRUSH weight}`` as they are now.
    hosts
        The host names of minions that keep no OSD.
    """
    if begun is not None and goes_on(items, begun):
        return begun
    kept = dict(begun.weights) if begun else {}
    numbers = {item.name.removeprefix("osd.") for item in items if item.kind == "osd"}
    own = {osd: weight for osd, weight in weights.items() if osd in numbers}
    empty = {(hosts or {}).get(item.minion, "") for item in items if item.kind == "osd"} - {""}
    return Record(
        digest(items), tuple(items), {**own, **kept}, tuple(sorted({*empty, *(begun.hosts if begun else ())}))
    )


def back(begun: Record, weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights that calling it off gives back: of OSDs that the cluster still has, where they differ."""
    return {osd: old for osd, old in sorted(begun.weights.items()) if osd in weights and weights[osd] != old}
