"""`add`: one more node like another, in a running lab."""

import ipaddress
from contextlib import ExitStack

import yaml
from docker import DockerClient

from lab import clean, containers, daemon, image, salt, up
from lab.cluster import Node, parse
from lab.errors import LabError
from lab.progress import say, step
from lab.store import Lab, find, locked


def add(name: str, like: str, accept: bool, cluster: str | None) -> None:
    """Make a host with the same networks and disks as `like`, at the next free addresses, and boot it.

    accept: take its key and wait for its answer; else its key waits for `salt-key`.
    """
    with locked(), ExitStack() as undo:
        lab, client = find(cluster), daemon.needed()
        before, lab.text = lab.text, with_host(lab, name, lab.cluster.host(like))
        undo.callback(_shrink, client, lab, name, before)
        host = lab.cluster.host(name)
        lab.save()
        with step(f"make {name} with {len(host.slots)} disks at {', '.join(host.addresses.values())}"):
            up.wait_for_systemd(up.boot(client, lab, name, image.ensure(client)))
        master = containers.find(client, lab, lab.cluster.master.name)
        with step("wait for its key"):
            salt.wait_for_keys(master, {name})
        if accept:
            with step("accept it with salt-key, wait for its answer"):
                salt.accept(master, {name})
                salt.wait_for_answers(master, {name})
        undo.pop_all()
    say(f"{name} is one more like {like}.")


def _shrink(client: DockerClient, lab: Lab, name: str, text: str) -> None:
    """Back to the hosts of the cluster file `text`: one that could not be made is removed."""
    lab.text = text
    clean.remove_host(client, lab, name)
    lab.save()


def with_host(lab: Lab, name: str, like: Node) -> str:
    """The lab's cluster file with one more host.

    Raises LabError where the name is taken, is no host name, or no address is free.
    """
    if name in [host.name for host in lab.cluster.hosts]:
        raise LabError(f"{lab.name} has a host {name} already.")
    if not name.isalnum():
        raise LabError(f"{name!r} is no host name: expected letters and digits.")
    if like.guest:
        raise LabError(f"{like.name} is a guest, and hosts that are added are containers: name one that is.")
    counts: dict[str, int] = {}
    for model in like.slots:
        counts[model.name] = counts.get(model.name, 0) + 1
    data = yaml.safe_load(lab.text)
    networks = list(like.addresses)
    data["hosts"].append({"names": [name], "first": _free_place(lab, networks), "networks": networks, "disks": counts})
    text = yaml.safe_dump(data, sort_keys=False)
    parse(lab.name, text)
    return text


def _free_place(lab: Lab, networks: list[str]) -> int:
    """The first place after all hosts that every one of the networks has."""
    places = [
        int(ipaddress.ip_address(address)) - int(ipaddress.ip_network(lab.cluster.networks[network]).network_address)
        for host in lab.cluster.hosts
        for network, address in host.addresses.items()
    ]
    place = max(places) + 1
    for network in networks:
        subnet = ipaddress.ip_network(lab.cluster.networks[network])
        if place >= subnet.num_addresses - 1:
            raise LabError(f"{lab.name}: no address is free in {network} {subnet}.")
    return place
