"""Checks of what was chosen: roles, how many of each, settings."""

import re
from collections.abc import Iterable

from proposals.policy.roles import ROLES
from proposals.services import ganesha, table
from proposals.text.names import UUID, nearest
from proposals.validation.check import ERROR, POLICY, WARNING, Check, Found, at
from proposals.validation.subject import Subject

# Roles that run a daemon beside the admin's own (docs/reference/roles.md); the master's host shall run none of them.
DAEMONS = ("mon", "mgr", "mds", "storage", "rgw", "igw", "ganesha", "rbd-mirror")
SITE = "<pillar_root>/ceph/stack/ceph/cluster.yml"
SMALL = f"or say 'small_site: true' in {SITE} where the site is small on purpose"


def unknown_role(subject: Subject) -> Iterable[Found]:
    """Roles that nothing acts on."""
    known = set(ROLES) | set(table.roles(subject.site))
    for minion, has in sorted(subject.roles.items()):
        for role in has:
            if role not in known:
                yield at(minion, role=role, nearest=nearest(role, known))


def fsid_shape(subject: Subject) -> Iterable[Found]:
    """An fsid that is none."""
    fsid = subject.settings.get("fsid")
    if not re.fullmatch(UUID, str(fsid)):
        yield at(found=fsid or "none")


def master_one(subject: Subject) -> Iterable[Found]:
    """No master, or several."""
    masters = subject.members("master")
    if len(masters) != 1:
        yield at(count=len(masters), names=", ".join(masters) or "none")


def master_daemons(subject: Subject) -> Iterable[Found]:
    """Daemons on the master's host."""
    for minion in subject.members("master"):
        if has := [role for role in subject.roles[minion] if role in DAEMONS]:
            yield at(minion, roles=", ".join(has))


def mon_few(subject: Subject) -> Iterable[Found]:
    """Fewer than three monitors."""
    if (count := len(subject.members("mon"))) < 3:
        yield at(count=count)


