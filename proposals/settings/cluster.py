"""Settings of the cluster itself: its identity and networks, its size, what Ceph is configured with."""

import re

from proposals.settings.kinds import NAME, NETWORK, Choice, Flag, Own, Setting, Text, Whole
from proposals.settings.mappings import Group, Many, Named
from proposals.text.names import UUID

CONFIG = "proposals/config/stack/default/ceph/cluster.yml"  # discovery writes it, policy.cfg selects it
ADOPTED = "proposals/adopted/stack/default/ceph/cluster.yml"  # ceph.adopt writes it, policy.cfg selects it
LAYER = "stack/ceph/cluster.yml"  # the site's own layer
REDUNDANCY = re.compile(r"[1-9][0-9]{0,2}(\+[1-9][0-9]{0,2})?")
NETWORKS = ("public_network", "cluster_network")
NETWORKS_SOURCE = "docs.ceph.com, rados/configuration/network-config-ref"
WORD = Text("a word without blanks", re.compile(r"\S+").fullmatch)
MODEL = Text("a drive's model, as /sys/block/NAME/device/model has it", str.isprintable)
CAPABILITY = Text("capabilities such as 'allow *'", re.compile(r"[ !#-[\]-~]+").fullmatch)  # as a keyring quotes them
VALUE = Own("a text, number, true or false", lambda value: isinstance(value, str | int | float))
# What configure, or a chosen profile, writes beside a site's own words.
GENERATED = ("generation", "members", "services", "monitors", "mon_initial_members", "mon_host", "crash")


def _is_spare(text: str) -> bool:
    """Whether a text names a disk for good: the kernel's own names change with the next boot."""
    return bool(text) and text.isprintable() and (text.startswith("/dev/disk/by-id/") or "/" not in text)


HEALTH = Group(
    (
        Setting("value", VALUE, "the option's value", required=True),
        Setting("warning", VALUE, "the health warning that it ends"),
        Setting("cause", VALUE, "why a new cluster has that warning"),
        Setting("source", VALUE, "where that is documented"),
    )
)
STORAGE = Setting(
    "method",
    Choice(("lvm", "raw")),
    "OSDs on logical volumes or on GPT partitions; volumes where nothing is said and the kernel has device-mapper",
)
ROLLBACK = Setting("seconds", Whole(10, 3600), "time after which a network change is rolled back; 60 s as shipped")
SETTINGS = (
    Setting(
        "fsid",
        Text("a UUID such as 5bd9f8f0-5f5e-4a0e-9a5e-0123456789ab", UUID.fullmatch),
        "the cluster's fsid: discovery makes it, or takes that of a cluster that exists",
        place=CONFIG,
    ),
    Setting(
        "public_network", NETWORK, "the network of monitors, gateways and clients", source=NETWORKS_SOURCE, place=CONFIG
    ),
    Setting(
        "cluster_network",
        NETWORK,
        "the network on which OSDs replicate; may be the public one",
        source=NETWORKS_SOURCE,
        place=CONFIG,
    ),
    Setting(
        "ms_bind_msgr2",
        Flag(),
        "false where clients know the first version of Ceph's wire protocol alone",
        default=True,
        source="docs.ceph.com, rados/configuration/msgr2",
        place=CONFIG,
    ),
    Setting(
        "small_site",
        Flag(),
        "true where the site is small on purpose: what checks find of its size is then allowed",
        default=False,
        place=LAYER,
    ),
    Setting(
        "redundancy",
        Text("a number of replicas such as 3, or K+M such as 4+2", REDUNDANCY.fullmatch),
        "what most pools will have: checks compare the number of storage hosts with it",
        default=3,
        source="Ceph's osd_pool_default_size",
        place=LAYER,
    ),
    Setting(
        "hot_spares",
        Named(
            Text("a minion id or a glob", bool),
            Many(Text("a disk's serial, WWN or name below /dev/disk/by-id, in quotes", _is_spare, numbers=False)),
            "{'osdnode*': [ZA1B2C3D]}",
            "MINION",
        ),
        "disks that are planned for nobody; `osd.replace` offers those of its host",
        default={},
        place=LAYER,
    ),
    Setting(
        "ceph_config",
        Named(WORD, Named(WORD, VALUE, "{osd_max_backfills: 2}", "OPTION"), "{osd: {osd_max_backfills: 2}}", "SECTION"),
        "Ceph's central configuration, by section and option; an option goes again when its line goes",
        source="docs.ceph.com, rados/configuration/ceph-conf",
        default={},
        place=LAYER,
    ),
    Setting(
        "crash_reports",
        Flag(),
        "false where no crash of a daemon is posted: the cluster gets no key for it, and its hosts no ceph-crash; an "
        "adopted cluster without client.crash is left so",
        default=True,
        source="docs.ceph.com, mgr/crash",
        place=LAYER,
    ),
    Setting(
        "adopted_caps",
        Named(
            WORD, Named(WORD, CAPABILITY, "{mon: 'allow profile mgr'}", "DAEMON"), "{mgr.a: {mon: 'allow *'}}", "KEY"
        ),
        "capabilities of keys of Ceph's own that an adopted cluster had otherwise, and keeps; ceph.adopt writes it",
        source="docs.ceph.com, rados/operations/user-management",
        default={},
        place=ADOPTED,
    ),
    Setting(
        "ceph_health",
        Named(
            WORD, Named(WORD, HEALTH, "{OPTION: {value: 'false'}}", "OPTION"), "{mon: {OPTION: {value: 1}}}", "SECTION"
        ),
        "options of ceph.conf that end a health warning of a new cluster; joined with those of pillar/ceph/health.sls",
        place="site.sls",
    ),
    Setting(
        "ceph",
        Group(
            (
                Setting("storage", Group((STORAGE,), others=("osds", "disks")), "how OSDs are made"),
                Setting(
                    "tuning", NAME, "the TuneD profile of hosts; none for none; chosen by role and disks as shipped"
                ),
                Setting("tunings_allowed", Many(NAME), "ids of kernel settings that have a price, to be applied too"),
                Setting(
                    "tunings_drives",
                    Many(MODEL),
                    "models of drives with power-loss protection, `*` for any text: drive_cache is set on these alone",
                ),
                Setting("network", Group((ROLLBACK,), others=("links", "ports")), "how network changes are made"),
            ),
            others=(*GENERATED, "global", "sections", "adopted"),
        ),
        "what hosts are told beside their layout; also in stack/ceph/minions/ID.yml, for one host",
        place=LAYER,
    ),
)
