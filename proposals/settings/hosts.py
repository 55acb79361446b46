"""Settings of hosts: which are ours, what the prep stage does to them."""

import re
from collections.abc import Mapping

from proposals.settings.kinds import NAME, Choice, Flag, Own, Setting, Text, Whole
from proposals.settings.mappings import Many, Named
from proposals.settings.tunings import TUNINGS

PLACE, MINIONS = "site.sls", "minions.sls"
# What prep does to a host: DeepSea's words.
PREP = (
    "default-no-update-no-reboot",
    "default-update-no-reboot",
    "default-no-update-reboot",
    "default-update-reboot",
)
MAPPING = Own("a mapping", lambda value: isinstance(value, Mapping))
SETTINGS = (
    Setting(
        "ceph_minions",
        Text("a Salt compound match such as 'osd*'", bool),
        "which minions are ours; no other minion is ever sent a job",
        default="*",
        place=MINIONS,
    ),
    Setting(
        "ceph_repos",
        Named(NAME, MAPPING, "{ceph: {name: 'deb https://...'}}"),
        "package sources that prep adds, each with the arguments of Salt's pkgrepo.managed",
        default={},
        place=PLACE,
    ),
    Setting(
        "time_init",
        NAME,
        "how hosts keep time: chrony, disabled, or a file of your own in ceph/host/time of the file root",
        default="chrony",
        place=PLACE,
    ),
    Setting(
        "time_server",
        Many(Text("a host's name or address", re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]*").fullmatch)),
        "where chrony takes the time from; the Salt master's host where nothing is said",
        place=PLACE,
    ),
    Setting(
        "stage_prep_master",
        Choice(PREP),
        "whether prep updates the master's own host; it is never rebooted, only named",
        default=PREP[0],
        place=PLACE,
    ),
    Setting(
        "stage_prep_minion",
        Choice(PREP),
        "whether prep updates and reboots the other hosts; of a running cluster in turns",
        default=PREP[0],
        place=PLACE,
    ),
    Setting(
        "ready_timeout",
        Whole(1, 86400, "a number of seconds"),
        "how long prep waits for a rebooted host, and for the cluster to be well before the next one",
        default=300,
        place=PLACE,
    ),
    Setting(
        "several_masters",
        Flag(),
        "true where minions take jobs from other masters too, none of which runs Halocline",
        default=False,
        place=PLACE,
    ),
    Setting("ceph_os", MAPPING, "names of packages, services and files, as in pillar/ceph/os/FAMILY.sls", place=PLACE),
    Setting("ceph_tunings", TUNINGS, "TuneD profiles and kernel settings, as in pillar/ceph/tunings.sls", place=PLACE),
)
