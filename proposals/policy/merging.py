"""Merging what policy.cfg selects into one pillar a minion, by the rules of Salt's ``stack``."""

from collections.abc import Iterable, Mapping
from typing import Any

from proposals.text.errors import PolicyError
from proposals.text.names import check_minion_id, shown

STRATEGY = "__"
STRATEGIES = ("merge-last", "merge-first", "overwrite", "remove")


def merge(documents: Iterable[dict]) -> dict:
    """One pillar of several: dicts merge, lists join without duplicates, of scalars the later wins.

    ``__: overwrite|remove|merge-first|merge-last`` in a dict, or as the first element of a list, says
    otherwise for that place, as in DeepSea. Raises PolicyError for an unknown strategy."""
    merged: dict = {}
    for document in documents:
        merged = _dicts(merged, document)
    return merged


def _dicts(old: dict, new: dict) -> dict:
    strategy = _known(new.get(STRATEGY, STRATEGIES[0]))
    values = {key: value for key, value in new.items() if key != STRATEGY}
    if strategy == "overwrite":
        return _clean(values)
    if strategy == "remove":
        return {key: value for key, value in old.items() if key not in values}
    merged = dict(old)
    for key, value in values.items():
        if key not in old:
            merged[key] = _clean(value)
        elif strategy == "merge-first":
            merged[key] = _values(_clean(value), old[key])
        else:
            merged[key] = _values(old[key], value)
    return merged


def _values(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return _dicts(old, new)
    if isinstance(old, list) and isinstance(new, list):
        return _lists(old, new)
    return _clean(new)


def _lists(old: list, new: list) -> list:
    strategy, values = STRATEGIES[0], new
    if new and isinstance(new[0], dict) and STRATEGY in new[0]:
        strategy, values = _known(new[0][STRATEGY]), new[1:]
    if strategy == "overwrite":
        return _clean(values)
    if strategy == "remove":
        return [value for value in old if value not in values]
    joined = [*_clean(values), *old] if strategy == "merge-first" else [*old, *_clean(values)]
    return [value for at, value in enumerate(joined) if value not in joined[:at]]


def _known(strategy: object) -> str:
    if strategy not in STRATEGIES:
        raise PolicyError(f"'__: {shown(strategy)}' is not a strategy; known are {', '.join(STRATEGIES)}")
    return strategy


def _clean(value: Any) -> Any:
    """``value`` without strategies, where there is nothing to merge it with."""
    if isinstance(value, dict):
        return {key: _clean(inner) for key, inner in value.items() if key != STRATEGY}
    if isinstance(value, list):
        first = value[0] if value else None
        inner = value[1:] if isinstance(first, dict) and STRATEGY in first else value
        return [_clean(one) for one in inner]
    return value


def minion(contents: Mapping[str, Mapping[str, dict]], minion_id: str) -> dict:
    """The pillar that policy.cfg selects for one minion; ``contents`` as ``policy.resolve`` gives them.

    Raises PolicyError, ArgumentError for a minion id that is none."""
    check_minion_id(minion_id)

    def documents(target: str) -> Iterable[dict]:
        return contents.get(target, {}).values()

    assigned = merge(documents(f"cluster/{minion_id}.sls"))
    merged = _dicts(merge(documents("stack/default/global.yml")), {})
    cluster, roles = assigned.get("cluster"), assigned.get("roles", [])
    if isinstance(cluster, str) and cluster != "unassigned":
        layers = [
            f"{cluster}/cluster.yml",
            *(f"{cluster}/roles/{role}.yml" for role in roles),
            f"{cluster}/minions/{minion_id}.yml",
        ]
        for layer in layers:
            for document in documents(f"stack/default/{layer}"):
                merged = _dicts(merged, document)
    return _dicts(assigned, merged)
