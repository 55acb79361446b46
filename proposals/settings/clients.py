"""Settings of clients: the keys by which the site's own programs use the cluster."""

import re

from proposals.settings.cluster import LAYER
from proposals.settings.kinds import NAME, Setting, Text
from proposals.settings.mappings import Group, Many, Named

# Keys of Ceph's own use. Those of services are compared when they are planned.
RESERVED = ("client.admin", "client.crash")
ENTITY = re.compile(r"client\.(?!bootstrap-|osd-lockbox\.)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MODES = ("0600", "0640", "0400", "0440")
USERS = "docs.ceph.com, rados/operations/user-management"


def is_client(text: str) -> bool:
    """Return whether a text may name a key of the site's own: it becomes a file's name too."""
    return bool(ENTITY.fullmatch(text)) and text not in RESERVED and ".." not in text


CLIENT = Text(
    "client.NAME of letters, digits, '.', '_' and '-', but none of Ceph's own such as client.admin",
    is_client,
)
# A keyring has a line for each, in double quotes (ceph-authtool(8)).
CAPS = Text("capabilities such as 'profile rbd pool=images'", re.compile(r"(allow|profile) [ !#-[\]-~]+").fullmatch)
MODE = Text(f"one of {', '.join(map(repr, MODES))}, in quotes", MODES.__contains__)
KEY = Group(
    (
        Setting(
            "caps",
            Group(
                (
                    Setting("mon", CAPS, "of the monitors; without any no client finds the cluster", required=True),
                    Setting("osd", CAPS, "of the OSDs: which pools, images or objects it may read and write"),
                    Setting("mds", CAPS, "of the metadata servers"),
                    Setting("mgr", CAPS, "of the managers"),
                ),
                sparse=True,
            ),
            "what the key allows; a change reaches the cluster with deploy, or ceph.stage.clients",
            source=USERS,
            required=True,
        ),
        Setting(
            "hosts",
            Many(Text("a minion id or a glob", bool)),
            "minions of the cluster that get /etc/ceph/ceph.client.NAME.keyring; none where nothing is said",
            default=[],
        ),
        Setting("user", NAME, "owns the keyring on these hosts", default="root"),
        Setting("group", NAME, "the keyring's group there", default="root"),
        Setting("mode", MODE, "the keyring's mode there", default=MODES[0]),
    )
)
SETTINGS = (
    Setting(
        "ceph_keys",
        Named(
            CLIENT,
            KEY,
            "{client.backup: {caps: {mon: profile rbd, osd: profile rbd pool=backup}, hosts: [backup1*]}}",
            "ENTITY",
        ),
        "keys of clients of the site's own; one that is taken out here is named, and left alone",
        source=USERS,
        default={},
        place=LAYER,
    ),
)
