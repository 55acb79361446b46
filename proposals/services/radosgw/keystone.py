"""OpenStack's users at the gateways: Keystone is asked whose token or key a request carries::

    rgw_keystone:
      url: https://keystone:5000
      user: rgw                       # with the role admin in `project`: it validates tokens
      project: service
      domain: Default
      password: rgw_keystone          # the name of a file that the site gives
      accepted_roles: [member, admin]
      ca: keystone-ca.pem             # where the hosts do not trust Keystone's certificate already

What each becomes: docs.ceph.com, radosgw/keystone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from proposals.services.service import Cluster, Plan
from proposals.text.names import LABEL, shown

PASSWORD = "rgw_keystone"  # noqa: S105  # the name of a file
FILE = "keystone-password"
TEXTS = {"user": "rgw", "project": "service", "domain": "Default"}
LISTS = {"accepted_roles": ["member", "admin"], "accepted_admin_roles": []}
# What is on or off: the setting's word, Ceph's option, and which it is where the site says nothing.
FLAGS = {
    "implicit_tenants": ("rgw_keystone_implicit_tenants", True),  # a tenant a project: buckets of equal names
    "s3": ("rgw_s3_auth_use_keystone", True),
    "account_in_url": ("rgw_swift_account_in_url", True),
}
# Tokens that are kept do not ask Keystone again, so a revoked one is good until it ends: 0 keeps none
CACHE = {"token_cache": 10000}
KEYS = ("url", "password", "ca", *TEXTS, *LISTS, *FLAGS, *CACHE)


@dataclass(frozen=True)
class Keystone:
    """What gateways are told of Keystone; nothing where the site has none."""

    said: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    trusted: tuple[str, ...] = ()

    def options(self, folder: str) -> dict[str, str]:
        """The options of a gateway that keeps its files in a folder."""
        return {**self.said, "rgw_keystone_admin_password_path": f"{folder}/{FILE}"} if self.said else {}


def plan(cluster: Cluster, made: Plan) -> Keystone:
    """Read ``rgw_keystone``."""
    if not cluster.settings.get("rgw_keystone"):
        return Keystone()
    said = made.settings("rgw_keystone", cluster.settings["rgw_keystone"], KEYS)
    if not str(said.get("url", "")).startswith(("https://", "http://")) or not LABEL.fullmatch(str(said["url"])):
        made.wrong("rgw_keystone: url", said.get("url"), "where Keystone answers, such as https://keystone:5000")
    options = {"rgw_keystone_url": str(said.get("url")), "rgw_keystone_api_version": "3"}
    for key, default in TEXTS.items():
        options[f"rgw_keystone_admin_{key}"] = _text(key, said.get(key, default), made)
    for key, default in LISTS.items():
        given = said.get(key, default)
        given = given if isinstance(given, list) else [given]
        if given:
            options[f"rgw_keystone_{key}"] = ", ".join(_text(key, each, made) for each in given)
    for key, (option, default) in FLAGS.items():
        value = said.get(key, default)
        if not isinstance(value, bool):
            made.wrong(f"rgw_keystone: {key}", value, "true or false")
        options[option] = str(value).lower()
    for key, default in CACHE.items():
        options[f"rgw_keystone_{key}_size"] = str(made.number(f"rgw_keystone: {key}", said.get(key, default), 0, 10**9))
    form = "the password of the user that gateways are to Keystone"
    password = made.given("rgw_keystone: password", said.get("password", PASSWORD), cluster, form)
    ca = None
    if "ca" in said:
        ca = made.given(
            "rgw_keystone: ca", said["ca"], cluster, "the certificate that Keystone's is signed with, in PEM"
        )
    return Keystone(options, {FILE: password} if password else {}, (ca,) if ca else ())


def _text(key: str, said: object, made: Plan) -> str:
    """A name; it becomes a line of ceph.conf, so it holds no line's end, comment or quote."""
    if not isinstance(said, str) or not said or not LABEL.fullmatch(said) or "#" in said:
        made.wrong(f"rgw_keystone: {key}", said, "a name")
    return shown(said)
