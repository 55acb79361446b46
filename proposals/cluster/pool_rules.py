"""What the cluster's CRUSH rules and erasure-code profiles do, whatever their names say: others made some of them."""

from collections.abc import Mapping
from typing import NamedTuple

from proposals.text import form
from proposals.text.errors import InventoryError

PLACE = {"domain": str, "root": str, "class": str}
TOLD = {"rules": {"*": PLACE}, "profiles": {"*": {"k": int, "m": int, **PLACE}}}


class Place(NamedTuple):
    """What no two copies or parts share, and below which root, of which class (empty: any) their OSDs are."""

    domain: str
    root: str
    cls: str

    def __str__(self) -> str:
        return f"failure domain {self.domain}, root {self.root}{f', class {self.cls}' if self.cls else ''}"


class Code(NamedTuple):
    """An erasure-code profile: K data and M coding parts, and where they lie."""

    k: int
    m: int
    place: Place

    def __str__(self) -> str:
        return f"{self.k}+{self.m}, {self.place}"


def read(cluster: Mapping) -> tuple[dict[str, Place], dict[str, Code]]:
    """Return the rules and the profiles by name.

    cluster
        ``cluster_crush.inspect``'s answer. InventoryError where it tells but names, as modules from before prep do.
    """
    if not form.has(cluster, TOLD):
        raise InventoryError(
            "the cluster's answer is not of the form expected (cluster_crush.inspect): run ceph.stage.prep"
        )
    rules = {name: _place(rule) for name, rule in cluster["rules"].items()}
    return rules, {name: Code(told["k"], told["m"], _place(told)) for name, told in cluster["profiles"].items()}


def _place(told: Mapping[str, str]) -> Place:
    return Place(told["domain"], told["root"], told["class"])
