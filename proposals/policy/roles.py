"""The roles that policy.cfg gives to hosts, beside the gateways that a site names itself (``services.table.roles``)."""

from collections.abc import Mapping

# role -> what a host with it is; the roles reference prints these words
ROLES: Mapping[str, str] = {
    "master": "the Salt master's host: asks the cluster, holds the admin's key, runs no daemon of Ceph",
    "admin": "ceph.conf and the admin's key",
    "mon": "a monitor",
    "mgr": "a manager",
    "mds": "a metadata server of CephFS",
    "storage": "OSDs, as its profile has them; comes with a profile's lines",
    "rgw": "an object gateway (S3, Swift)",
    "igw": "an iSCSI gateway",
    "ganesha": "an NFS server",
    "openattic": "access to the Ceph Dashboard: its admin's password; no daemon (the name is DeepSea's)",
    "prometheus": "Prometheus, and Grafana where the site asks for it",
    "alertmanager": "Alertmanager",
    "rbd-mirror": "the daemon that mirrors RBD images",
    "client-cephfs": "ceph-fuse and a key that mounts file systems",
    "client-radosgw": "an S3 program and the keys of the site's users",
    "client-iscsi": "an iSCSI initiator",
    "client-nfs": "an NFS client",
    "benchmark": "programs that measure",
}
FOLDERS = tuple(role for role in ROLES if role != "storage")  # storage comes with a profile
