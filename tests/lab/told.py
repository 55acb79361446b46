"""What a minion is told: a Python program for a node, handed over as text."""

import json

from product import Product

SALT = "/opt/salt/bin/python"  # the Python that Salt runs on, in a node
# Gets this minion's pillar anew from the master and prints what is no secret; Salt's printed pillar is masked.
PROGRAM = r"""
import json
import salt.config, salt.loader, salt.minion, salt.pillar
opts = salt.config.minion_config("/etc/salt/minion")
opts.update(salt.minion.resolve_dns(opts))
opts["grains"] = salt.loader.grains(opts)
got = salt.pillar.get_pillar(opts, opts["grains"], opts["id"], "base").compile_pillar()
told = {key: got.get(key) for key in ("roles", "fsid", "public_network", "cluster_network", "site_probe")}
osds = got.get("ceph", {}).get("storage", {}).get("osds", {})
print(json.dumps({**told, "osds": osds, "errors": got.get("_errors")}))
"""


def told(product: Product, host: str) -> dict:
    """The pillar of a host, compiled by the master now: roles, networks, fsid, OSDs, and what the site adds."""
    return json.loads(product.run(host, [SALT, "-W", "ignore", "-c", PROGRAM]).out)
