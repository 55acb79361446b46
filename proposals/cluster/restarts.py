"""Which daemons a restart would change: their hosts say what they run with, the monitors what is set for them."""

from collections.abc import Mapping, Sequence

from proposals.text.errors import InventoryError
from proposals.text.form import has

FORM = {"*": {"differs": {"*": [object]}, "told": {"*": str}, "answers": bool}}  # of daemons.settings


def waiting(daemons: object, startup: Sequence[Mapping]) -> dict[str, dict[str, list]]:
    """Return a host's daemons that a restart would change, with the options: ``{name: {option: [now, then]}}``.

    daemons
        The host's answer to ``daemons.settings``.
    startup
        ``cluster_config.startup``'s: centrally set options that are read at a daemon's start alone.

    Raises InventoryError for an answer of another form.
    """
    if not has(daemons, FORM):
        raise InventoryError("its answer is not of the form expected (daemons.settings): run ceph.stage.prep")
    found = {}
    for name, daemon in daemons.items():  # type: ignore[attr-defined]
        now, then = daemon["told"], _told(name, startup) if daemon["answers"] else {}
        told = {key: [now.get(key), value] for key, value in then.items() if now.get(key) != value}
        if differs := {**daemon["differs"], **told}:
            found[name] = differs
    return found


def _told(name: str, startup: Sequence[Mapping]) -> dict[str, str]:
    """What the monitors tell a daemon at its start: of an option in several sections that of the last, by its name.

    As ``ConfigMap::generate_entity_map`` (src/mon/ConfigMap.cc of Ceph) has it. Which daemons a mask is for is not
    known here: its options are left out.
    """
    parts = name.split(".")
    sections = ["global", *(".".join(parts[:count]) for count in range(1, len(parts) + 1))]
    rows = sorted(
        (row for row in startup if row["section"] in sections), key=lambda row: sections.index(row["section"])
    )
    masked = {row["name"] for row in rows if row["mask"]}
    return {row["name"]: row["value"] for row in rows if row["name"] not in masked}
