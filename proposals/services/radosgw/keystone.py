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

from proposals.services import given
from proposals.services.service import PlannedCluster

FILE = "keystone-password"
# What the settings become in ceph.conf; lists joined, flags in Ceph's words.
OPTIONS = {
    "url": "rgw_keystone_url",
    "user": "rgw_keystone_admin_user",
    "project": "rgw_keystone_admin_project",
    "domain": "rgw_keystone_admin_domain",
    "accepted_roles": "rgw_keystone_accepted_roles",
    "accepted_admin_roles": "rgw_keystone_accepted_admin_roles",
    "implicit_tenants": "rgw_keystone_implicit_tenants",
    "s3": "rgw_s3_auth_use_keystone",
    "account_in_url": "rgw_swift_account_in_url",
    # Tokens that are kept do not ask Keystone again, so a revoked one is good until it ends: 0 keeps none
    "token_cache": "rgw_keystone_token_cache_size",
}


@dataclass(frozen=True)
class Keystone:
    """What gateways are told of Keystone; nothing where the site has none."""

    common: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    trusted: tuple[str, ...] = ()

    def options(self, folder: str) -> dict[str, str]:
        """The options of a gateway that keeps its files in a folder."""
        return {**self.common, "rgw_keystone_admin_password_path": f"{folder}/{FILE}"} if self.common else {}


def plan(cluster: PlannedCluster) -> tuple[Keystone, list[str]]:
    """Return what ``rgw_keystone`` makes of gateways, and what stands against it."""
    settings = cluster.settings["rgw_keystone"]
    if settings is None:
        return Keystone(), []
    common = {"rgw_keystone_api_version": "3"}
    common |= {option: _text(settings[key]) for key, option in OPTIONS.items() if settings[key] != []}
    password, ca = settings["password"], settings["ca"]
    form = "the password of the user that gateways are to Keystone"
    problems = given.required("rgw_keystone: password", password, cluster, form)
    if ca:
        problems += given.required(
            "rgw_keystone: ca", ca, cluster, "the certificate that Keystone's is signed with, in PEM"
        )
    return Keystone(common, {FILE: password}, (ca,) if ca else ()), problems


def _text(value: object) -> str:
    """A value as ceph.conf has it."""
    if isinstance(value, list):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
