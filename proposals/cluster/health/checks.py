"""What Ceph's health checks mean for a stage, by their names (docs.ceph.com, rados/operations/health-checks).

Names are compared, never texts: those hold counts, which change while nothing else does.
"""

import re
from enum import Enum, auto


class Meaning(Enum):
    """What a check that was not there before tells."""

    REPEATS = auto()  # what is looked at itself: monitors, managers, OSDs, placement groups
    PASSES = auto()  # that the cluster is busy
    NOT_OURS = auto()  # what no stage makes: flags, space, crash reports, late scrubs, worn devices, odd clients
    NEW = auto()


REPEATS = re.compile(r"MON_DOWN|MGR_DOWN|OSD_DOWN|OSD_[A-Z]+_DOWN|PG_AVAILABILITY|PG_DEGRADED|PG_DAMAGED|OBJECT_\w+")
PASSES = re.compile(r"SLOW_OPS|PG_SLOW_SNAP_TRIMMING|OSD_SLOW_PING_TIME_\w+|MDS_(SLOW_\w+|TRIM|CACHE_OVERSIZED)")
NOT_OURS = re.compile(
    r"OSDMAP_FLAGS|OSD_FLAGS"
    r"|\w+_(NEAR_?FULL|BACKFILL_?FULL|FULL)|MON_DISK_(LOW|CRIT|BIG)|BLUEFS_\w+|BLUESTORE_\w+"
    r"|(BLOCK|DB|WAL)_DEVICE_\w+"  # which BlueStore tells of a device for a day (bdev_stalled_read_warn_lifetime)
    r"|RECENT_\w*CRASH|PG_NOT_(DEEP_)?SCRUBBED|LARGE_OMAP_OBJECTS|MANY_OBJECTS_PER_PG"
    r"|DEVICE_HEALTH\w*|OSD_TOO_MANY_REPAIRS|TELEMETRY_CHANGED|MDS_CLIENTS?_\w+|AUTH_INSECURE_\w+"
)
# Errors to Ceph that no client feels: keys of the cipher that was there before 19.2.6 and 20.2.4 (CVE-2025-30156). An
# upgrade to these raises them, and they are gone when keys are rotated.
UNFELT = re.compile(r"AUTH_INSECURE_\w+")
# Warnings to Ceph, under which clients wait for ever: a rank without a server that could take it.
FELT = {"FS_WITH_FAILED_MDS"}
PAUSED = {"pauserd", "pausewr"}  # flags of the OSD map (OSDMAP_FLAGS)


def meaning(name: str) -> Meaning:
    """Return what a check of this name tells."""
    for pattern, told in ((REPEATS, Meaning.REPEATS), (PASSES, Meaning.PASSES), (NOT_OURS, Meaning.NOT_OURS)):
        if pattern.fullmatch(name):
            return told
    return Meaning.NEW
