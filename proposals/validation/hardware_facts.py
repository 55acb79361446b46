"""What one host told of its machine (``host_hardware.facts``), read at the edge as ``facts`` reads the rest."""

from collections.abc import Mapping
from dataclasses import dataclass

from proposals.text.errors import InventoryError
from proposals.text.form import has
from proposals.text.names import shown

FORMAT = 1
STATE = {"name": str, "state": str}
FORM: Mapping = {
    "boot": str,
    "threads": int,
    "governors": [str],
    "memory_errors": [{"where": str, "corrected": int, "uncorrected": int}],
    "firmware": [{"kind": str, "model": str, "version": str}],
    "raid": [{"tool": str, "model": str, "volumes": [STATE], "batteries": [STATE]}],
    "bonds": {"*": [str]},
    "neighbours": [{"port": str, "switch": str, "place": str, "about": str}],
    "failed": [str],
}


@dataclass(frozen=True)
class Hardware:
    """One host's machine. ``threads`` 0 and empty texts: not known, as in a container."""

    boot: str
    threads: int
    governors: list[str]
    memory_errors: list[Mapping]
    firmware: list[Mapping[str, str]]
    raid: list[Mapping]
    bonds: Mapping[str, list[str]]
    neighbours: list[Mapping[str, str]]
    failed: list[str]


def read(answer: object) -> Hardware:
    """Return what an answer tells of a machine. Raises InventoryError where it is none."""
    told = answer if isinstance(answer, Mapping) else {}
    wrong = [key for key, form in FORM.items() if not has(told.get(key), form)]
    if told.get("format") != FORMAT or wrong:
        what = ", ".join(wrong) or f"format {shown(told.get('format'))}"
        raise InventoryError(f"what it tells of its machine is not of the form expected: {what}")
    return Hardware(**{key: told[key] for key in FORM})
