"""Real masters beside and above each other, a syndic and minions on loopback, each in a folder of its own."""

import socket
import sys
from pathlib import Path

import salt.client
import salt.payload
import yaml
from salt.exceptions import SaltClientError, SaltReqTimeoutError

from proposals.files import atomic

sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))
import master as fleet

FSID = "5bd9f8f0-5f5e-4a0e-9a5e-000000000001"


class Master(fleet.Master):
    """A master without a fleet that accepts who asks; it knows one port of this machine and no disk, as labs have some.

    address
        The end of its address of loopback. All have the same ports: by the publisher's a minion with a standby looks
        whether it is connected.
    beside
        A master whose keys it has.
    """

    ports = dict(zip(("publish_port", "ret_port"), fleet.free_ports(2), strict=True))

    def __init__(self, root, address=1, beside=None, **settings):
        self.address = f"127.0.0.{address}"
        own = {"auto_accept": True, "worker_threads": 3, "interface": self.address, **self.ports}
        super().__init__(root, [], {**own, **settings})
        if beside:
            for path in (beside.root / "pki").glob("master.*"):
                atomic.write(root / "pki" / path.name, path.read_text(), path.stat().st_mode & 0o777)
        routes = [line.split() for line in Path("/proc/net/route").read_text().splitlines()]
        port = next(name for name, destination, *_ in routes if destination == "00000000")
        (root / "ports").mkdir()
        (root / "ports" / port).symlink_to(f"/sys/class/net/{port}")
        for name, seen, instead in (("disks", "/sys/block", "nowhere"), ("nics", "/sys/class/net", "ports")):
            grain = (fleet.CHECKOUT / f"salt/_grains/ceph_{name}.py").read_text()
            assert f'"{seen}"' in grain
            atomic.write(root / f"salt/_grains/ceph_{name}.py", grain.replace(f'"{seen}"', f'"{root / instead}"'))

    def start(self):
        self._popen("-c", fleet.SCRIPT.format("salt_master"), "-c", str(self.config))
        fleet.until(lambda: all(map(self._listens, self.ports.values())), "the master listens")

    def _listens(self, port):
        with socket.socket() as probe:
            return probe.connect_ex((self.address, port)) == 0

    def syndic(self, above):
        """Start a syndic that hands on what the master above asks; its id is this master's folder's name."""
        own = {"id": self.root.name, "root_dir": str(self.root / "syndic"), "master": self.address}
        (self.config / "minion").write_text(yaml.safe_dump(own))
        with (self.config / "master.d/site.conf").open("a") as conf:
            conf.write(f"syndic_master: {above.address}\nsyndic_master_port: {self.ports['ret_port']}\n")
        self._popen("-c", fleet.SCRIPT.format("salt_syndic"), "-c", str(self.config))

    def minion(self, name, root, *masters, **settings):
        """Start a minion of this master, or of several."""
        (root / "conf").mkdir(parents=True)
        asked = [each.address for each in masters or (self,)]
        own = {"id": name, "root_dir": str(root), "pki_dir": str(root / "pki"), "user": "root", "retry_dns": 0}
        own |= {"master": asked if masters else asked[0], "acceptance_wait_time": 2, "grains": {"host": name}}
        own |= {"master_port": self.ports["ret_port"], "publish_port": self.ports["publish_port"]}
        own |= {"enable_fqdns_grains": False, "enable_gpu_grains": False, **settings}
        (root / "conf/minion").write_text(yaml.safe_dump(own))
        self._popen("-c", fleet.SCRIPT.format("salt_minion"), "-c", str(root / "conf"))

    def asked(self, minions, function, *words):
        """What minions answer to a function that this master asks by Salt's own client; nothing while it cannot ask."""
        waits = {"timeout": 20, "gather_job_timeout": 10}
        try:
            with salt.client.get_local_client(mopts=self.opts()) as client:
                return client.cmd(list(minions), function, list(words), tgt_type="list", **waits)
        except (SaltClientError, SaltReqTimeoutError):
            return {}

    def has(self, *minions):
        """Wait until minions answer, and give them our modules, as prep's sync does."""
        fleet.until(lambda: len(self.asked(minions, "test.ping")) == len(minions), f"{minions} answer", 240)
        self.asked(minions, "state.apply", "ceph.host.sync")
        fleet.until(lambda: self._look(minions), f"{minions} have our modules", 240)

    def _look(self, minions):
        told = self.asked(minions, "host_parts.look")
        return all(isinstance(told.get(name), dict) for name in minions)

    def jobs(self):
        """The functions that this master's minions were asked, by whomever; ``find_job`` is Salt's own asking."""
        loads = [salt.payload.loads(path.read_bytes()) for path in (self.root / "var/cache").rglob(".load.p")]
        asked = [",".join(load["fun"]) if isinstance(load["fun"], list) else load["fun"] for load in loads]
        return [each for each in asked if each != "saltutil.find_job" and not each.startswith("runner.")]
