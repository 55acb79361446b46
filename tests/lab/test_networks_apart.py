"""Public and cluster network apart, as in the Mellanox paper: planned, chosen, deployed; OSDs speak on both."""

import ipaddress
import json

import pytest

PUBLIC, CLUSTER = ipaddress.ip_network("192.168.140.0/24"), ipaddress.ip_network("192.168.190.0/24")
POLICY = "/srv/pillar/ceph/proposals/policy.cfg"
STAGES = ("prep", "discovery", "configure", "deploy")


def inside(address: str, network: ipaddress.IPv4Network) -> bool:
    return ipaddress.ip_address(address.partition(":")[0]) in network


@pytest.mark.big
def test_osds_speak_on_both_networks(own_lab) -> None:
    session = own_lab("mellanox")

    def typed(command: str) -> str:
        return session.run("saltmaster", command, limit=900).out

    for stage in STAGES[:2]:
        typed(f"salt-run state.orch ceph.stage.{stage}")
    said = typed("salt-run networks.populate name=mellanox mode=none mtu=1500 cluster-network=192.168.190.0/24")
    said = " ".join(said.split())  # long lines are folded
    assert "the cluster network has 1 times the capacity of the public one" in said
    assert "2 to 4 times is advised" in said
    typed("salt-run proposal.populate name=mellanox data=class=hdd db=class=ssd")
    for kind in ("cluster.yml", "minions/*.yml"):
        typed(f"echo 'network-mellanox/stack/default/ceph/{kind}' >>{POLICY}")
    for stage in STAGES[2:]:
        typed(f"salt-run state.orch ceph.stage.{stage}")
    osds = json.loads(typed("ceph osd dump --format json"))["osds"]
    assert len(osds) == 25
    for osd in osds:
        assert inside(osd["public_addr"], PUBLIC) and inside(osd["heartbeat_front_addr"], PUBLIC), osd
        assert inside(osd["cluster_addr"], CLUSTER) and inside(osd["heartbeat_back_addr"], CLUSTER), osd
