"""How much data a change of the CRUSH map, or of a pool's rule or copies, would move; on a host with the admin's key.

Ceph's own ``crushtool`` maps every placement group by the map as it is and by a copy that has the change, and what a
group holds is counted where its copies would lie elsewhere. The cluster is only asked. What the balancer placed by
``pg-upmap`` is not in it: it stays where its rule still allows it, and moves once more where the rule does not.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 300  # seconds for crushtool, which maps some 10,000 groups a second
REWEIGHT = "--reweight-item"
AT_ONCE = 2000  # weights in one argument, which Linux lets have 128 KiB (MAX_ARG_STRLEN)
NONE = 2147483647  # where an erasure-coded group finds no OSD for a part (CRUSH_ITEM_NONE)
CODED = 3  # the type of erasure-coded pools (src/osd/osd_types.h)
OBJECT = 4096  # bytes that an object takes at least (bluestore_min_alloc_size)
LINE = re.compile(r"CRUSH rule \d+ x (\d+) \[([\d,-]*)\]")


def estimate(
    edits: Sequence[Sequence[str]] = (),
    pools: Mapping[str, Mapping] | None = None,
    devices: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """Return what would move: ``{pools, osds, busy, limit}``; nothing is changed.

    ``pools``: by name ``{bytes, groups, lacking, acting}``: bytes and copies of groups that move, how many groups would
    find too few OSDs and find enough now, and how many copies the worst group has now. ``osds``: by number ``{gets,
    loses, kb, kb_used}``, of those that get or lose any, bytes and KiB. ``busy``: copies that move already. ``limit``:
    how full an OSD may be while data moves to it, a part of one.

    edits
        Words for ``crushtool``, a list for each step, such as ``[--reweight-item, osd.3, "5.5"]``.
    pools
        Pools as they would be: ``{name: {rule, size, pg_num}}``, with a rule's name; each key may be left out. Only
        these are looked at where the map stays as it is.
    devices
        OSDs to be, or of another class: ``{number: device class}``; edits may give new ones a place.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_moves.estimate '[["--reweight-item", "osd.3", "0"]]'
    """
    ask, changed = __salt__["cluster_cli.ask"], pools or {}
    dump = ask(["osd", "dump"])
    listed = [pool for pool in dump["pools"] if edits or devices or pool["pool_name"] in changed]
    held = _held(ask(["pg", "dump", "pgs"]), [pool["pool"] for pool in listed])
    nodes = ask(["osd", "df"])["nodes"]
    # On a new cluster whose OSDs wait all weights are 0, and Ceph maps groups to some of them all the same.
    empty = {osd["id"] for osd in nodes if not osd["crush_weight"]} | {NONE}
    weights = [(osd["osd"], osd["weight"]) for osd in dump["osds"] if osd["weight"] != 1]
    gets: Counter[int] = Counter()
    loses: Counter[int] = Counter()
    told: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        maps = _maps(Path(folder), edits, devices or {}) if listed else ()
        for pool in listed:
            then = changed.get(pool["pool_name"], {})
            told[pool["pool_name"]] = _moved(pool, then, maps, weights, held[pool["pool"]], empty, (gets, loses))
    usage = {osd["id"]: {"kb": osd["kb"], "kb_used": osd["kb_used"]} for osd in nodes}
    osds = {
        str(osd): {"gets": gets[osd], "loses": loses[osd], **usage.get(osd, {"kb": 0, "kb_used": 0})}
        for osd in sorted(gets | loses)
    }
    limit = min(dump["backfillfull_ratio"], dump["full_ratio"])
    return {"pools": told, "osds": osds, "busy": sum(each["busy"] for each in held.values()), "limit": limit}


def _maps(folder: Path, edits: Sequence[Sequence[str]], devices: Mapping[str, str | None]) -> tuple[dict, ...]:
    """The map as it is and as it would be, each with its file and the numbers of its rules."""
    now, then, text = folder / "now", folder / "then", folder / "text"
    __salt__["cluster_cli.tell"](["osd", "getcrushmap", "-o", str(now)])
    if devices:
        _crushtool(["-d", str(now), "-o", str(text)])
        text.write_text(_with_devices(text.read_text(), devices))
        _crushtool(["-c", str(text), "-o", str(then)])
    else:
        then.write_bytes(now.read_bytes())
    _reweight(then, [f"{words[1].removeprefix('osd.')}:{words[2]}" for words in edits if words[0] == REWEIGHT])
    for words in edits:
        if words[0] != REWEIGHT:
            _crushtool(["-i", str(then), *words, "-o", str(then)])
    return tuple({"file": path, "rules": _rules(path)} for path in (now, then))


def _reweight(path: Path, weights: Sequence[str]) -> None:
    """Give OSDs of a map other weights: ``crushtool`` takes one a run, and a fill has as many as there are new OSDs."""
    osdmap = path.with_name("osdmap")
    if weights:
        __salt__["cluster_cli.tell"](["osd", "getmap", "-o", str(osdmap)])
        halocline.run(["osdmaptool", str(osdmap), "--import-crush", str(path)], limit=LIMIT)
    for at in range(0, len(weights), AT_ONCE):
        words = ["--adjust-crush-weight", ",".join(weights[at : at + AT_ONCE]), "--save", "--export-crush", str(path)]
        halocline.run(["osdmaptool", str(osdmap), *words], limit=LIMIT)


def _with_devices(text: str, devices: Mapping[str, str | None]) -> str:
    """A decompiled map in which OSDs have these classes: others' lines are replaced, new ones' added."""
    kept = [line for line in text.splitlines() if line.split()[:1] != ["device"] or line.split()[1] not in devices]
    lines = [f"device {osd} osd.{osd}{f' class {kind}' if kind else ''}" for osd, kind in devices.items()]
    at = kept.index("# types")
    return "\n".join([*kept[:at], *lines, *kept[at:], ""])


def _rules(path: Path) -> dict[str, int]:
    dump = json.loads(_crushtool(["-i", str(path), "--dump", "--format", "json"]))
    return {rule["rule_name"]: rule["rule_id"] for rule in dump["rules"]}


def _held(dump: Mapping, pools: Sequence[int]) -> dict[int, dict]:
    """Of each pool what its groups hold, how many copies the worst has, and how many copies are on their way.

    A group of which a manager that has just begun does not know yet what it holds has no bytes, and not none. What lies
    in omap alone, such as a bucket's index, is counted at deep scrubs: an object counts at least as what one takes.
    """
    held: dict[int, dict[str, Any]] = {pool: {"bytes": {}, "acting": None, "busy": 0} for pool in pools}
    for row in dump["pg_stats"]:
        pool, _, seed = row["pgid"].partition(".")
        if (own := held.get(int(pool))) is not None:
            if row["state"] != "unknown":
                own["bytes"][int(seed, 16)] = _bytes(row["stat_sum"])
            there = [osd for osd in row["acting"] if osd != NONE]
            own["acting"] = min(len(there), len(there) if own["acting"] is None else own["acting"])
            own["busy"] += len(set(row["up"]) - set(row["acting"]) - {NONE})
    return held


def _bytes(stat: Mapping[str, int]) -> int:
    return max(stat["num_bytes"] + stat["num_omap_bytes"], stat["num_objects"] * OBJECT)


def _moved(
    pool: Mapping,
    then: Mapping,
    maps: Sequence[Mapping],
    weights: Sequence,
    held: Mapping,
    empty: set[int],
    sums: Sequence[Counter],
) -> dict[str, Any]:
    """What moves of a pool; counted in ``sums`` for each OSD too. Raises where nobody knows what a group holds that
    does not lie on ``empty`` OSDs alone.
    """
    rules = {number: name for name, number in maps[0]["rules"].items()}
    wanted = then.get("rule", rules[pool["crush_rule"]])
    sizes = pool["size"], then.get("size", pool["size"])
    most = pool["pg_placement_num"], then.get("pg_num", pool["pg_placement_num"])
    lines = [
        _mapped(one, pool["pool"], one["rules"][rule], size, count, weights)
        for one, rule, size, count in zip(maps, (rules[pool["crush_rule"]], wanted), sizes, most, strict=True)
    ]
    groups = max(pool["pg_num"], most[1])
    parts = Counter(_stable(group, pool["pg_num"]) for group in range(groups))  # groups that are split share its bytes
    moved = lacking = total = unknown = 0
    of = _of(pool)
    for group in range(groups):
        parent = _stable(group, pool["pg_num"])
        share = held["bytes"].get(parent, 0) // parts[parent] // of
        before, after = (one[_stable(group, count)] for one, count in zip(lines, most, strict=True))
        # One that lacks copies already, and is to lack more, may lose its last.
        worse = _count(before) >= sizes[0] or _count(after) < _count(before)
        lacking += worse and _count(after) < sizes[1]
        changes = list(_changes(before, after, pool["type"] == CODED, sums))
        unknown += bool(changes and set(before) - empty) and parent not in held["bytes"]
        for osd, counter in changes:
            counter[osd] += share
            if counter is sums[0]:
                moved, total = moved + 1, total + share
    if unknown:
        raise CommandExecutionError(
            f"pool {pool['pool_name']}: the active manager does not know yet what its placement groups hold "
            f"({unknown} of those that would move): run it again in a minute; 'ceph pg ls unknown' names them"
        )
    return {"bytes": total, "groups": moved, "lacking": lacking, "acting": held["acting"]}


def _changes(
    before: list[int], after: list[int], coded: bool, sums: Sequence[Counter]
) -> Iterator[tuple[int, Counter]]:
    """Which OSDs get a copy and which lose one; of a coded pool the parts stay at their places."""
    if coded:
        pairs = [(old, new) for old, new in zip(before, after, strict=False) if old != new]
        gone, come = [old for old, _ in pairs], [new for _, new in pairs]
    else:
        gone, come = [osd for osd in before if osd not in after], [osd for osd in after if osd not in before]
    gets, loses = sums
    yield from ((osd, gets) for osd in come if osd != NONE)
    yield from ((osd, loses) for osd in gone if osd != NONE)


def _mapped(one: Mapping, pool: int, rule: int, size: int, groups: int, weights: Sequence) -> list[list[int]]:
    """Each group's OSDs, by ``crushtool``: as the monitors map it, by the pool's number (hashpspool)."""
    words = ["-i", str(one["file"]), "--test", "--show-mappings", "--rule", str(rule), "--num-rep", str(size)]
    words += ["--pool-id", str(pool), "--min-x", "0", "--max-x", str(groups - 1)]
    for osd, weight in weights:
        words += ["--weight", str(osd), str(weight)]
    found = {int(line[1]): [int(osd) for osd in line[2].split(",") if osd] for line in LINE.finditer(_crushtool(words))}
    return [found.get(group, []) for group in range(groups)]


def _count(osds: Sequence[int]) -> int:
    return sum(osd != NONE for osd in osds)


def _stable(group: int, groups: int) -> int:
    """Where a group's data lies among so many groups: Ceph's ceph_stable_mod (src/include/rados.h)."""
    mask = (1 << (groups - 1).bit_length()) - 1
    return group & mask if group & mask < groups else group & (mask >> 1)


def _of(pool: Mapping) -> int:
    """How many parts one part of a coded group's data is of; a copy holds all of it."""
    if pool["type"] != CODED:
        return 1
    profile = __salt__["cluster_cli.ask"](["osd", "erasure-code-profile", "get", pool["erasure_code_profile"]])
    # Of LRC by layers k is -1 (src/erasure-code/lrc/ErasureCodeLrc.cc): data lies where its mapping has a D.
    return profile["mapping"].count("D") if "mapping" in profile else int(profile["k"])


def _crushtool(words: Sequence[str]) -> str:
    return halocline.run(["crushtool", *words], limit=LIMIT)
