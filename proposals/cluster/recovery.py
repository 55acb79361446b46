"""Recovery profiles: how much of its disks an OSD gives to recovery, and how much to clients.

Which options, and what they do: Ceph's "OSD config reference", sections "Backfilling" and "Recovery". ``least`` are the
values of the "minimum impact" that SanDisk and Red Hat printed for InfiniFlash (table 6), ``fast`` those that Ceph had
then by default. ``osd_recovery_threads``, which stands there too, is gone from Ceph.

From release 17 on OSDs may run by the scheduler mClock, which reads none of these options and has profiles of its own
("mClock Config Reference").
"""

from collections.abc import Iterable, Mapping

from proposals.text.errors import ArgumentError, PolicyError
from proposals.text.names import shown

SECTION = "osd"
MCLOCK = "mclock_scheduler"  # a value of osd_op_queue
WEIGHED: Mapping[str, Mapping[str, object]] = {
    "default": {},
    "least": {"osd_max_backfills": 1, "osd_recovery_max_active": 1, "osd_recovery_op_priority": 1},
    "fast": {
        "osd_max_backfills": 10,
        "osd_recovery_max_active": 15,
        "osd_recovery_op_priority": 10,
        "osd_recovery_sleep_hdd": 0,
        "osd_recovery_sleep_hybrid": 0,
        "osd_recovery_sleep_ssd": 0,
    },
}
CLOCKED: Mapping[str, Mapping[str, object]] = {
    "default": {},
    "least": {"osd_mclock_profile": "high_client_ops"},
    "fast": {"osd_mclock_profile": "high_recovery_ops"},
}
OPTIONS = sorted({option for profiles in (WEIGHED, CLOCKED) for profile in profiles.values() for option in profile})


def options(name: object, queue: str) -> dict[str, dict[str, object]]:
    """Return what a profile sets: ``{section: {option: value}}``; nothing for ``default``, which is the release's own.

    name
        As typed. ArgumentError for one that is none.
    queue
        How OSDs order their work: their ``osd_op_queue``.
    """
    profiles = CLOCKED if queue == MCLOCK else WEIGHED
    if str(name) not in profiles:
        raise ArgumentError(f"{shown(name)}: expected a profile, {', '.join(profiles)}")
    return {SECTION: dict(found)} if (found := profiles[str(name)]) else {}


def current(ours: Mapping[str, object], queue: str) -> str:
    """Return the profile of which these options are; of a release before the present one, maybe none of today's."""
    profiles = CLOCKED if queue == MCLOCK else WEIGHED
    values = {option: str(value) for option, value in ours.items()}
    for name, options in profiles.items():
        if values == {option: str(value) for option, value in options.items()}:
            return name
    return "one that this release of Halocline does not know"


def refuse(wanted: Mapping[str, Mapping], site: Mapping, others: Iterable[Mapping]) -> None:
    """Raise PolicyError where somebody else has set for all OSDs what a profile is to set.

    wanted
        What ``options`` returned.
    site
        The site's ``ceph_config``: deploy sets it again each time.
    others
        Rows of ``ceph config dump`` that are not ours: ``[{section, name, value}]``, a mask in ``section``.
    """
    options = wanted.get(SECTION, {})
    if both := sorted(set(options) & set(site.get(SECTION) or {})):
        raise PolicyError(
            f"the site's ceph_config sets {', '.join(both)} for {SECTION}, and deploy would set it again: "
            "take it out there and deploy, or change the values there: nothing was changed"
        )
    for row in others:
        if row["section"] == SECTION and row["name"] in options:
            raise PolicyError(
                f"{row['name']} is {shown(row['value'])} for {SECTION}, which somebody has set: "
                f"'ceph config rm {SECTION} {row['name']}' takes it away: nothing was changed"
            )


def beside(others: Iterable[Mapping]) -> list[str]:
    """Return what is said of values of others, which hold beside a profile: for some OSDs alone, or for all daemons."""
    return [
        f"{row['name']} is {shown(row['value'])} for {shown(row['section'])}, set by somebody: it stays"
        for row in others
        if row["name"] in OPTIONS
    ]
