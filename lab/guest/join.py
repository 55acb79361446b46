"""A guest becomes a minion of a lab's master: address, names, Salt's settings, key."""

from collections.abc import Mapping

from docker.models.containers import Container

from lab import containers, daemon, salt
from lab.cluster import ClusterFile, Node
from lab.errors import LabError
from lab.guest.guests import Guest
from lab.progress import step
from lab.store import CHECKOUT, Lab, find

NETWORK = "[Match]\nName={port}\n[Network]\nAddress={address}/{prefix}\n"


def join(guest: Guest, lab: Lab) -> None:
    """Set the guest up as a minion, accept its key with salt-key, wait for its answer."""
    cluster = lab.cluster
    assert guest.address  # a guest on a lab's network has one
    host = Node(guest.name, {next(iter(cluster.networks)): guest.address}, ())
    with step(f"make {guest.name} a minion of {cluster.master.name}"):
        master = containers.find(daemon.needed(), lab, cluster.master.name)
        _forget(master, guest)  # the key of an earlier guest of that name: with it, this one would be denied
        settle(guest, cluster, host, "vec0")
        salt.wait_for_keys(master, {guest.name})
        salt.accept(master, {guest.name})
        salt.wait_for_answers(master, {guest.name})


def settle(guest: Guest, cluster: ClusterFile, host: Node, port: str) -> None:
    """Let the guest be a minion of the cluster's master, with its address on a port; its key waits for salt-key."""
    put(guest, _files(cluster, host, port))
    guest.run(
        f"set -e; hostnamectl hostname {guest.name} 2>/dev/null || hostname {guest.name}; networkctl reload; "
        "systemctl enable --now --no-block salt-minion"
    )


def put(guest: Guest, files: Mapping[str, str]) -> None:
    """Write files (absolute path -> text) into a guest."""
    for path, text in files.items():
        guest.run(f"mkdir -p $(dirname {path}) && cat >{path} <<'END-OF-FILE'\n{text}\nEND-OF-FILE\n")


def leave(guest: Guest) -> None:
    """Take the guest's key from the master of its lab, where that still runs."""
    try:
        lab = find(guest.lab or "")
        _forget(containers.find(daemon.needed(), lab, lab.cluster.master.name), guest)
    except LabError:  # the lab is gone, and its master's keys with it
        return


def _forget(master: Container, guest: Guest) -> None:
    containers.run(master, f"salt-key --yes --delete {guest.name}")


def _files(cluster: ClusterFile, host: Node, port: str) -> dict[str, str]:
    network, address = next(iter(host.addresses.items()))
    names = dict.fromkeys(
        f"{other.addresses[network]} {other.name}.{cluster.domain} {other.name}"
        for other in (*cluster.hosts, host)
        if network in other.addresses
    )
    product = {f"/etc/salt/minion.d/{path.name}": path.read_text() for path in CHECKOUT.glob("srv/minion.d/*.conf")}
    return {
        **salt.files(cluster, host),
        **product,
        "/etc/hostname": host.name,
        "/etc/hosts": "\n".join(["127.0.0.1 localhost", *names]),
        f"/etc/systemd/network/10-{port}.network": NETWORK.format(
            port=port, address=address, prefix=cluster.networks[network].split("/")[1]
        ),
    }
