"""What a master that DeepSea ran says: its policy.cfg and pillar, and what of them has no counterpart here.

Facts of its files: SUSE/DeepSea, branches SES5 and SES6, ``man/deepsea-policy.cfg.5``. Nothing here opens a file.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from proposals.policy.roles import ROLES
from proposals.settings.table import SETTINGS
from proposals.text.names import shown

SIGNS = ("deepsea_minions.sls", "master_minion.sls")  # below <pillar_root>/ceph: by these its master is known
GATEWAYS = ("rgw_configurations", "ganesha_configurations")
OTHERS = {  # its keys, by what does the same here
    "deepsea_minions": "ceph_minions in minions.sls",
    "master_minion": "the role master",
    "roles": "policy.cfg",
    "cluster": "policy.cfg",
    "available_roles": "the roles are fixed",
    "DEV_ENV": "small_site",
    "igw_config": "iscsi_targets",
}


def told(policy: str, pillar: Mapping[str, Mapping]) -> list[str]:
    """Return a line for each thing of DeepSea's that has no counterpart, or another one.

    policy
        The text of its policy.cfg, empty where there is none.
    pillar
        The contents of its pillar's files, by path.
    """
    return [*_lines(policy, {*ROLES, *_own_roles(pillar)}), *_keys(pillar)]


def _own_roles(pillar: Mapping[str, Mapping]) -> Iterator[str]:
    """The site's own gateways, each a role; their settings have the same names and forms here."""
    for named in (content.get(key) for content in pillar.values() for key in GATEWAYS):
        if isinstance(named, Mapping | list):
            yield from map(str, named)


def _lines(policy: str, roles: set[str]) -> Iterator[str]:
    for number, raw in enumerate(policy.splitlines(), 1):
        folder = raw.strip().partition("/")[0]
        if folder.startswith("profile-"):
            yield (
                f"policy.cfg line {number}, {shown(raw.strip())}: its OSDs exist: 'adopted' names them as they "
                "are; take the line out"
            )
        elif folder.startswith("role-") and not any(fnmatchcase(f"role-{role}", folder) for role in roles):
            yield f"policy.cfg line {number}, {shown(folder)}: a role without a counterpart"


def _keys(pillar: Mapping[str, Mapping]) -> Iterator[str]:
    known = {row.key for row in SETTINGS}
    for path, content in sorted(pillar.items()):
        for key in sorted(map(str, content)):
            if key in known:
                continue
            if key in OTHERS:
                yield f"{path}: {shown(key)}: {OTHERS[key]}"
            elif key.endswith("_init"):
                yield f"{path}: {shown(key)}: no counterpart: a site replaces an SLS by a file of the same path"
            else:
                yield f"{path}: {shown(key)}: no counterpart"
