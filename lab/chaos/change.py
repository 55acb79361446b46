"""What the stages of a round have to do: a setting of every host's ceph.conf, or an OSD on a new disk."""

import json
import re
from contextlib import ExitStack

from lab import hotplug
from lab.chaos.rounds import REPLACEMENT, Round
from lab.chaos.site import DeployedLab
from lab.errors import LabError

PILLAR = "/srv/pillar/ceph"
PROPOSALS = f"{PILLAR}/proposals"
OWN = f"{PILLAR}/stack/ceph/cluster.yml"  # the site's own layer, which chaos shares
MARK = "# chaos"
# Every OSD waits for a restart with it; the values are sound ones.
LINE = "ceph_health: {{osd: {{osd_max_scrubs: {{value: '{}'}}}}}}  {}"
VALUES = 4
COPIED = 300  # seconds until the data of one OSD lies elsewhere


def make(site: DeployedLab, what: Round) -> None:
    """Make a round's change."""
    if what.change == REPLACEMENT:
        replace(site, *what.disk)
    else:
        line = LINE.format(1 + what.number % VALUES, MARK)
        site.run(site.master, f'mkdir -p {OWN.rpartition("/")[0]}; touch {OWN}; {_without()}; echo "{line}" >>{OWN}')


def undo(site: DeployedLab) -> None:
    """Take the setting out of the site's file; the next configure and deploy take it off the hosts."""
    site.run(site.master, f"[ ! -e {OWN} ] || {_without()}")


def _without() -> str:
    return f"sed -i '/{MARK}$/d' {OWN}"


def replace(site: DeployedLab, host: str, slot: str) -> None:
    """Put a new disk in the place of one that carries an OSD, as the guide to it says."""
    osds = site.osds(host, slot)
    if len(osds) != 1:
        raise LabError(f"{len(osds)} OSDs lie on the disk in slot {slot} of {host}; expected one, to replace it.")
    osd = osds[0]
    with ExitStack() as back:
        back.callback(site.run, site.master, f"ceph osd in {osd}", False)
        site.run(site.master, f"ceph osd out {osd}")
        safe = f"ceph osd safe-to-destroy {osd}"
        copied = f"osd.{osd} is not safe to destroy"
        site.until(lambda: site.run(site.master, safe, check=False).code == 0, COPIED, copied)
        site.run(site.master, f"salt-run osd.replace {osd}")
        back.pop_all()
    hotplug.pull(host, slot, site.name)
    hotplug.plug(host, slot, True, site.name)


def populate(site: DeployedLab) -> None:
    """Plan anew each profile that policy.cfg chooses, with the arguments that its proposal has."""
    policy = site.run(site.master, ["cat", f"{PROPOSALS}/policy.cfg"]).out
    for name in sorted(set(re.findall(r"^profile-([^/\s]+)/cluster", policy, re.MULTILINE))):
        stored = json.loads(site.run(site.master, ["cat", f"{PROPOSALS}/profile-{name}/proposal.json"]).out)
        words = [f"{key}={value}" for key, value in stored["arguments"].items()]
        site.run(site.master, ["salt-run", "proposal.populate", f"name={name}", *words])
