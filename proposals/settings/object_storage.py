"""Settings of RADOS Gateways: the daemons, their pools and users, the front before them, Keystone behind them."""

import re

from proposals.settings.cluster import ADOPTED, LAYER
from proposals.settings.kinds import ADDRESS, GIVEN, NAME, PORT, Choice, Flag, Setting, Text, Whole
from proposals.settings.mappings import Group, Many, Named, Names
from proposals.settings.pools import POOL_OPTIONS
from proposals.text.names import LABEL

KEYSTONE = "docs.ceph.com, radosgw/keystone"
S3_NAME = Text("a name of letters, digits, '.', '_', '-'", re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}").fullmatch)
# It becomes a line of ceph.conf, so it holds no line's end, comment or quote.
LINE = Text("a name without '#', quotes or line ends", lambda text: text and LABEL.fullmatch(text) and "#" not in text)
URL = Text(
    "where Keystone answers, such as https://keystone:5000",
    lambda text: text.startswith(("https://", "http://")) and LABEL.fullmatch(text),
)
SHOWN = Text("a text on one line", lambda text: text and text.isprintable())
# docs.ceph.com, radosgw/admin (add or remove admin capabilities)
CAPS = (
    "users",
    "buckets",
    "metadata",
    "usage",
    "zone",
    "info",
    "bilog",
    "mdlog",
    "datalog",
    "user-policy",
    "amz-cache",
)
PERMS = ("*", "read", "write", "read, write")
POOLS = ("root", "control", "meta", "log", "index", "non-ec", "data")

GATEWAY = Group(
    (
        Setting("port", PORT, "TCP port of the gateway; 80 where nothing is said, 443 with TLS"),
        Setting("tls", NAME, "serve TLS: NAME for the files NAME.crt and NAME.key of keys/given, as PEM"),
    )
)
USER = Group(
    (
        Setting("display_name", SHOWN, "the user's name in full; its name where nothing is said"),
        Setting("access_key", S3_NAME, "the access key; the user's name where nothing is said"),
        Setting(
            "max_buckets",
            Whole(1),
            "how many buckets; where nothing is said Ceph's default for a new user, and others keep theirs",
        ),
        Setting(
            "caps",
            Named(Choice(CAPS), Choice(PERMS), "{usage: read}", "KIND"),
            "all admin capabilities, none by {}; those that the user has stay where nothing is said",
        ),
    )
)
FRONT = Group(
    (
        Setting(
            "address", ADDRESS, "the address that clients use and that no host has: keepalived moves it", required=True
        ),
        Setting("port", PORT, "TCP port; 443 with TLS, else 80, where nothing is said"),
        Setting(
            "tls", NAME, "HAProxy ends TLS: NAME for NAME.crt and NAME.key of keys/given; without, it passes TLS on"
        ),
        Setting("ca", GIVEN, "the certificate that the gateways' one is signed with, as PEM", default="rgw-ca.pem"),
        Setting(
            "minions", Text("a glob of minion ids", bool), "the hosts of HAProxy; the gateways' where nothing is said"
        ),
        Setting("gateways", NAME, "the name in rgw_configurations that stands behind; all where they are alike"),
        Setting(
            "router_id",
            Whole(1, 255),
            "number of the VRRP group; the last byte of the address where nothing is said",
            source="keepalived.conf(5), virtual_router_id",
        ),
    )
)
IDENTITY = Group(
    (
        Setting("url", URL, "where Keystone answers", source=KEYSTONE, required=True),
        Setting("user", LINE, "the gateways' user at Keystone, with the role admin in the project", default="rgw"),
        Setting("project", LINE, "that user's project", default="service"),
        Setting("domain", LINE, "that user's domain", default="Default"),
        Setting("accepted_roles", Many(LINE), "roles whose members may use the gateways", default=["member", "admin"]),
        Setting("accepted_admin_roles", Many(LINE), "roles whose members administer the gateways", default=[]),
        Setting(
            "implicit_tenants", Flag(), "a tenant for each project: projects may have buckets of one name", default=True
        ),
        Setting("s3", Flag(), "keys of Keystone's EC2 credentials open S3 too", default=True),
        Setting("account_in_url", Flag(), "Swift's URLs hold the account", default=True),
        Setting("token_cache", Whole(0, 10**9), "tokens that are kept; 0: Keystone is asked each time", default=10000),
        Setting("password", GIVEN, "the file with that user's password, of mode 0600", default="rgw_keystone"),
        Setting("ca", GIVEN, "the certificate that Keystone's is signed with, where hosts do not trust it already"),
    )
)
SETTINGS = (
    Setting(
        "rgw_configurations",
        Names(NAME, GATEWAY, "{rgw: {port: 8080}}"),
        "gateways beside rgw, or with other ports: each name is a role",
        default={},
        place=LAYER,
    ),
    Setting(
        "rgw_pools",
        Group(tuple(Setting(pool, POOL_OPTIONS, f"how the zone's pool {pool} is made", default={}) for pool in POOLS)),
        "how the zone's pools are made where they are missing, by their names in the zone",
        source="docs.ceph.com, radosgw/layout and radosgw/pools",
        default={},
        place=LAYER,
    ),
    Setting(
        "adopted_gateways",
        Many(NAME),
        "hosts whose gateway others made and has its section among the fragments of ceph.conf; said, even "
        "of none, it also leaves the zone its pools: no stage makes one; ceph.adopt writes it",
        default=[],
        place=ADOPTED,
    ),
    Setting(
        "rgw_users",
        Named(S3_NAME, USER, "{alice: {}}"),
        "users of the gateways, each with one key",
        default={},
        place=LAYER,
    ),
    Setting("rgw_frontend", FRONT, "one address before several gateways, by HAProxy and keepalived", place=LAYER),
    Setting("rgw_keystone", IDENTITY, "OpenStack's users at the gateways", source=KEYSTONE, place=LAYER),
)
