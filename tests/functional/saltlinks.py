"""The guide's network as configure would tell it to a host."""

from pathlib import Path

import yaml

from proposals.networking import arguments, fragments, plan
from proposals.reference import machines

FIXTURES = Path(__file__).parent.parent / "fixtures"
BACKENDS = ("networkd", "networkmanager", "wicked")
GUIDE = ("cluster-network=192.168.100.0/24", "cluster-vlan=3001", "gateway=192.168.124.1")


def apollo(host):
    """``ceph:network`` of one of the guide's hosts."""
    made = fragments.wanted(plan.peek(machines.inventory("apollo"), arguments.parse(GUIDE)))
    return yaml.load(made.files[f"stack/default/ceph/minions/{host}.yml"], yaml.CSafeLoader)["ceph"]["network"]
