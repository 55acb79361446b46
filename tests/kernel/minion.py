"""A guest of a real kernel that is a minion of a lab's master, with a switch that speaks LACP beside it."""

import json
import time

import saltcli

from lab.guest import guests
from lab.guest.guests import Guest
from lab.session import Session

SWITCH = "/usr/local/lib/lab/switch"  # of the guest; it answers at 10.30.1.254 in VLAN 3001, with jumbo frames
FOLDERS = "/etc/systemd/network /etc/NetworkManager/system-connections"
UNDO = "/var/lib/halocline/links"
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
        """Every file of a network backend, its content's hash and its time."""
        return self.run(f"find {FOLDERS} -type f | sort | while read -r f; do stat -c '%n %Y' $f; sha256sum $f; done")

    def links(self) -> dict[str, dict]:
        return {link["ifname"]: link for link in json.loads(self.run("ip -d -j address"))}

    def network(self) -> tuple[str, dict[str, tuple]]:
        """The files, and of each link in a bond or with addresses that bond and those, but for link-local ones."""
        found = {}
        for name, link in self.links().items():
            addresses = sorted(one["local"] for one in link["addr_info"] if one["scope"] == "global")
            if addresses or "master" in link:
                found[name] = (link.get("master"), *addresses)
        return self.files(), found

    def begin(self, sign: str, **links: dict) -> None:
        """Begin to apply these links, and come back when `sign`, a command, succeeds: the change has been made."""
        self.run(f"rm -rf {UNDO}/undone")
        words = ["salt", "--async", self.name, "state.apply", "ceph.host.networks", f"pillar={told(60, **links)}"]
        self.master.run("saltmaster", words)
        self.until(f"test -d {UNDO}/undo && {sign}", limit=120)

    def kill_minion(self) -> None:
        """Kill its minion with all that it does; nobody of it is left to undo anything."""
        self.run("systemctl kill --kill-whom=all --signal=KILL salt-minion; systemctl stop salt-minion; sleep 1")
        assert self.guest.run("pgrep -f 'salt-minion -'", check=False).code != 0

    def undone(self, before: tuple[str, dict[str, tuple]]) -> None:
        """Wait until all is as it was: files to the byte, links, addresses; and the master is answered."""
        self.until(f"test -e {UNDO}/undone/reason", limit=SECONDS + 60)
        end = time.monotonic() + SECONDS
        while (now := self.network()) != before:
            assert time.monotonic() < end, f"{now}\nbefore:\n{before}"
            time.sleep(1)
        self.answers()


def told(seconds: int = SECONDS, **links: dict) -> str:
    named = {name.replace("_", "."): link for name, link in links.items()}
    ports = {port: None for name, link in named.items() for port in link.get("ports", [name] * ("id" not in link))}
    return json.dumps({"ceph": {"network": {"links": named, "ports": ports, "seconds": seconds}}})
