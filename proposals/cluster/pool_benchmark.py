"""How many placement groups a test's pool may have, and what a person reads of the test."""

from collections.abc import Mapping

from proposals.text.sizes import rounded

WANTED = 1024  # of the reference guide
SECONDS = 300  # of the reference guide, each way
LONGEST = 3600  # seconds each way: it tests a new cluster, a suite measures one
SHARE = 0.5  # of what fits until the first OSD is full, at most, that is written
OBJECT = 4 << 20  # bytes of one object, rados bench's own
LEAST = 256  # objects, 1 GiB: so little is written in seconds


def pg_num(groups: Mapping[str, int], wanted: int = WANTED) -> int:
    """Return the largest power of two, at most ``wanted``, that the OSDs may carry; 0 where not even one fits.

    groups
        ``cluster_pool_benchmark.groups``'s answer: ``osds`` (in), ``per_osd`` (placement groups at most), ``used``,
        ``size``.
    """
    free = (groups["osds"] * groups["per_osd"] - groups["used"]) // groups["size"] if groups["osds"] else 0
    room = min(free, wanted)
    return 1 << (room.bit_length() - 1) if room > 0 else 0


def objects(groups: Mapping[str, int]) -> int:
    """Return how many objects may be written, with all copies; arguments as for ``pg_num``."""
    return int(groups["free"] * SHARE) // max(1, groups["size"]) // OBJECT


def against(groups: Mapping[str, int], pg_num: int) -> list[str]:
    """Return what stands against a test: no placement groups that fit, no room."""
    why = []
    if not pg_num:
        why.append(
            f"no pool fits: {groups['osds']} OSDs are in, at most {groups['per_osd']} placement groups each, "
            f"{groups['used']} are there: see 'ceph osd df' and mon_max_pg_per_osd"
        )
    if objects(groups) < LEAST:
        why.append(
            f"no room: of {rounded(groups['free'])} that fit until the first OSD is full it may write {SHARE:.0%}, "
            f"with {groups['size']} copies, and {rounded(LEAST * OBJECT)} is the least: see 'ceph osd df'"
        )
    return why


def text(groups: Mapping[str, int], pg_num: int, seconds: int, measured: Mapping[str, Mapping], wanted: int) -> str:
    """Return the test's answer for a person: what was made, what was measured."""
    why = ""
    if pg_num < wanted:
        why = f" ({wanted} do not fit {groups['osds']} OSDs of at most {groups['per_osd']} each)"
    lines = [f"a pool of {pg_num} placement groups{why}, {groups['size']} replicas; {seconds} s each way"]
    lines += [_line(what, figures) for what, figures in measured.items()]
    return "\n".join([*lines, "the pool is gone again, mon_allow_pool_delete is what it was"])


def _line(what: str, one: Mapping) -> str:
    number = {key: float(value) for key, value in one.items() if _is_number(value)}
    done = number.get("total_writes_made", number.get("total_reads_made", 0))
    return (
        f"{what:<6} {number.get('bandwidth', 0):9.1f} MB/s {number.get('average_iops', 0):8.0f} IOPS   latency "
        f"{number.get('average_latency', 0) * 1000:.1f} ms on average, {number.get('max_latency', 0) * 1000:.1f} ms at "
        f"most   {done:.0f} objects in {number.get('total_time_run', 0):.1f} s"
    )


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True
