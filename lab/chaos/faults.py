"""What breaks: each fault begins, is mended, and says what may be expected of the stage that it strikes meanwhile."""

import errno
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from lab import faults, hotplug, power
from lab.chaos.rounds import Round
from lab.chaos.site import DeployedLab
from lab.chaos.stage import Stage

# The minion's: of a master's full disk Salt itself prints tracebacks (salt/utils/job.py), and its jobs are not written.
CACHE = "/var/cache/salt/minion"
# The lab's full file system goes with all that was written to it, which no disk does: jobs that began on it and go on
# have to stay known to Salt. What lies under it is seen by another way.
KEPT = f"""set -e; cd {CACHE}; rm -f .lab-fill; mkdir -p /run/lab-kept proc
mount --bind {CACHE.rpartition("/")[0]} /run/lab-kept
cp -a --update proc /run/lab-kept/{CACHE.rpartition("/")[2]}/; umount /run/lab-kept"""
NOTICED = 120  # seconds until the cluster sees that an OSD lost its disk
Act = Callable[[DeployedLab, Round], None]


@dataclass(frozen=True)
class Fault:
    """One kind of fault.

    named: a stage that fails because of it names its host. ended: the stage itself gets the signal. crashes: OSDs end
    themselves because of it, and their crash reports stay when all is mended. excused: an error of which Salt's own
    states print a traceback, as they do of each that they do not expect.
    """

    begin: Callable[[DeployedLab, Round, Stage], None]
    mend: Act
    named: bool = False
    ended: bool = False
    crashes: bool = False
    excused: str = ""

    def codes(self, detail: str) -> set[int]:
        """Exit statuses that the stage may have: done, failed, or ended by the signal that it got."""
        return {0, 1} | ({128 + signal.Signals[f"SIG{detail}"]} if self.ended else set())


def end_minion(site: DeployedLab, what: Round, _: Stage) -> None:
    if what.detail == "KILL":
        faults.kill_minion(what.host, site.name)
    else:
        site.run(what.host, "systemctl stop salt-minion")


def mend_host(site: DeployedLab, what: Round) -> None:
    faults.mend(what.host, site.name)


def end_master(site: DeployedLab, what: Round, _: Stage) -> None:
    kill = "systemctl kill --kill-whom=all --signal=KILL salt-master; " if what.detail == "KILL" else ""
    site.run(site.master, f"{kill}systemctl stop salt-master")


def start_master(site: DeployedLab, _: Round) -> None:
    site.run(site.master, "systemctl reset-failed salt-master; systemctl start salt-master")


def end_stage(_: DeployedLab, what: Round, stage: Stage) -> None:
    stage.kill(what.detail)


def leave(_: DeployedLab, __: Round) -> None:
    """Nothing to mend."""


def kill_daemons(site: DeployedLab, what: Round, _: Stage) -> None:
    """Kill a host's daemons of one kind; systemd does not start them again."""
    units = f"'ceph-{what.detail}@*.service'"
    site.run(what.host, f"systemctl kill --signal=KILL {units}; systemctl stop {units}")


def start_daemons(site: DeployedLab, what: Round) -> None:
    """Start those that are enabled, also where systemd had given up; whether they run is the judge's."""
    wants = f"/etc/systemd/system/ceph-{what.detail}.target.wants"
    each = "systemctl reset-failed $unit; systemctl start $unit"
    site.run(what.host, f"for unit in $(ls {wants}); do {each}; done", check=False)


def stop_host(site: DeployedLab, what: Round, _: Stage) -> None:
    power.stop(what.host, site.name)


def start_host(site: DeployedLab, what: Round) -> None:
    power.start(what.host, site.name)


def pull_disk(site: DeployedLab, what: Round, _: Stage) -> None:
    """Pull a disk, and wait until its OSDs are seen down: idle, they would not notice, and die after it is back."""
    osds = site.osds(what.host, what.detail)
    hotplug.pull(what.host, what.detail, site.name)

    def down() -> bool:
        for osd in osds:  # writing something is how an OSD notices
            site.run(site.master, f"timeout 10 ceph tell osd.{osd} bench 4096 4096 || true")
        return not any(osd["up"] for osd in site.ceph("osd dump")["osds"] if osd["osd"] in osds)

    site.until(down, NOTICED, f"osd.{', osd.'.join(map(str, osds))} without their disk are not seen down")


def plug_disk(site: DeployedLab, what: Round) -> None:
    hotplug.plug(what.host, what.detail, False, site.name)


def cut_network(site: DeployedLab, what: Round, _: Stage) -> None:
    faults.cut(what.host, what.detail, site.name)


def fill_cache(site: DeployedLab, what: Round, _: Stage) -> None:
    faults.fill(what.host, CACHE, site.name)


def empty_cache(site: DeployedLab, what: Round) -> None:
    site.run(what.host, KEPT, check=False)
    mend_host(site, what)


FAULTS = {
    "minion": Fault(end_minion, mend_host, named=True),
    "master": Fault(end_master, start_master),
    "stage": Fault(end_stage, leave, ended=True),
    "daemons": Fault(kill_daemons, start_daemons),
    "host": Fault(stop_host, start_host, named=True),
    "disk": Fault(pull_disk, plug_disk, crashes=True),
    "network": Fault(cut_network, mend_host),
    "cache": Fault(fill_cache, empty_cache, named=True, excused=os.strerror(errno.ENOSPC)),
}
