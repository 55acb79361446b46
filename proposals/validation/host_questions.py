"""What ``host.facts`` is asked, the same of every host: names to resolve, and who is to reach which ports.

Every host resolves itself, the monitors and the master: those it must reach. So the work of a host does not grow
with the number of hosts, and one job asks them all.
"""

from collections.abc import Mapping
from typing import Any

from proposals.text import addresses
from proposals.validation.subject import Subject

# Ports of Ceph's daemons (docs.ceph.com, rados/configuration/network-config-ref): fixed ones with the process that
# shall hold them; of the range 6800-7300 (ms_bind_port_min, ms_bind_port_max) both ends.
PROBES: tuple[dict[str, Any], ...] = (
    {"roles": ["mon"], "on": "public_network", "ports": [3300, 6789], "process": "ceph-mon"},
    {"roles": ["mgr", "mds", "storage"], "on": "public_network", "ports": [6800, 7300], "process": ""},
    {"roles": ["storage"], "on": "cluster_network", "ports": [6800, 7300], "process": ""},
)
SOURCES = 2  # peers to ask about from each network: one of them is not the host itself


def ask(subject: Subject, inventory: Mapping[str, Mapping]) -> dict:
    """Return ``{network, names, probes}`` for ``host.facts``.

    inventory
        The hosts as discovery stored them.
    """
    public = subject.network("public_network")
    named = {
        minion: inventory[minion]["hostname"] for minion in subject.members("mon", "master") if minion in inventory
    }
    names = {
        name: address for minion, name in named.items() if (address := _address(inventory.get(minion, {}), public))
    }
    probes = []
    for probe in PROBES:
        network = subject.network(probe["on"])
        peers = (_address(inventory.get(minion, {}), network) for minion in subject.members(*probe["roles"]))
        sources = [address for address in peers if address][:SOURCES]
        if network and sources:
            kept = {key: probe[key] for key in ("roles", "ports", "process")}
            probes.append({**kept, "network": str(network), "sources": sources})
    return {"network": str(public) if public else "", "names": names, "probes": probes}


def _address(host: Mapping, network: addresses.Network | None) -> str | None:
    """A host's address in a network."""
    return next(iter(addresses.inside(host.get("addresses", ()), network)), None)
