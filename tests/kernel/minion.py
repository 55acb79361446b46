"""A guest of a real kernel that is a minion of a lab's master, with a switch that speaks LACP beside it."""

import json
import time

import saltcli

from lab.guest import guests
from lab.guest.guests import Guest
from lab.session import Session

# A switch with LACP inside the guest: a second bond in a network namespace, over two veth pairs.
SWITCH = """
set -e
modprobe -a bonding 8021q veth
ip netns add sw
for i in 1 2; do ip link add p$i type veth peer name sw$i netns sw; done
ip -n sw link add po1 type bond mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4
for i in 1 2; do ip -n sw link set sw$i mtu 9000 master po1; ip -n sw link set sw$i up; ip link set p$i up; done
ip -n sw link set po1 mtu 9000 up
ip -n sw link add link po1 name v3001 type vlan id 3001
ip -n sw addr add 10.30.1.254/24 dev v3001
ip -n sw link set v3001 up
"""
SECONDS = 90  # a guest is about seven times slower than a host


class Host:
    """A guest that is a minion of a lab's master, with the switch beside it."""

    def __init__(self, master: Session, name: str) -> None:
        self.master, self.name = master, name

    @property
    def guest(self) -> Guest:
        return guests.find(self.name)  # as it runs now: a restart is another process

    def run(self, command: str, check: bool = True) -> str:
        return self.guest.run(command, check=check).out

    def salt(self, *words: str, check: bool = True) -> dict:
        return saltcli.salt(self.master, self.name, "-t", "300", *words, check=check, limit=500).data

    def apply(self, seconds: int = SECONDS, **links: dict) -> dict:
        """Apply ``ceph.host.networks`` with these links; the answer of the state ``links.applied``."""
        states = self.salt("state.apply", "ceph.host.networks", f"pillar={told(seconds, **links)}", check=False)
        return next(one for key, one in states.items() if key.startswith("links_"))

    def answers(self) -> None:
        """Wait until its minion is connected: what is sent before is lost."""
        end = time.monotonic() + 180
        while self.master.run("saltmaster", f"salt -t 10 {self.name} test.ping | grep -w True", check=False).code:
            assert time.monotonic() < end, f"{self.name} does not answer the master"

    def until(self, command: str, limit: float = 60) -> str:
        """Wait until a command in the guest succeeds."""
        end = time.monotonic() + limit
        while (done := self.guest.run(command, check=False)).code:
            assert time.monotonic() < end, f"{command}: {done.out}{done.err}"
            time.sleep(1)
        return done.out

    def files(self) -> str:
        return self.run("cd /etc/systemd/network && for f in *; do stat -c '%n %Y' $f; sha256sum $f; done")

    def links(self) -> dict[str, dict]:
        return {link["ifname"]: link for link in json.loads(self.run("ip -d -j address"))}


def told(seconds: int = SECONDS, **links: dict) -> str:
    named = {name.replace("_", "."): link for name, link in links.items()}
    ports = {port: None for name, link in named.items() for port in link.get("ports", [name] * ("id" not in link))}
    return json.dumps({"ceph": {"network": {"links": named, "ports": ports, "seconds": seconds}}})
