"""What a pool has beside its copies and its rule: how the cluster tells each option, and the words that set it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from proposals.settings.pools import SET
from proposals.text.sizes import BINARY

QUOTA = "quota of "  # before what it counts
COMPRESSION = ("mode", "algorithm", "required_ratio")
OWN = {"pg_autoscale_bias": 1}  # what holds where a pool says nothing
OFF = ("off", "warn")  # where the autoscaler leaves the number of placement groups alone


class Option(NamedTuple):
    """One option as the site wants it: its name, its value, the end of ``ceph osd pool``, and what the pool has.

    ``has`` is asked of an entry of ``cluster_crush.inspect``'s pools; None where the pool says nothing of it.
    """

    name: str
    value: object
    words: list[str]
    has: Callable[[Mapping], object]


def wanted(pool: str, options: Mapping[str, Any]) -> Iterator[Option]:
    """Yield the options that the site names, in the order in which they are set.

    pool
        Its name.
    options
        Of the site's ``pools``, read.
    """
    if "min_size" in options:
        yield _set(pool, "min_size", options["min_size"], lambda there: there["min_size"])
    if "autoscale" in options:
        yield _set(pool, "pg_autoscale_mode", options["autoscale"], lambda there: there["pg_autoscale_mode"])
    if numbered(options):
        yield _set(pool, "pg_num", options["pg_num"], lambda there: there["pg_num"])
    for key in (row.key for row in SET if row.key in options):
        yield _set(pool, key, options[key], _option(key, options[key]))
    yield from _quotas(pool, options.get("quota", {}))
    for part in (part for part in COMPRESSION if part in options.get("compression", {})):
        key, value = f"compression_{part}", options["compression"][part]
        yield _set(pool, key, value, _option(key, value))
    if "nodelete" in options:
        yield _set(pool, "nodelete", options["nodelete"], lambda there: "nodelete" in there["flags"])


def numbered(options: Mapping[str, Any]) -> bool:
    """Return whether the site's number of placement groups holds: the autoscaler leaves it alone."""
    return "pg_num" in options and options.get("autoscale") in OFF


def _option(key: str, value: object) -> Callable[[Mapping], object]:
    """How a pool tells what it keeps among its ``options``: of what is not there, Ceph's own; 0 takes a number away."""
    return lambda there: there["options"].get(key, OWN.get(key, 0 if value == 0 else None))


def _set(pool: str, key: str, value: object, has: Callable[[Mapping], object]) -> Option:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return Option(key, value, ["set", pool, key, text], has)


def _quotas(pool: str, quota: Mapping[str, Any]) -> Iterator[Option]:
    """Quotas, which Ceph counts in bytes and objects; 0 is none."""
    if "bytes" in quota:
        number, unit = quota["bytes"][:-1], quota["bytes"][-1:].lower()
        limit = int(number) * BINARY[unit] if number else 0
        words = ["set-quota", pool, "max_bytes", str(limit)]
        yield Option(f"{QUOTA}bytes", limit, words, lambda there: there["quota_max_bytes"])
    if "objects" in quota:
        words = ["set-quota", pool, "max_objects", str(quota["objects"])]
        yield Option(f"{QUOTA}objects", quota["objects"], words, lambda there: there["quota_max_objects"])
