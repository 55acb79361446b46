"""Settings of images: iSCSI targets, and what OpenStack needs."""

import re

from proposals.settings.cluster import LAYER
from proposals.settings.kinds import GIVEN, NAME, Setting, Text
from proposals.settings.mappings import Group, Many, Named, Toggle
from proposals.settings.pools import POOL_OPTIONS

IQN = re.compile(r"iqn\.\d{4}-\d{2}\.[a-z0-9.-]+(:[a-z0-9.:-]+)?")  # RFC 3720, 3.2.6.3.1
TARGET = Text("a target's name such as iqn.2026-11.com.example:backup", IQN.fullmatch)
INITIATOR = Text("an initiator's name such as iqn.1993-08.org.debian:01:5c3e", IQN.fullmatch)
IMAGE = Text("POOL/IMAGE", re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+").fullmatch)
SIZE = Text("a size such as 100G", re.compile(r"[1-9][0-9]*[MGT]").fullmatch)
USER = Text("8 to 64 letters, digits and . : @ _ -", re.compile(r"[A-Za-z0-9.:@_-]{8,64}").fullmatch)
LOGIN = "{user: backuphost, password: chap-backuphost}"
KINDS = ("images", "volumes", "backups", "vms")

ACCESS = Group(
    (
        Setting("user", USER, "the initiator's CHAP user", source="gwcli(8)", required=True),
        Setting(
            "password",
            GIVEN,
            "the file with the CHAP password: 12 to 16 letters, digits and @ - _ /, of mode 0600",
            source="gwcli(8)",
            required=True,
        ),
        Setting("images", Many(IMAGE, filled=True), "images that it may use; all of the target where nothing is said"),
    )
)
TARGETS = Group(
    (
        Setting(
            "images",
            Named(IMAGE, SIZE, "{rbd/backup: 100G}", "POOL/IMAGE", filled=True),
            "images and their sizes: what is missing is made, a larger size grows an image",
            required=True,
        ),
        Setting(
            "initiators",
            Named(INITIATOR, ACCESS, f"{{iqn.1993-08.org.debian:01:5c3e: {LOGIN}}}", "INITIATOR"),
            "who may use the target, each by CHAP; nobody where nothing is said",
            default={},
        ),
    )
)
CLOUD = Group(
    (
        Setting("prefix", NAME, "begins the names of pools and users, followed by '-'"),
        Setting(
            "pools",
            Group(
                tuple(Setting(kind, POOL_OPTIONS, f"how the pool cloud-{kind} is made", default={}) for kind in KINDS)
            ),
            "how pools are made where they are missing",
            default={},
        ),
    )
)
SETTINGS = (
    Setting(
        "iscsi_targets",
        Named(TARGET, TARGETS, "{iqn.2026-11.com.example:backup: {images: {rbd/backup: 100G}}}", "TARGET"),
        "iSCSI targets that every gateway serves; what else the gateways have stays",
        default={},
        place=LAYER,
    ),
    Setting(
        "openstack",
        Toggle(CLOUD),
        "pools and keys for Cinder, its backups, Glance and Nova",
        source="docs.ceph.com, rbd/rbd-openstack",
        default=False,
        place=LAYER,
    ),
)
