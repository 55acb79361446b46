"""Salt's own loader and compiler over this checkout, without daemons."""

import pytest
import salt.config
import salt.loader
import salt.state

FAMILIES = ("Debian", "Suse", "RedHat")
HOST = {"name": "node1", "address": "10.0.0.1", "addrs": "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]"}
EVERYONE = dict.fromkeys(("all", "master", "admin", "mon", "mgr", "storage", "networks"), ["node1"])
GATEWAY = {"name": "rgw.node1", "folder": "/var/lib/ceph/radosgw/ceph-rgw.node1", "files": ["keyring"], "port": 80}
USER = {"name": "a", "display_name": "A", "access_key": "a", "secret": "rgw_users.a", "max_buckets": None, "caps": {}}
# What configure would have told a minion that is everything.
PILLAR = {
    "fsid": "5bd9f8f0-5f5e-4a0e-9a5e-000000000001",
    "public_network": "10.0.0.0/24",
    "cluster_network": "10.0.1.0/24",
    "ceph_repos": {"ceph": {"name": "deb https://ceph.example.com/debian bookworm main", "file": "/etc/ceph.list"}},
    "expected_generation": "0123456789abcdef",
    "ceph": {
        "generation": "0123456789abcdef",
        "members": EVERYONE,
        "monitors": [HOST],
        "mon_initial_members": "node1",
        "mon_host": HOST["addrs"],
        "global": {},
        "sections": [],
        "expected_osds": 1,
        "services": {
            "mds": {"name": "node1"},
            "client-cephfs": {"entity": "client.cephfs.node1"},
            "ganesha": {
                "name": "node1",
                "user": "ganesha.node1",
                "grace": "x",
                "members": "x",
                "ids": {"/a": 1},
                "blocks": {},
            },
            "igw": {"client": "client.igw.node1", "pool": "iscsi", "trusted": [], "port": 5000},
            "iscsi-targets": {"targets": {}, "portals": []},
            "clients": {"roles": ["client-nfs", "client-iscsi", "client-radosgw", "benchmark"]},
            "rbd-mirror": {"entity": "client.rbd-mirror.node1"},
            "dashboard": {
                "port": 8443,
                "user": "a",
                "options": {},
                "certificate": "made",
                "names": "DNS:node1",
                "gateways": {},
            },
            "prometheus": {"config": {}, "rules": [["/etc/prometheus/site/a.yml", "salt://a.yml"]], "arguments": []},
            "alertmanager": {"config": {}, "given": ["smtp"], "arguments": ["--cluster.listen-address="]},
            "grafana": {"port": 3000, "certificate": "given", "names": "DNS:node1"},
            "rgw": {"gateways": [GATEWAY], "trusted": ["keystone-ca.pem"]},
            "radosgw": {"users": [USER]},
            "client-radosgw": {"users": [USER]},
            "rgw-frontend": {"files": ["tls.pem"], "port": 443},
            "openstack": {
                "pools": {kind: f"cloud-{kind}" for kind in ("images", "volumes", "backups", "vms")},
                "users": {user: user for user in ("glance", "cinder", "cinder-backup", "nova")},
                "secrets": dict.fromkeys(("cinder", "nova"), "0c7c9f0e-0000-4000-8000-000000000001"),
                "files": ["client.nova.key"],
            },
        },
    },
}


@pytest.fixture(scope="session")
def minion_opts(checkout, tmp_path_factory):
    """Options of a minion that serves itself from the checkout; a function of the OS family."""
    root = tmp_path_factory.mktemp("minion")

    def opts(family="Debian", pillar=None, site=None):
        found = salt.config.minion_config(None)
        found.update(
            {
                "root_dir": str(root),
                "cachedir": str(root / family / "cache"),
                "pki_dir": str(root / "pki"),
                "conf_file": str(root / "minion"),
                "id": "node1",
                "file_client": "local",
                "file_roots": {"base": [*([str(site)] if site else []), str(checkout / "salt")]},
                "pillar_roots": {"base": [str(checkout / "pillar")]},
                "module_dirs": [str(checkout / "_modules")],
                "states_dirs": [str(checkout / "salt" / "_states")],
                "utils_dirs": [str(checkout / "salt" / "_utils")],
                "grains_dirs": [str(checkout / "salt" / "_grains")],
                "grains": {"os_family": family, "os": family, "host": "node1", "id": "node1", "oscodename": "x"},
                "__role": "minion",
            }
        )
        return found

    return opts


@pytest.fixture(scope="module")
def show_sls(minion_opts):
    """Compile one SLS to its low chunks as a minion of an OS family would: what state.show_low_sls does."""
    compilers = {}

    def show(sls, family="Debian"):
        if family not in compilers:
            compilers.clear()  # Salt's modules keep the options of whoever loaded them last
            compilers[family] = salt.state.HighState(minion_opts(family), pillar_override=PILLAR)
        compiler = compilers[family]
        compiler.building_highstate.clear()
        high, errors = compiler.render_highstate({"base": [sls]})
        if errors := errors + compiler.state.verify_high(high):
            return errors
        return compiler.state.compile_high_data(high)[0]

    return show