def mon_even(subject: Subject) -> Iterable[Found]:
    """An even number of monitors, from four on; two are too few anyway."""
    if (count := len(subject.members("mon"))) > 2 and count % 2 == 0:
        yield at(count=count, lost=(count - 1) // 2)


def mgr_few(subject: Subject) -> Iterable[Found]:
    """Fewer than two managers."""
    if (count := len(subject.members("mgr"))) < 2:
        yield at(count=count)


def storage_few(subject: Subject) -> Iterable[Found]:
    """Fewer storage hosts than the redundancy has parts."""
    count, needed = len(subject.members("storage")), subject.hosts_needed()
    if count < needed:
        yield at(count=count, needed=needed)


def storage_spare(subject: Subject) -> Iterable[Found]:
    """No storage host to spare: after the loss of one, nothing can be made whole again."""
    count, needed = len(subject.members("storage")), subject.hosts_needed()
    if count == needed:
        yield at(count=count, needed=needed, more=needed + 1)


def storage_empty(subject: Subject) -> Iterable[Found]:
    """Storage hosts without a layout."""
    yield from (at(minion) for minion in subject.members("storage") if not subject.osds.get(minion))


def storage_role(subject: Subject) -> Iterable[Found]:
    """Hosts with a layout but without the role that makes its OSDs."""
    members = set(subject.members("storage"))
    yield from (at(minion, count=count) for minion, count in sorted(subject.osds.items()) if minion not in members)


def nfs_beside_mds(subject: Subject) -> Iterable[Found]:
    """Hosts with an NFS server and a metadata server."""
    servers = {minion for role in ganesha.configurations(subject.site) for minion in subject.members(role)}
    yield from (at(minion) for minion in sorted(servers.intersection(subject.members("mds"))))


CHECKS = (
    Check(
        *("unknown_role", ERROR, POLICY, "every role is one that the product knows"),
        "unknown role '{role}'{nearest}",
        "correct the role-... line of policy.cfg and run ceph.stage.configure",
        unknown_role,
    ),
    Check(
        *("fsid", ERROR, POLICY, "the fsid is a UUID"),
        "fsid is {found}, expected a UUID such as 5bd9f8f0-5f5e-4a0e-9a5e-0123456789ab",
        "select config/stack/default/ceph/cluster.yml in policy.cfg; ceph.stage.discovery writes it",
        fsid_shape,
    ),
    Check(
        *("master_one", ERROR, POLICY, "exactly one minion is master"),
        "minions with the role master: {count} ({names}), expected one",
        "leave one role-master line in policy.cfg: the host whose minion runs beside the Salt master",
        master_one,
    ),
    Check(
        *("master_daemons", WARNING, POLICY, "the master's host runs no daemon but the admin's own"),
        "is master and also {roles}: what is done to the cluster's daemons would be done to the master's host",
        f"give these roles to other hosts, {SMALL}",
        master_daemons,
        size=True,
    ),
    Check(
        *("mon_few", ERROR, POLICY, "there are at least three monitors"),
        "monitors: {count}, expected 3 or more; the loss of one would stop the cluster",
        f"add role-mon lines to policy.cfg, {SMALL}",
        mon_few,
        "docs.ceph.com, rados/configuration/mon-config-ref (monitor quorum)",
        size=True,
    ),
    Check(
        *("mon_even", WARNING, POLICY, "the number of monitors is odd"),
        "{count} monitors survive the loss of {lost}, as one fewer do",
        "add or take away one role-mon host in policy.cfg",
        mon_even,
        "docs.ceph.com, rados/configuration/mon-config-ref (monitor quorum)",
    ),
    Check(
        *("mgr_few", ERROR, POLICY, "there are at least two managers"),
        "managers: {count}, expected 2 or more; without one, the cluster shows and balances nothing",
        f"add role-mgr lines to policy.cfg, {SMALL}",
        mgr_few,
        "docs.ceph.com, mgr/administrator (high availability)",
        size=True,
    ),
    Check(
        *("storage_few", ERROR, POLICY, "there are storage hosts for every part of the redundancy"),
        "storage hosts: {count}, and the redundancy needs {needed}; placement groups would stay undersized",
        f"add hosts to the profile's lines in policy.cfg, set 'redundancy' to what the pools have, {SMALL}",
        storage_few,
        "docs.ceph.com, rados/operations/crush-map (failure domain host)",
        size=True,
    ),
    Check(
        *("storage_spare", WARNING, POLICY, "one storage host more than the redundancy needs"),
        "storage hosts: {count}, just what the redundancy needs; with one lost, nothing heals",
        f"{{more}} hosts heal after a loss; {SMALL}",
        storage_spare,
        "docs.ceph.com, rados/operations/crush-map (failure domain host)",
        size=True,
    ),
    Check(
        *("storage_empty", ERROR, POLICY, "every storage host has a layout"),
        "has the role storage, and no layout says which disks",
        "select profile-NAME/stack/default/ceph/minions/*.yml in policy.cfg, or take the role away",
        storage_empty,
    ),
    Check(
        *("storage_role", WARNING, POLICY, "every layout's host has the role storage"),
        "has a layout (OSDs: {count}) but not the role storage, so none is made",
        "select profile-NAME/cluster/*.sls in policy.cfg too",
        storage_role,
    ),
    Check(
        *("nfs_beside_mds", WARNING, POLICY, "no host is NFS server and metadata server"),
        "is NFS server and metadata server: lost together, the file system waits up to 5 minutes for the NFS server",
        f"give role-ganesha or role-mds to other hosts, {SMALL}",
        nfs_beside_mds,
        "nfs-ganesha's src/FSAL/FSAL_CEPH/main.c (sessions of 300 s); Ceph's src/mds/Server.cc (reconnect, reclaim)",
        size=True,
    ),
)
