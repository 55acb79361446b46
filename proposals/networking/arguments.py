"""The arguments of ``networks.peek`` and ``networks.populate``."""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from proposals.networking.nics import NAME
from proposals.text import argument_readers, names
from proposals.text.addresses import Network
from proposals.text.argument_readers import Argument
from proposals.text.errors import ArgumentError

MODES = ("802.3ad", "active-backup", "none")
HASHES = ("layer2", "layer2+3", "layer3+4")
JUMBO = 9000  # bytes: what the guide's bonds have; the switches need 9216
MTU = range(1280, 9217)  # IPv6 asks for 1280 (RFC 8200); more than 9216 no common switch carries
VLAN = range(1, 4095)  # IEEE 802.1Q: 0 and 4095 are reserved


@dataclass(frozen=True, slots=True)
class NetworkArguments:
    """What was asked, understood. None is "not given"; ``mode`` None makes no bond."""

    name: str = "default"
    target: str | None = None
    ports: tuple[str, ...] = ()
    mode: str | None = "802.3ad"
    bond: str = "bond0"
    width: int = 2
    mtu: int | None = None
    lacp_rate: str = "fast"
    hash: str = "layer3+4"
    switches: int = 2
    public_network: Network | None = None
    cluster_network: Network | None = None
    public_vlan: int | None = None
    cluster_vlan: int | None = None
    cluster_hosts: str | None = None
    cluster_address: str = "same-host-part"
    gateway: str | None = None
    force: bool = False
    typed: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


def parse(pairs: Iterable[str] | Mapping[str, object]) -> NetworkArguments:
    """The arguments of ``["cluster-vlan=3001"]`` or ``{"cluster_vlan": 3001}``. Raises ArgumentError.

    CLI: ``python -m proposals networks peek INVENTORY cluster-vlan=3001 cluster-network=192.168.100.0/24``"""
    values, typed = argument_readers.read(pairs, ARGUMENTS)
    remembered = {key: typed[key] for key in sorted(typed) if key not in ("name", "force")}
    wanted = NetworkArguments(
        **{key.replace("-", "_"): value for key, value in values.items()}, typed=MappingProxyType(remembered)
    )
    _check_together(wanted)
    return wanted


def _check_together(wanted: NetworkArguments) -> None:
    check_apart(wanted.public_network, wanted.cluster_network)
    if wanted.cluster_vlan and wanted.cluster_vlan == wanted.public_vlan:
        raise ArgumentError(f"cluster-vlan and public-vlan are both {wanted.cluster_vlan}: two networks need two VLANs")
    if wanted.mode is None and (bond := [key for key in ("bond", "width", "lacp-rate") if key in wanted.typed]):
        raise ArgumentError(f"mode=none makes no bond: leave {' and '.join(bond)} out")
    if wanted.mode is None and wanted.public_vlan:
        raise ArgumentError("public-vlan needs a bond: with mode=none the public network stays where it is")


def check_apart(public: Network | None, cluster: Network | None) -> None:
    """Raise ArgumentError where two networks share addresses and are not the same one."""
    if public and cluster and public != cluster and public.version == cluster.version and public.overlaps(cluster):
        raise ArgumentError(
            f"public network {public} and cluster network {cluster} overlap: make them equal (one network for all) "
            "or separate"
        )


def _number(known: range, what: str) -> argument_readers.Reader:
    def read(name: str, value: object) -> tuple[object, object]:
        said = argument_readers.number_text(name, value)
        if not (said.isascii() and said.isdecimal() and len(said) < 9 and int(said) in known):
            raise ArgumentError(f"{name}={names.shown(said)}: {what} from {known[0]} to {known[-1]} was expected")
        return int(said), int(said)

    return read


