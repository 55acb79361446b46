"""Settings of pools and of places in the CRUSH map."""

import re

from proposals.settings.cluster import LAYER
from proposals.settings.kinds import NAME, Choice, Flag, Number, Setting, Text, Whole
from proposals.settings.mappings import Group, Named
from proposals.text.names import PROFILE

# Small to large: Ceph's default types between host and root (docs.ceph.com, rados/operations/crush-map).
TYPES = ("chassis", "rack", "row", "pdu", "pod", "room", "datacenter", "zone", "region")
PLUGINS = ("isa", "jerasure")
CODE = re.compile(r"([1-9][0-9]?)\+([1-9])")
CRUSH = "docs.ceph.com, rados/operations/crush-map"
GROUPS = "docs.ceph.com, rados/operations/placement-groups"
MODES = ("none", "passive", "aggressive", "force")
ALGORITHMS = ("lz4", "snappy", "zlib", "zstd")
POOLS = "docs.ceph.com, rados/operations/pools"
QUOTA_SIZE = re.compile(r"0|[1-9][0-9]{0,5}[MGTP]")
# In place of a bucket's name: the shelf that the host's OSDs lie in, by what SES says, or by the SAS expander.
BY_ENCLOSURE, BY_PATH = "by-enclosure", "by-path"
POOL_NAME = Text("a name of letters, digits, '.', '_', '-'", re.compile(rf"\.?{PROFILE.pattern}").fullmatch)


QUOTA = Group(
    (
        Setting(
            "bytes", Text("a size such as 10T, or 0", QUOTA_SIZE.fullmatch), "of all objects together; 0 for no limit"
        ),
        Setting("objects", Whole(0), "how many objects; 0 for no limit"),
    ),
    sparse=True,
)
COMPRESSION = Group(
    (
        Setting("mode", Choice(MODES), "what is compressed: nothing, what clients hint at, what they do not, all"),
        Setting("algorithm", Choice(ALGORITHMS), "by which; the OSDs' own where nothing is said"),
        Setting("required_ratio", Number(), "stored compressed where it is at most this share of the original"),
    ),
    sparse=True,
)
# What `ceph osd pool set` takes as it is.
SET = (
    Setting("target_size_ratio", Number(), "share of the cluster that this pool will fill, for the autoscaler"),
    Setting("pg_num_min", Whole(1, 65536), "placement groups that the autoscaler never goes below"),
    Setting(
        "pg_autoscale_bias", Number(), "factor on the autoscaler's groups: for many keys in few bytes", source=GROUPS
    ),
)
OPTIONS = (
    Setting(
        "size",
        Whole(1, 10, "a number of replicas"),
        "replicas; 3 where nothing is said, fewer where there are fewer failure domains",
        source="Ceph's osd_pool_default_size",
    ),
    Setting("erasure", Text("K+M such as 2+2", CODE.fullmatch), "K data and M coding parts instead of replicas"),
    Setting("plugin", Choice(PLUGINS), "the plugin of erasure coding", default=PLUGINS[0]),
    Setting(
        "failure_domain",
        Choice(("osd", "host", *TYPES)),
        "what no two replicas or parts of one object share",
        default="host",
        source=CRUSH,
    ),
    Setting(
        "root",
        NAME,
        "only OSDs below this root of the CRUSH map, one of crush_locations; the root `default` where nothing is said",
        source=CRUSH,
    ),
    Setting("device_class", NAME, "only OSDs of this class, such as ssd; of any class where nothing is said"),
    Setting(
        "min_size",
        Whole(1, 20),
        "copies or parts that must be there for clients to write; Ceph's own number where nothing is said",
        source=POOLS,
    ),
    Setting(
        "pg_num",
        Whole(1, 65536),
        "placement groups at first; the autoscaler goes on from there, and where it is off this number holds",
        source=GROUPS,
    ),
    Setting(
        "autoscale",
        Choice(("on", "warn", "off")),
        "whether the autoscaler changes the number of placement groups, warns, or neither; on for a new pool",
        source=GROUPS,
    ),
    *SET,
    Setting("quota", QUOTA, "the most that it may hold: clients that would write more are held back", source=POOLS),
    Setting("compression", COMPRESSION, "how BlueStore compresses what is written from now on", source=POOLS),
    Setting("nodelete", Flag(), "true: Ceph refuses to delete it until that is false again", source=POOLS),
)
POOL_OPTIONS = Group(OPTIONS, sparse=True, like="pools: NAME")
POOL = Group(
    (
        Setting("application", NAME, "what uses the pool: rbd, cephfs, rgw, or a word of your own", required=True),
        *OPTIONS,
    ),
    sparse=True,
)
PLACE = Named(Choice((*TYPES, "root")), NAME, "{rack: r1}", "TYPE", filled=True)
SETTINGS = (
    Setting(
        "pools",
        Named(POOL_NAME, POOL, "{images: {application: rbd}}"),
        "pools that deploy makes where they are missing; `pool.change` alone changes one that exists",
        default={},
        place=LAYER,
    ),
    Setting(
        "hold_new_osds",
        Flag(),
        "true: new OSDs of a cluster with data get none before `osd.fill` is typed, then all in one movement",
        source="Ceph's osd_crush_initial_weight",
        default=False,
        place=LAYER,
    ),
    Setting(
        "crush_locations",
        Named(Text("a minion id or a glob", bool), PLACE, "{'osdnode[12]': {rack: r1}}", "MINION"),
        "where storage hosts stand in the CRUSH map; of two lines that match a host the later counts; "
        f"`{BY_ENCLOSURE}` for the shelf that discovery saw their disks in, `{BY_PATH}` for the "
        "SAS expander in their disks' path. Where data would move, `crush.move` alone moves them",
        source=CRUSH,
        default={},
        place=LAYER,
    ),
)
