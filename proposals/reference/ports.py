"""The network ports of the reference deployments. Figures are the published ones; what nobody published (names,
places, which port has the address before a bond is made) is said to be ours."""

GIGABIT = 1_000  # Mb/s


def _card(names: tuple[str, ...], speed: int, driver: str, place: str, *addresses: str) -> list[dict]:
    """The ports of one card; the first has the addresses."""
    return [
        {
            "name": name,
            "kind": "ethernet",
            "mtu": 1500,
            "up": True,
            "link": True,
            "addresses": list(addresses) if function == 0 else [],
            "speed": speed * GIGABIT,
            "driver": driver,
            "path": f"pci-{place}.{function}",
            "numa_node": 0,
        }
        for function, name in enumerate(names)
    ]


def _connectx4(last: int) -> list[dict]:
    """Apollo: one dual-port ConnectX-4 100 GbE; the primary network's address is the guide's."""
    return _card(("ens1f0", "ens1f1"), 100, "mlx5_core", "0000:5d:00", f"192.168.124.{last}/24")


def _two_networks(place: int, public: str | None, cluster: str | None) -> list[dict]:
    """Mellanox: a dual-port 40 GbE card, port 1 public, port 2 cluster; of the two designs no address is published."""
    ports = _card(("ens2", "ens2d1"), 40, "mlx4_en", "0000:04:00")
    for port, network in zip(ports, (public, cluster), strict=True):
        port["addresses"] = [f"{network}.{place + 10}/24"] if network else []
        port["path"] = "pci-0000:04:00.0"  # mlx4: both ports are one function
    return ports


def _moc(place: int) -> list[dict]:
    """MOC: 2 x 10 GbE; cards and addresses are ours."""
    return _card(("ens3f0", "ens3f1"), 10, "ixgbe", "0000:06:00", f"10.12.0.{place + 10}/22")


def _ours(place: int, speed: int, ports: int, network: str) -> list[dict]:
    """TigerShark (a bond of ports that are not described) and InfiniFlash (40 GbE): how many is ours."""
    names = ("ens1f0", "ens1f1")[:ports]
    return _card(names, speed, "mlx5_core", "0000:af:00", f"{network}.{place + 10}/24")


def ports(deployment: str, place: int, host: str) -> list[dict]:
    """``ceph_nics`` of a reference deployment's host; ``place``: its number there, from 1."""
    if deployment == "apollo":
        number = int(host[-1]) if host[-1].isdigit() else 0
        first = {"saltmaster": 20, "monnode": 20, "osdnode": 30}[host.rstrip("0123456789")]
        return _connectx4(first + number)
    if deployment == "mellanox-test":
        return _two_networks(place, "192.168.140", "192.168.190")
    if deployment.startswith("mellanox"):
        return _two_networks(place, None, None)
    if deployment == "moc":
        return _moc(place)
    if deployment == "tigershark":
        return _ours(place, 100, 2, "10.19.0")
    return _ours(place, 40, 1, "10.20.0")
