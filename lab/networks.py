"""The lab's networks: one Docker bridge each, with the cluster file's subnet."""

import ipaddress
import json
import zlib

from docker import DockerClient
from docker.errors import APIError
from docker.types import IPAMConfig, IPAMPool

from lab.commands import run
from lab.errors import LabError
from lab.store import Lab

LABEL = "halocline.lab"


def full_name(lab: Lab, network: str) -> str:
    return f"halocline-{lab.name}-{network}"


def bridge(lab: Lab, network: str) -> str:
    """Name of the bridge device: at most 15 characters, so a checksum of the full name."""
    return f"hcl{zlib.crc32(full_name(lab, network).encode()):08x}"


def check_free(lab: Lab) -> None:
    """Raise LabError where a subnet of the cluster overlaps one that this machine already has."""
    taken = [
        (ipaddress.ip_interface(f"{info['local']}/{info['prefixlen']}").network, link["ifname"])
        for link in json.loads(run("ip", "-4", "-j", "addr"))
        for info in link.get("addr_info", [])
    ]
    for network, text in lab.cluster.networks.items():
        for other, device in taken:
            if ipaddress.ip_network(text).overlaps(other):
                raise LabError(
                    f"{lab.name}: network {network} {text} overlaps {other} of {device}. "
                    f"End the lab that has it (`python -m lab status` lists them), or copy the cluster file "
                    f"and give it another subnet."
                )


def make(client: DockerClient, lab: Lab) -> None:
    """Make every network of a lab. All but the first are internal: no way out, as a cluster network should be."""
    for index, (network, text) in enumerate(lab.cluster.networks.items()):
        try:
            client.networks.create(
                full_name(lab, network),
                driver="bridge",
                internal=index > 0,
                ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=text)]),
                options={"com.docker.network.bridge.name": bridge(lab, network)},
                labels={LABEL: lab.name},
            )
        except APIError as err:
            raise LabError(f"{lab.name}: network {network} {text} cannot be made: {err.explanation}") from err
