"""An existing pool that is to be as the site says: the commands, what they would move, and what stands against them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from proposals.cluster import pool_options
from proposals.cluster.pools import SAFE, Pool
from proposals.text.errors import PolicyError
from proposals.text.notes import counted
from proposals.text.sizes import rounded


@dataclass(frozen=True)
class Change:
    """What brings a pool to what the site says.

    commands
        In their order; empty where it is so.
    edits
        What they do to the CRUSH map, as words for ``crushtool``.
    then
        What decides where its data lies, as it would be: ``{rule, size, pg_num}``, of these what changes.
    min_size
        How many copies clients would need, where that changes.
    """

    commands: tuple[list[str], ...]
    edits: tuple[list[str], ...]
    then: Mapping[str, object]
    min_size: int | None


def change(pool: Pool, there: Mapping) -> Change:
    """Return how an existing pool comes to what the site says.

    pool
        As the site has it.
    there
        Its entry of ``cluster_crush.inspect``.

    Raises PolicyError for what no pool changes, for one copy alone, and where a rule of the name that it needs places
    otherwise.
    """
    if fixed := pool.fixed(there):
        raise PolicyError(
            f"pool {pool.name}: {fixed[0]}, and Ceph changes that of no pool: make another one, copy what is in it, "
            "then give it that name ('ceph osd pool rename')"
        )
    wrong, size = pool.placed(there), pool.options.get("size", there["size"])
    if wrong and pool.code:
        raise PolicyError(
            f"pool {pool.name}: {wrong[0]}, and an erasure-coded pool keeps its rule: make another one, copy what is "
            "in it, then give it that name ('ceph osd pool rename')"
        )
    todo: list[list[str]] = []
    edits: list[list[str]] = []
    then: dict[str, object] = {}
    if wrong:
        pool.sure()
        rule, command = pool.rule()
        if rule not in pool.rules:
            todo.append(command)
            edits.append(_edit(command))
        todo.append(["osd", "pool", "set", pool.name, "crush_rule", rule])
        then["rule"] = rule
    if size != there["size"]:
        if size < SAFE:
            raise PolicyError(
                f"pool {pool.name}: size {size} leaves one copy alone, which goes with its disk: expected 2 or more"
            )
        todo.append(["osd", "pool", "set", pool.name, "size", str(size)])
        then["size"] = size
    least = _min_size(pool, there, size)
    if "size" in then and "min_size" not in pool.options:
        todo.append(["osd", "pool", "set", pool.name, "min_size", str(least)])
    # Ceph refuses a least number above what there is, and a number below the least one.
    fewest = pool.options.get("pg_num_min", 0)
    if fewest > there["pg_num"] and not pool_options.numbered(pool.options):
        then["pg_num"] = fewest
        todo.append(["osd", "pool", "set", pool.name, "pg_num", str(fewest)])
    last = "pg_num" if fewest and fewest <= there["pg_num"] else ""
    for option in sorted(pool_options.wanted(pool.name, pool.options), key=lambda option: option.name == last):
        # of another size Ceph makes another min_size too, as if none had been set
        if option.has(there) != option.value or (option.name == "min_size" and "size" in then):
            todo.append(["osd", "pool", *option.words])
            then |= {"pg_num": option.value} if option.name == "pg_num" else {}
    if pool.options["application"] not in there["applications"]:
        todo.append(pool.enabled())
    return Change(tuple(todo), tuple(edits), then, least if least != there["min_size"] else None)


def against(pool: Pool, change: Change, found: Mapping) -> list[str]:
    """Return why clients could not write any more, a line each.

    found
        ``cluster_moves.estimate``'s answer for it; its ``acting`` is None where the pool has no group yet.
    """
    acting = found["pools"].get(pool.name, {}).get("acting")
    if change.min_size is None or acting is None or change.min_size <= acting:
        return []
    return [
        f"pool {pool.name}: clients would need {change.min_size} copies (min_size), and some of its placement groups "
        f"have {acting}: they could not be written until the others are there: wait for them, or take smaller steps"
    ]


def quotas(pool: Pool, there: Mapping) -> dict[str, int]:
    """Return the quotas that an existing pool is to get, of ``bytes`` and ``objects``; arguments as for ``change``."""
    wanted = pool_options.wanted(pool.name, pool.options)
    return {
        option.name.removeprefix(pool_options.QUOTA): int(str(option.value))
        for option in wanted
        if option.name.startswith(pool_options.QUOTA) and option.value and option.value != option.has(there)
    }


def over(name: str, quotas: Mapping[str, int], held: Mapping) -> list[str]:
    """Return why clients could not write any more, a line for each quota that a pool has reached already.

    held
        Its entry of ``cluster_pools.inspect``.
    """
    shown: dict[str, Callable[[int], str]] = {"bytes": rounded, "objects": partial(counted, noun="object")}
    return [
        f"pool {name}: it holds {shown[what](held[what])}, and its quota would be {shown[what](quota)}: clients could "
        "not write any more: take a larger one, or delete data first"
        for what, quota in quotas.items()
        if held[what] >= quota
    ]


def _min_size(pool: Pool, there: Mapping, size: int) -> int:
    """What min_size will be: the site's, else what it is, as far as there are so many copies, and no fewer than Ceph's
    own of another size (osd_pool_default_min_size is 0).
    """
    if "min_size" in pool.options:
        return int(pool.options["min_size"])
    return int(there["min_size"]) if size == there["size"] else max(min(there["min_size"], size), size - size // 2)


def _edit(rule: list[str]) -> list[str]:
    """The same rule for ``crushtool``: ``osd crush rule create-replicated NAME ROOT TYPE [CLASS]``."""
    _, _, _, _, name, root, kind, *classes = rule
    return ["--create-replicated-rule", name, root, kind, *(["--device-class", classes[0]] if classes else [])]
