"""Whose keys hosts and monitors hold, beside those of the master. Nothing here opens a file or asks a minion.

``held`` are ``host_keys.inspect``'s answers by minion: ``{place: {entity: hash}}``. Keys are compared by their hashes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proposals.text.errors import InventoryError
from proposals.text.names import shown

Held = Mapping[str, Mapping[str, str]]
MONITORS = "monitors"  # the place of what they answered
# What a cluster is known by: whoever has these has made it, or holds them for it.
CORE = ("mon.", "client.admin", "client.bootstrap-osd")
# Monitors make these themselves with their store (src/mon/AuthMonitor.cc of Ceph, _generate_bootstrap_keys), so until
# an OSD was made nobody has used them.
BOOTSTRAP = "client.bootstrap-"


@dataclass(frozen=True)
class Keys:
    """The master's, by hash: what it has, and what it had until ``secret.rotate`` made another."""

    known: Mapping[str, str] = field(default_factory=dict)
    earlier: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Against:
    """An entity whose key the master has not, or has otherwise, and where it is: paths or ``monitors``, by minion."""

    entity: str
    lacks: bool
    places: Mapping[str, Sequence[str]]


def check(answer: Mapping) -> Held:
    """Return an answer where it has the form of ``host_keys.inspect``'s. Raises InventoryError."""
    if all(
        isinstance(place, str)
        and isinstance(keys, Mapping)
        and all(isinstance(word, str) for pair in keys.items() for word in pair)
        for place, keys in answer.items()
    ):
        return answer
    raise InventoryError("its answer is not of the form expected (host_keys.inspect): run ceph.stage.prep")


def against(keys: Keys, held: Mapping[str, Held]) -> list[Against]:
    """Return every entity whose key on a host, or in the monitors, is none of the master's."""
    strange: dict[tuple[str, bool], dict[str, list[str]]] = {}
    for minion, places in sorted(held.items()):
        for place, entities in sorted(places.items()):
            for entity in _strange(keys, place, entities):
                lacks = entity not in keys.known
                strange.setdefault((entity, lacks), {}).setdefault(minion, []).append(place)
    return [Against(entity, lacks, where) for (entity, lacks), where in sorted(strange.items())]


def _strange(keys: Keys, place: str, entities: Mapping[str, str]) -> Iterator[str]:
    """The entities of a place whose keys are none of the master's.

    On hosts those alone by which a cluster is known: others' keyrings are others' business. Of the monitors also all
    that the master would register.
    """
    compared = {*CORE, *keys.known} if place == MONITORS else set(CORE)
    used = any(entity.startswith("osd.") for entity in entities)
    for entity in sorted(compared & entities.keys()):
        ours = {keys.known.get(entity), *keys.earlier.get(entity, ())}
        unused = place == MONITORS and entity.startswith(BOOTSTRAP) and not used
        if entities[entity] not in ours and not unused:
            yield entity
    if not entities and place != MONITORS and "mon." not in keys.known:
        yield "mon."  # a store without its key is a cluster's all the same


def where(found: Against) -> str:
    """Return places for a person: ``node1 /etc/ceph/ceph.client.admin.keyring, the monitors (node1)``."""
    texts = [
        f"the monitors ({minion})" if place == MONITORS else f"{minion} {shown(place, 120)}"
        for minion, places in found.places.items()
        for place in places
    ]
    return ", ".join(texts[:4]) + (f" and {len(texts) - 4} more places" if len(texts) > 4 else "")
