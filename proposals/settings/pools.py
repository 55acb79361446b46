"""Settings of pools and of places in the CRUSH map."""

import re

from proposals.settings.cluster import LAYER
from proposals.settings.kinds import NAME, Choice, Number, Setting, Text, Whole
from proposals.settings.mappings import Group, Named
from proposals.text.names import PROFILE

# Small to large: Ceph's default types between host and root (docs.ceph.com, rados/operations/crush-map).
TYPES = ("chassis", "rack", "row", "pdu", "pod", "room", "datacenter", "zone", "region")
PLUGINS = ("isa", "jerasure")
CODE = re.compile(r"([1-9][0-9]?)\+([1-9])")
CRUSH = "docs.ceph.com, rados/operations/crush-map"
GROUPS = "docs.ceph.com, rados/operations/placement-groups"
POOL_NAME = Text("a name of letters, digits, '.', '_', '-'", re.compile(rf"\.?{PROFILE.pattern}").fullmatch)

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
    Setting("device_class", NAME, "only OSDs of this class, such as ssd; of any class where nothing is said"),
    Setting("pg_num", Whole(1, 65536), "placement groups at first; the autoscaler goes on from there", source=GROUPS),
    *SET,
)
POOL_OPTIONS = Group(OPTIONS, sparse=True, like="pools: NAME")
POOL = Group(
    (
        Setting("application", NAME, "what uses the pool: rbd, cephfs, rgw, or a word of your own", required=True),
        *OPTIONS,
    ),
    sparse=True,
)
PLACE = Named(Choice(TYPES), NAME, "{rack: r1}", "TYPE", filled=True)
SETTINGS = (
    Setting(
        "pools",
        Named(POOL_NAME, POOL, "{images: {application: rbd}}"),
        "pools that deploy makes where they are missing; what exists is never changed",
        default={},
        place=LAYER,
    ),
    Setting(
        "crush_locations",
        Named(Text("a minion id or a glob", bool), PLACE, "{'osdnode[12]': {rack: r1}}", "MINION"),
        "where storage hosts stand in the CRUSH map; of two lines that match a host the later counts",
        source=CRUSH,
        default={},
        place=LAYER,
    ),
)