def network(name: str, value: object) -> tuple[Network, str]:
    """A network such as 192.168.100.0/24. Raises ArgumentError that shows what it may have meant."""
    typed = argument_readers.text(name, value)
    try:
        return ipaddress.ip_network(typed), typed
    except ValueError as error:
        near = ""
        if "/" in typed:
            try:
                near = f": did you mean {ipaddress.ip_interface(typed).network}?"
            except ValueError:
                near = ""
        example = near or ": one such as 192.168.100.0/24 was expected"
        raise ArgumentError(f"{name}={names.shown(typed)} is not a network{example}") from error


def _ports(name: str, value: object) -> tuple[object, object]:
    typed = argument_readers.text(name, value)
    listed = [port.strip() for port in typed.split(",")]
    for at, port in enumerate(listed):
        if not NAME.fullmatch(port.replace("*", "x").replace("?", "x")):
            raise ArgumentError(
                f"{name}: '{names.shown(port)}' is not a port's name or a glob, as in {name}=ens1f0,ens2f*"
            )
        if port in listed[:at]:
            raise ArgumentError(f"{name}: port {port} is named twice: a bond holds each port once")
    return tuple(listed), ",".join(listed)


def _bond(name: str, value: object) -> tuple[object, object]:
    said = argument_readers.text(name, value)
    if not NAME.fullmatch(said) or len(said) > 10:  # bond0.3001 has to fit 15 characters
        raise ArgumentError(f"{name}={names.shown(said)}: at most 10 letters, digits, '_' and '-' were expected")
    return said, said


def _address(name: str, value: object) -> tuple[object, object]:
    said = argument_readers.text(name, value)
    try:
        return str(ipaddress.ip_address(said)), said
    except ValueError as error:
        raise ArgumentError(f"{name}={names.shown(said)} is not an address") from error


ARGUMENTS: dict[str, Argument] = {
    "name": Argument(argument_readers.profile_name, "the proposal's name: letters, digits, '.', '_', '-'", "default"),
    "target": Argument(
        argument_readers.word, "which minions: a Salt compound match; without Salt, a glob on the minion's id", "all"
    ),
    "ports": Argument(
        _ports, "which ports become the bond: names or globs, joined by commas", "the fastest of one kind"
    ),
    "mode": Argument(
        argument_readers.choice(MODES),
        "802.3ad (LACP), active-backup where switches know no LACP, or none: no bond",
        "802.3ad",
    ),
    "bond": Argument(_bond, "the bond's name, at most 10 characters", "bond0"),
    "width": Argument(_number(range(2, 9), "a number of ports"), "ports of a bond, of different cards first", "2"),
    "mtu": Argument(_number(MTU, "bytes"), "bytes of a frame; a port that cannot do it is an error", "9000, or less"),
    "lacp-rate": Argument(
        argument_readers.choice(("fast", "slow")), "how often LACP speaks: fast is each second, slow 30 seconds", "fast"
    ),
    "hash": Argument(
        argument_readers.choice(HASHES), f"what spreads frames over the ports: {', '.join(HASHES)}", "layer3+4"
    ),
    "switches": Argument(
        _number(range(1, 3), "a number of switches"), "how many switches the ports are cabled to, 1 or 2", "2"
    ),
    "public-network": Argument(network, "the network of clients and monitors", "what discovery found"),
    "cluster-network": Argument(network, "the network between OSDs", "what discovery found"),
    "public-vlan": Argument(_number(VLAN, "a VLAN"), "the VLAN of the public network on the bond", "untagged"),
    "cluster-vlan": Argument(_number(VLAN, "a VLAN"), "the VLAN of the cluster network on the bond", "untagged"),
    "cluster-hosts": Argument(
        argument_readers.word, "which hosts speak on the cluster network: a glob", "hosts with disks for OSDs"
    ),
    "cluster-address": Argument(
        argument_readers.choice(("same-host-part", "keep")),
        "same-host-part: 192.168.124.31 becomes 192.168.100.31; keep: no address is made",
        "same-host-part",
    ),
    "gateway": Argument(_address, "the default route's address", "the host's own, of a planned port"),
    "force": Argument(argument_readers.switch, "overwrite files that were edited", "off"),
}
