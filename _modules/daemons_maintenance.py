"""This host's daemons of Ceph and of its gateways while the host is in maintenance: stopped, also over a reboot."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 660  # seconds: rbd-target-api ends what initiators have under way (its unit's TimeoutStopSec is 600)
WANTED = {"enabled": Path("/etc/systemd/system"), "enabled-runtime": Path("/run/systemd/system")}
# In the order in which they stop: an address before its proxy, gateways before what they ask, monitors last.
ORDER = tuple(
    re.compile(rf"{name}\.service")
    for name in (
        *("ceph-rgw-keepalived", "ceph-rgw-haproxy", r"ceph-radosgw@.+", "nfs-ganesha", "rbd-target-api"),
        *("rbd-target-gw", "tcmu-runner", r"ceph-rbd-mirror@.+", r"ceph-mds@.+", r"ceph-osd@.+"),
        *(r"ceph-volume@.+", r"ceph-mgr@.+", r"ceph-mon@.+"),
    )
)
OSDS = ("ceph-osd@", "ceph-volume@")


def units() -> dict[str, str]:
    """Return the daemons' units that run or start at boot, in the order in which they stop: ``{unit: enabled}``.

    Their word is systemd's: ``enabled``, ``enabled-runtime``, or empty for one that runs and is neither.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons_maintenance.units
    """
    wanted = {path.name: word for word, folder in WANTED.items() for path in folder.glob("*.wants/*.service")}
    listing = ["systemctl", "list-units", "--type=service", "--state=active,activating", "--plain", "--no-legend"]
    running = [line.split()[0] for line in halocline.run([*listing, "--no-pager"]).splitlines() if line.strip()]
    found = sorted({*wanted, *running})
    return {unit: wanted.get(unit, "") for kind in ORDER for unit in found if kind.fullmatch(unit)}


def stop(names: Sequence[str]) -> list[str]:
    """Stop daemons and keep them from starting at boot, kind by kind; return their units.

    names
        A list as ``units`` gives it. One that is stopped already stays so.

    CLI Example: for ``salt-run maintenance.begin``.
    """
    for kind in ORDER:
        if same := [unit for unit in _known(names) if kind.fullmatch(unit)]:
            for more in ([], ["--runtime"]):
                halocline.run(["systemctl", "disable", "--quiet", *more, *same], limit=LIMIT)
            halocline.run(["systemctl", "stop", *same], limit=LIMIT)
    if left := [unit for unit in names if halocline.status(["systemctl", "--quiet", "is-active", unit]) == 0]:
        raise CommandExecutionError(f"{', '.join(left)} still run: see 'systemctl status' there, then run it again")
    return list(names)


def start(units: Mapping[str, str]) -> list[str]:
    """Let daemons start at boot as they did, and start them, monitors first; return their units. One that does not
    start holds back no other; of OSDs, whose disks may have died, the cluster says which are back.

    units
        As the function of that name gave them.

    CLI Example: for ``salt-run maintenance.end``.
    """
    kinds = [[unit for unit in _known(units) if kind.fullmatch(unit)] for kind in reversed(ORDER)]
    done = halocline.tried({", ".join(same): partial(_start, same, units) for same in kinds if same})
    if failed := [why for why in done["failed"] if not why.startswith(OSDS)]:
        raise CommandExecutionError("; ".join(failed))
    return list(units)


def _start(same: Sequence[str], units: Mapping[str, str]) -> None:
    """Let daemons of one kind start at boot as they did, and start them."""
    for word, more in (("enabled", []), ("enabled-runtime", ["--runtime"])):
        if again := [unit for unit in same if units[unit] == word]:
            halocline.run(["systemctl", "enable", "--quiet", *more, *again], limit=LIMIT)
    __salt__["daemons.forgive"](same)  # else systemd may start none that was started often today
    halocline.run(["systemctl", "start", *same], limit=LIMIT)


def _known(names: Sequence[str] | Mapping[str, str]) -> list[str]:
    """The names, where all are units of ours; nothing else is stopped or started by this way."""
    if strange := [unit for unit in names if not any(kind.fullmatch(unit) for kind in ORDER)]:
        raise CommandExecutionError(f"{', '.join(map(ascii, strange))}: no daemon of Ceph's or of its gateways")
    return list(names)
