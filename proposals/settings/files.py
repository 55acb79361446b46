"""Settings of file systems and of their NFS exports."""

import ipaddress
import re

from proposals.settings.cluster import ADOPTED, LAYER
from proposals.settings.kinds import GIVEN, NAME, Choice, Flag, Setting, Text, Whole
from proposals.settings.mappings import Forms, Group, Many, Named, Names
from proposals.settings.pools import POOL_OPTIONS

ACCESS = ("RW", "RO")
SQUASH = ("root_squash", "no_root_squash", "all_squash", "root_id_squash", "no_squash")  # ganesha-export-config(8)
IDS = 65535  # Export_Id is a number of 16 bits, 0 is the pseudo file system's own
PART = r"[A-Za-z0-9][A-Za-z0-9._+@-]*"
DIRECTORY = re.compile(rf"/|(/{PART})+")
MOUNTED = Text("a path such as /cephfs", re.compile(rf"/*{PART}(/{PART})*/*").fullmatch)
S3_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")  # of buckets, S3 users and their keys
S3 = Text("a name of letters, digits, '.', '_', '-'", S3_NAME.fullmatch)
BUCKET = Text("a bucket's name", lambda text: text == "/" or S3_NAME.fullmatch(text))
CLIENT = Text("an address or network such as 192.168.1.0/24", ipaddress.ip_network)

COMMON = (
    Setting("access", Choice(ACCESS, upper=True), "RW: clients may write, RO: they may only read", default="RW"),
    Setting(
        "squash",
        Choice(SQUASH),
        "which users of clients become nobody: root as shipped",
        default=SQUASH[0],
        source="ganesha-export-config(8)",
    ),
    Setting("clients", Many(CLIENT, filled=True), "addresses and networks that may mount; all where nothing is said"),
    Setting(
        "roles", Many(NAME, filled=True), "roles of NFS servers that export this; all of them where nothing is said"
    ),
    Setting(
        "id", Whole(1, IDS), "the export's number, part of every file handle; made of the path where nothing is said"
    ),
)
DIRECTORIES = Group(
    (
        Setting(
            "file_system", NAME, "exports a directory of this file system, one of the setting cephfs", required=True
        ),
        Setting(
            "path", Text("a directory of the file system such as /home", DIRECTORY.fullmatch), "the directory", "/"
        ),
        *COMMON,
    )
)
BUCKETS = Group(
    (
        Setting("user", S3, "exports buckets of this user of rgw_users", required=True),
        Setting("bucket", BUCKET, "the bucket; all of the user's where nothing is said", "/"),
        Setting("access_key", S3, "the user's access key, where rgw_users does not name it"),
        Setting("secret", GIVEN, "the file with that key's secret, of mode 0600, where the user is not in rgw_users"),
        *COMMON,
    )
)
SYSTEM = Group(
    (
        Setting(
            "data", POOL_OPTIONS, "how the data pool is made; erasure makes a second one, NAME_data_ec", default={}
        ),
        Setting("metadata", POOL_OPTIONS, "how the metadata pool is made", default={}),
        Setting(
            "max_mds",
            Whole(1),
            "how many metadata servers are active, others stand by; where nothing is said one in a new file system, "
            "and one that exists keeps its own",
        ),
        Setting(
            "standby_replay",
            Flag(),
            "whether a standby follows each active server's journal; where nothing is said not in a new file system, "
            "and one that exists keeps its own",
        ),
    )
)
SETTINGS = (
    Setting(
        "cephfs",
        Named(NAME, SYSTEM, "{cephfs: {max_mds: 1}}"),
        "file systems; one named cephfs where nothing is said and a minion has the role mds",
        default={"cephfs": {}},  # as DeepSea made it
        source="docs.ceph.com, cephfs/createfs and cephfs/multimds",
        place=LAYER,
    ),
    Setting(
        "adopted_file_systems",
        Many(NAME),
        "file systems that others made: they keep their pools, and what `cephfs` does not say of them; none is made "
        "unasked beside them; ceph.adopt writes it",
        default=[],
        place=ADOPTED,
    ),
    Setting(
        "nfs_exports",
        Named(
            MOUNTED,
            Forms((DIRECTORIES, BUCKETS), "{file_system: NAME} or {user: NAME, bucket: NAME}"),
            "{/cephfs: {file_system: cephfs}}",
            "PATH",
        ),
        "what NFS servers export, by the path that clients mount",
        default={},
        place=LAYER,
    ),
    Setting(
        "ganesha_configurations",
        Names(NAME, Group(()), "[silver]"),
        "roles of NFS servers beside ganesha, with exports and a grace database of their own",
        default={},
        place=LAYER,
    ),
)
