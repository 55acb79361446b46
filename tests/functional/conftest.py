"""Salt's own loaders and compiler over this checkout, without daemons."""

import copy
import math
import sys

import pytest
import quickened
import salt.loader
import salt.state
from salt.loader.lazy import LOADED_BASE_NAME
from salt.utils.entrypoints import iter_entry_points
from saltfactories.utils.functional import Loaders

iter_entry_points.__wrapped__.expiration = math.inf  # Salt looks for new packages again and again: here come none
quickened.loaders()
FAMILIES = ("Debian", "Suse", "RedHat")
HOST = {"name": "node1", "address": "10.0.0.1", "addrs": "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]"}
EVERYONE = dict.fromkeys(("all", "master", "admin", "mon", "mgr", "storage", "daemons", "networks"), ["node1"])
GATEWAY = {"name": "rgw.node1", "folder": "/var/lib/ceph/radosgw/ceph-rgw.node1", "files": ["keyring"], "port": 80}
USER = {"name": "a", "display_name": "A", "access_key": "a", "secret": "rgw_users.a", "max_buckets": None, "caps": {}}
KEYRING = {"path": "/etc/ceph/ceph.client.a.keyring", "use": "keyring/client.a", "mode": "0600"}
KEYRING |= {"user": "root", "group": "root"}
# What configure would have told a minion that is everything.
PILLAR = {
    "fsid": "5bd9f8f0-5f5e-4a0e-9a5e-000000000001",
    "public_network": "10.0.0.0/24",
    "cluster_network": "10.0.1.0/24",
    "ceph_repos": {"ceph": {"name": "deb https://ceph.example.com/debian bookworm main", "file": "/etc/ceph.list"}},
    "expected_generation": "0123456789abcdef",
    "ceph_only": "node[1-4]*",
    "ceph_suite": "apollo",
    "ceph_target": None,
    "ceph_size": "quick",
    "ceph_label": "",
    "ceph": {
        "generation": "0123456789abcdef",
        "members": EVERYONE,
        "monitors": [HOST],
        "mon_initial_members": "node1",
        "mon_host": HOST["addrs"],
        "global": {},
        "sections": [],
        "daemons": ["ceph.cluster.crash", "ceph.cluster.mgr", "ceph.cluster.osd"],
        "services": {
            "mds": {"name": "node1"},
            "client-cephfs": {"entity": "client.cephfs.node1"},
            "ganesha": {
                "name": "node1",
                "user": "ganesha.node1",
                "pool": ".nfs",
                "namespace": "ganesha",
                "ids": {"/a": 1},
                "blocks": {},
            },
            "igw": {"client": "client.igw.node1", "pool": "iscsi", "trusted": [], "port": 5000},
            "iscsi-targets": {"targets": {}, "portals": []},
            "clients": {"roles": ["client-nfs", "client-iscsi", "client-radosgw", "benchmark"]},
            "rbd-mirror": {"entity": "client.rbd-mirror.node1"},
            "client-keys": {"keyrings": [KEYRING]},
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


@pytest.fixture
def runners(master):
    """The runners of the file's own ``master``, as Salt's loader makes them."""
    return master.runners()


@pytest.fixture(scope="session")
def minion(salt_factories, checkout):
    """A minion that is configured and does not run; it serves itself from the checkout, behind its ``state_tree``."""
    overrides = {
        "file_client": "local",
        "file_roots": {"base": [str(checkout / "salt")]},
        "pillar_roots": {"base": [str(checkout / "pillar")]},
        "extension_modules": "extmods",  # in the cache, where the factory has it, the loaders empty it
        "grains": {**family("Debian"), "host": "node1", "id": "node1", "oscodename": "x"},
        "enable_fqdns_grains": False,
        "enable_gpu_grains": False,
    }
    return salt_factories.salt_minion_daemon("node1", overrides=overrides)


@pytest.fixture(scope="session")
def loaders(minion):
    """Salt's loaders as that minion has them, our modules, states and grains synced into it as prep does.

    Their Python modules have names of their own: those of ``show_sls`` would else become theirs. A state takes the
    pillar that the modules have, as with ``salt-call``, where Salt else compiles it anew for each state.
    """
    return Loaders({**minion.config, "__cli": "salt-call"}, loaded_base_name="loaded")


@pytest.fixture(scope="session")
def modules(loaders):
    """The minion's execution modules."""
    return loaders.modules


@pytest.fixture
def with_pillar(modules, monkeypatch):
    """A function: the minion's execution modules where its pillar has these keys besides; its states have them too."""

    def tell(**pillar):
        for key, value in pillar.items():
            monkeypatch.setitem(modules.pack["__pillar__"], key, value)
        return modules

    return tell


@pytest.fixture(scope="session")
def python_module(loaders):
    """A function: the Python module that Salt's loader made of one of ours, to be patched or mocked."""

    def module(name):
        for loader in (loaders.modules, loaders.modules.pack["__salt__"]):  # each executes it anew
            getattr(loader, name)
        return sys.modules[f"{loaders.loaded_base_name}.ext.module.{name}"]

    return module


@pytest.fixture(scope="session")
def state_module(loaders):
    """The same of a state of ours."""

    def module(name):
        getattr(loaders.states, name)
        return sys.modules[f"{loaders.loaded_base_name}.ext.states.{name}"]

    return module


@pytest.fixture(scope="session")
def grain_module(loaders):
    """A function: the Python module that Salt's loader made of a grain of ours; ``Loaders`` has their values alone."""

    def module(name):
        getattr(salt.loader.grain_funcs(loaders.opts), name)
        return sys.modules[f"{LOADED_BASE_NAME}.ext.grains.{name}"]

    return module


def family(name):
    """The grains that tell an OS family."""
    return {"os_family": name, "os": name}


@pytest.fixture(scope="session")
def shown():
    """What SLS of the checkout were compiled to, by SLS and minion: no test changes them."""
    return {}


@pytest.fixture(scope="module")
def show_sls(loaders, shown, checkout):
    """Compile one SLS to its low chunks as a minion of an OS family would: what state.show_low_sls does.

    That makes a compiler for each SLS, 0.1 s each time: this one keeps its last.
    """
    compilers = {}

    def compiled(sls, os_family, crash, emptied=()):
        which = os_family, *crash, *emptied
        if which not in compilers:
            compilers.clear()  # Salt's modules keep the options of whoever loaded them last
            opts = {**loaders.opts, "grains": {**loaders.grains, **family(os_family)}}
            told = {**PILLAR, "ceph": {**PILLAR["ceph"], "crash": list(crash)}, **dict.fromkeys(emptied)}
            compilers[which] = salt.state.HighState(opts, pillar_override=told)
        compiler = compilers[which]
        compiler.building_highstate.clear()
        high, errors = compiler.render_highstate({"base": [sls]})
        if errors := errors + compiler.state.verify_high(high):
            return errors
        high, errors = compiler.state.requisite_in(high)
        chunks, wrong = compiler.state.compile_high_data(high)  # in their order; a requisite that is missing is wrong
        return errors + wrong or chunks

    def show(sls, os_family="Debian", crash=("ceph.cluster.crash",), emptied=()):
        path, which = checkout / "salt" / sls.replace(".", "/"), (sls, os_family, *crash)
        if emptied or not (path.with_suffix(".sls").exists() or (path / "init.sls").exists()):  # a test's own
            return compiled(sls, os_family, crash, emptied)
        if which not in shown:
            shown[which] = compiled(sls, os_family, crash)
        return copy.deepcopy(shown[which])

    return show
