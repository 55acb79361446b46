"""What a load needs in the cluster: a pool, an image, a user of Ceph's, one of the gateways'; made, and taken away."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from docker.models.containers import Container

from lab import containers
from lab.errors import LabError
from lab.load.node.clients import CONF, NAME, STRIPE, USER

ANSWERS = 20  # seconds for monitors to answer who connects: an election takes a few
GROUPS = 16  # placement groups of the pool: on a small cluster each OSD leads some
OBJECTS = 1024  # the image's
FIRST = "cephfs"  # of several file systems
ROOT_OF_GATEWAYS = ".rgw.root"  # radosgw-admin makes this pool where it is not there
# Each operation reaches the cluster: nothing is answered from a cache, or kept in one.
CONF_MORE = """[client]
rbd cache = false
client oc = false
fuse disable pagecache = true
keyring = {keyring}
"""


class Ground:
    """The cluster as the load's ground; commands are typed on the lab's master."""

    def __init__(self, master: Container) -> None:
        self._master = master

    def needed(self, lab: str) -> None:
        """Raise LabError where no cluster answers the admin on the master; lab: its name."""
        said = containers.run(self._master, f"ceph --connect-timeout {ANSWERS} health", limit=2 * ANSWERS)
        if said.code:
            why = (said.err or said.out).strip().splitlines()[-1:] or ["it says nothing"]
            raise LabError(
                f"no Ceph cluster answers on {lab}; `ceph health` on its master says: {why[0]}\n"
                f"The guide's commands up to ceph.stage.deploy make one: `python -m lab demo {lab}` types them."
            )

    def seconds(self, *limits: str) -> float:
        """The sum of some of Ceph's own limits, by the cluster's word: ``osd_heartbeat_grace`` is asked of ``osd``."""
        return sum(float(self._type(f"ceph config get {limit.split('_')[0]} {limit}")) for limit in limits)

    def services(self, urls: Sequence[str], ca: str) -> tuple[dict[str, Any], dict[str, str]]:
        """What each client is told of the cluster, and why others are left out, by client.

        urls: the gateways' addresses; where there are none, Ceph's own list. ca: a file on the master, the certificate
        that theirs are signed with.
        """
        settings: dict[str, Any] = {"rados": True, "rbd": True}
        absent: dict[str, str] = {}
        systems = sorted((each["name"] for each in self._ask("ceph fs ls")), key=lambda name: name != FIRST)
        if systems:
            settings["cephfs"] = systems[0]
        else:
            absent["cephfs"] = "the cluster has no file system"
        urls = urls or gateways(self._ask("ceph service dump"))
        if not urls:
            absent["s3"] = "the cluster has no gateway"
        elif not ca and any(url.startswith("https:") for url in urls):
            absent["s3"] = f"{urls[0]} speaks TLS: name the file of its CA on the master with --s3-ca"
        else:
            settings["s3"] = {"urls": urls, "ca": self._type(f"cat {shlex.quote(ca)}") if ca else ""}
        return settings, absent

    def prepare(self, clients: Mapping[str, Any]) -> dict[str, str]:
        """Make what these clients need; the files of their host, path -> text."""
        self._type(f"ceph osd pool create {NAME} {GROUPS} {GROUPS} replicated --autoscale-mode=off")
        self._type(f"rbd pool init {NAME}")
        self._type(f"rbd create --size {OBJECTS * STRIPE // 2**20} --object-size {STRIPE} {NAME}/{NAME}")
        caps = {"mon": "profile rbd", "osd": f"profile rbd pool={NAME}"}
        if "cephfs" in clients:
            system = clients["cephfs"]
            caps = {
                "mon": f"{caps['mon']}, allow r fsname={system}",
                "osd": f"{caps['osd']}, allow rw tag cephfs data={system}",
                "mds": f"allow rw fsname={system}",
            }
        words = " ".join(shlex.quote(word) for pair in caps.items() for word in pair)
        keyring = CONF.with_name("keyring")
        return {
            str(keyring): self._type(f"ceph auth get-or-create {USER} {words}"),
            str(CONF): self._type("ceph config generate-minimal-conf") + CONF_MORE.format(keyring=keyring),
        }

    def user(self) -> dict[str, str]:
        """Make the gateways' user; its keys."""
        (keys,) = self._ask(f"radosgw-admin user create --uid={NAME} --display-name={NAME}")["keys"]
        return {"access_key": keys["access_key"], "secret_key": keys["secret_key"]}

    def remove(self) -> None:
        """Take away what `prepare` and `user` made, whichever of it there is."""
        pools = self._ask("ceph osd pool ls")
        if NAME in pools:
            leader = self._ask("ceph quorum_status")["quorum_leader_name"]
            allow = f"ceph tell mon.{leader} config"  # for this moment, and nothing of it is kept
            self._type(f"{allow} set mon_allow_pool_delete true")
            try:
                self._type(f"ceph osd pool rm {NAME} {NAME} --yes-i-really-really-mean-it")
            finally:
                self._type(f"{allow} unset mon_allow_pool_delete")
        if ROOT_OF_GATEWAYS in pools and NAME in self._ask("radosgw-admin user list"):
            self._type(f"radosgw-admin user rm --uid={NAME} --purge-data")
        self._type(f"ceph auth rm {USER}")

    def _ask(self, command: str) -> Any:
        return json.loads(self._type(f"{command} --format json"))

    def _type(self, command: str) -> str:
        done = containers.run(self._master, command, limit=120)
        if done.code:
            raise LabError(f"load: {' '.join(command.split()[:4])} … failed: {(done.err or done.out).strip()}")
        return done.out


def gateways(services: Mapping[str, Any]) -> list[str]:
    """The object gateways' addresses by ``ceph service dump``, sorted.

    A frontend's words are those of ``rgw_frontends``: ``beast port=80``, ``beast ssl_endpoint=0.0.0.0:443 …``.
    """
    daemons = services["services"].get("rgw", {}).get("daemons", {})
    addresses = set()
    for metadata in (daemon["metadata"] for daemon in daemons.values() if isinstance(daemon, dict)):
        frontend = metadata.get("frontend_config#0", "")
        if listens := re.search(r"\b(ssl_)?(?:port|endpoint)=(?:\S*:)?(\d+)", frontend):
            addresses.add(f"http{'s' if listens[1] else ''}://{metadata['hostname']}:{listens[2]}")
    return sorted(addresses)
