"""The object gateways of the cluster with services: their address, and their stage."""

import json
from typing import Any

from product import PILLAR, Product

from proposals.files.documents import parse_yaml


def front(product: Product) -> str:
    """The address before the gateways, as the site sets it."""
    settings = parse_yaml(product.run("saltmaster", f"cat {PILLAR}/stack/ceph/cluster.yml").out, "cluster.yml")
    return settings["rgw_frontend"]["address"]


def up(product: Product, check: bool = True) -> tuple[int, dict[str, Any]]:
    """Run the stage: its exit status, and what its last step said."""
    done = product.stage("ceph.stage.radosgw", check=check)
    states = next(iter(json.loads(done.out)["data"].values()))
    return done.code, next(state for state in states.values() if state["name"] == "service.up")
