"""``salt-run disk.*``: one disk of one host."""

import getpass

from proposals import answer
from proposals.cluster import wiping
from proposals.files import tree
from proposals.files.site import site
from proposals.text import names
from proposals.text.errors import ArgumentError, ProposalError


@answer.answers
def wipe(host, device, serial=None, yes=False):
    """Wipe a disk: tables, labels, signatures, verified and logged. Without ``yes=true`` it only says what it would do.

    Refused is a disk that is mounted, held, locked, swap, or carries an OSD that the cluster has not given up or
    that is another cluster's. The volume group of OSDs that were given up goes with its disk.

    host
        The minion.
    device
        The disk's name on it, best its stable one (``/dev/disk/by-id/...``).
    serial
        Its serial number as ``proposal.show`` tells it, so that no other disk can be meant; ``none`` where it has none.
    yes
        ``true``: do it.

    CLI Example:

    .. code-block:: bash

        salt-run disk.wipe osdnode1 /dev/disk/by-id/wwn-0x5000c500a1b2c3d4 serial=ZAD0A1B2
        salt-run disk.wipe osdnode1 /dev/disk/by-id/wwn-0x5000c500a1b2c3d4 serial=ZAD0A1B2 yes=true
    """
    host, device, serial = names.check_minion_id(host), _device(device), _serial(serial)
    if running := __salt__["stage_lock.holder"]():
        return answer.bad(f"stage {running['stage']} is running: wait for it, or end it with 'salt-run stage.stop'")
    seen = __salt__["minions.one"](host, "disks_wipe.inspect", [device])
    states, silent = _states(seen)
    refused = wiping.refusals(seen, serial, states, _fsid(), silent)
    if refused:
        return answer.bad("\n".join([f"{host} {device} is not wiped:", *refused]))
    told = wiping.described(host, seen)
    if yes is not True:
        return {"text": f"{told}\nwould be wiped, and all on it lost: yes=true does it"}
    log = __salt__["stage_log.of"]("disk.wipe")
    about = {"user": getpass.getuser(), "host": host, "disk": seen}
    __salt__["stage_log.add"](log, "wipe", **about)
    __salt__["minions.one"](host, "disks_wipe.wipe", [device, seen])
    __salt__["stage_log.add"](log, "wiped", host=host, device=seen["device"], serial=serial)
    return {"text": f"{told}\nis wiped and reads as empty; 'salt-run state.orch ceph.stage.discovery' looks at it anew"}


def _device(text):
    if names.is_device(text):
        return text
    raise ArgumentError(f"'{names.shown(text)}' is not a disk's name: expected /dev/... (see 'salt-run proposal.show')")


def _serial(typed):
    """The serial as typed: salt-run reads words as YAML, which makes a number of one that looks like it."""
    if typed is None:
        raise ArgumentError("serial=... is missing: the disk's serial number, so that no other disk can be meant")
    if isinstance(typed, str) or type(typed) is int:
        return str(typed)
    raise ArgumentError(f"serial={typed} is not taken for text: quote it twice, as in serial=\"'{typed}'\"")


def _states(seen):
    """What the cluster knows of its OSDs, and why it cannot be asked; not asked where no OSD is on the disk."""
    if not seen["fsids"]:
        return [], ""
    try:
        return __salt__["minions.cluster"]("cluster_osds.states"), ""
    except ProposalError as err:
        return None, str(err)


def _fsid():
    kept = site(__opts__).proposals / "config/stack/default/ceph/cluster.yml"
    return tree.read_yaml(kept).get("fsid") if kept.exists() else None
