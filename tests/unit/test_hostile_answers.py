"""Any answer of a minion becomes a host of the inventory or one InventoryError: nothing else, and never for others."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proposals.disks import arguments, plan
from proposals.inventory import all_hosts, existing_cluster, inventory_join
from proposals.text.errors import InventoryError, ProposalError

FSID = "11111111-1111-4111-8111-111111111111"
ANSWER = {
    "looked": {
        "ceph_disks_format": 1,
        "ceph_disks": [
            {"device": "/dev/sda", "id": "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4", "size": 6001175126016,
             "rotational": True, "transport": "sata", "in_use": ["has partitions"]},
            {"device": "/dev/sdb", "size": 800166076416, "rotational": False},
        ],
        "inspected": {
            "/dev/sda": {"signatures": ["gpt"], "partitions": 1, "groups": [], "osds": [
                {"fsid": "aaaaaaaa-0000-4000-8000-000000000001", "role": "data", "size": 10, "device": "/dev/sda1",
                 "cluster": FSID, "id": 3}]},
            "/dev/sdb": {"error": "timed out"},
        },
    },
    "nics": [{"name": "eth0", "addresses": ["192.168.124.31/24"]}],
    "trace": {"conf": {"fsid": FSID, "public_network": "192.168.124.0/24"}, "monitors": {}, "admin": True},
}  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["{{ x }}", FSID, b"\xff"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    """The path of every value in ``value``, itself included."""
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


PLACES = list(places(ANSWER))[1:]


def replaced(path, value):
    answer = copy.deepcopy(ANSWER)
    inner = answer
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return answer


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PLACES), VALUES)
def test_any_answer_is_a_host_or_one_message(path, value):
    answer = replaced(path, value)
    try:
        host = inventory_join.host(answer["looked"], answer["nics"], "node2", 1 << 34, None)
        trace = existing_cluster.check(answer["trace"]) if isinstance(answer["trace"], dict) else None
    except InventoryError as error:
        assert "its answer is not of the form expected" in str(error)
        return
    good = inventory_join.host(ANSWER["looked"], ANSWER["nics"], "node1", 1 << 34, None)
    hosts = {"node1": good, "node2": host}
    traces = {"node1": ANSWER["trace"], **({"node2": trace} if trace else {})}
    all_hosts.settle(hosts, [{"fsid": "x", "id": 3, "state": "destroyed"}], FSID)
    assert all_hosts.networks(hosts, "node1")["public_network"] == "192.168.124.0/24"
    try:
        existing_cluster.cluster(hosts, traces, FSID)
        existing_cluster.networks(traces, FSID)
        existing_cluster.asker(traces, FSID)
        planned = plan.peek({"cluster": FSID, "hosts": json.loads(json.dumps(hosts))}, arguments.parse([])).as_dict()
    except ProposalError as error:
        assert "\n" not in str(error)
        return
    assert "node1" in planned["hosts"]


def test_the_answer_as_it_should_be_is_read():
    host = inventory_join.host(ANSWER["looked"], ANSWER["nics"], "node1", 1 << 34, None)
    assert [disk["in_use"] for disk in host["ceph_disks"]] == [[], ["does not answer"]]
    assert existing_cluster.check(ANSWER["trace"]) == ANSWER["trace"]
