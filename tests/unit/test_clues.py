"""Which cluster exists already, from labels on disks, ceph.conf, monitors' stores."""

import pytest

from proposals.inventory import existing_cluster
from proposals.text.errors import ProposalError

A, B = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
HOSTILE = "{{ salt['cmd.run']('touch /pwned') }}"


def host(*clusters):
    osds = [{"fsid": "f", "role": "data", "cluster": cluster} for cluster in clusters]
    return {"ceph_disks": [{"device": "/dev/sda", "id": "/dev/disk/by-id/wwn-1", "osds": osds}]}


def trace(fsid=None, monitors=(), admin=False, **conf):
    return {"conf": {**({"fsid": fsid} if fsid else {}), **conf}, "monitors": dict(monitors), "admin": admin}


STORE = {"/var/lib/ceph/mon/ceph-a": None}
CEPHADM = {f"/var/lib/ceph/{B}/mon.a": B}
CASES = {
    "nothing": ({"a": host()}, {"a": trace()}, None, None),
    "nothing yet, and one is kept": ({"a": host()}, {}, A, A),
    "labels": ({"a": host(A), "b": host(A)}, {}, None, A),
    "DBs alone name none": ({"a": host(None)}, {}, None, None),
    "ceph.conf": ({"a": host()}, {"a": trace(A)}, None, A),
    "monitor beside its ceph.conf": ({"a": host()}, {"a": trace(A, STORE)}, None, A),
    "cephadm's monitor": ({"a": host()}, {"a": trace(None, CEPHADM)}, None, B),
    "what is no fsid is none": ({"a": host(HOSTILE)}, {"a": trace(HOSTILE)}, None, None),
    "ours beside another's": ({"a": host(A, B)}, {}, A, A),
}


@pytest.mark.parametrize("name", CASES)
def test_the_cluster_that_exists(name):
    hosts, traces, kept, expected = CASES[name]
    fsid, said = existing_cluster.cluster(hosts, traces, kept)
    assert fsid == expected
    assert bool(said) == ("another" in name)


@pytest.mark.parametrize(
    ("hosts", "traces", "kept", "says"),
    [
        ({"a": host(A), "b": host(B)}, {}, None, f"2 clusters are found: {A} .a /dev/disk/by-id/wwn-1., {B} .b"),
        ({"a": host(A)}, {"c": trace(B)}, None, f"{B} .c /etc/ceph/ceph.conf"),
        ({"a": host(B)}, {}, A, f"cluster {B} .a .* and {A} was kept in .*cluster.yml: expected the same"),
        ({"a": host()}, {"m": trace(None, STORE)}, None, "monitor's store .m /var/lib/ceph/mon/ceph-a., and nothing"),
    ],
)
def test_what_is_not_guessed(hosts, traces, kept, says):
    with pytest.raises(ProposalError, match=says):
        existing_cluster.cluster(hosts, traces, kept)


PUBLIC = {"public_network": "10.0.0.0/16", "cluster_network": "10.1.0.0/16"}


@pytest.mark.parametrize(
    ("traces", "expected"),
    [
        ({"a": trace(A, **PUBLIC)}, PUBLIC),
        ({"a": trace(A, public_network="10.0.0.7/16")}, {**PUBLIC, "cluster_network": "10.0.0.0/16"}),
        ({"a": trace(B, **PUBLIC), "b": trace(A)}, None),  # another cluster's
        ({"a": trace(A, public_network="10.0.0.0/16,10.2.0.0/16")}, None),  # a list is for the admin to write
        ({"a": trace(A, public_network=HOSTILE)}, None),
    ],
)
def test_networks_of_ceph_conf(traces, expected):
    assert existing_cluster.networks(traces, A) == expected


def test_networks_of_the_clusters_own_configuration():
    rows = [{"section": "mon", "name": "public_network", "value": "10.0.0.0/16"}]
    rows += [{"section": "osd", "name": "public_network", "value": "10.9.0.0/16"}]
    assert existing_cluster.configured(rows) == {**PUBLIC, "cluster_network": "10.0.0.0/16"}
    assert existing_cluster.configured([]) is None


def test_the_asker_has_the_key_of_this_cluster():
    traces = {"a": trace(B, admin=True), "b": trace(A), "c": trace(A, admin=True)}
    assert existing_cluster.asker(traces, A) == "c"
    assert existing_cluster.asker(traces, None) is None
