"""``salt-run disk.*``: one disk of one host."""

import getpass
from typing import Any

from proposals.cluster import wiping
from proposals.files import site, tree
from proposals.text import names
from proposals.text.errors import ArgumentError, ProposalError
from runners.engine import answer, jobs, stage_lock, stage_log


@answer.answers
def wipe(host: str, device: str, serial: str | int | None = None, yes: bool = False) -> dict[str, Any]:
    """Wipe a disk: tables, labels, signatures, verified and logged. Without ``yes=true`` it only says what it would do.

    A disk is refused that is mounted, held, locked, swap, or carries an OSD that is not destroyed or is another
    cluster's. The volume group of destroyed OSDs goes with its disk.

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
    stage_lock.free(__opts__)
    seen = jobs.one(__opts__, host, "disks_wipe.inspect", [device], kind=dict)
    states, silent = _states(seen)
    refused = wiping.refusals(seen, serial, states, _fsid(), silent)
    if refused:
        return answer.bad("\n".join([f"{host} {device} is not wiped:", *refused]))
    described = wiping.described(host, seen)
    if yes is not True:
        return {"text": f"{described}\nwould be wiped, and all on it lost: yes=true does it"}
    stage_log.note(__opts__, "disk.wipe", "wipe", user=getpass.getuser(), host=host, disk=seen)
    jobs.one(__opts__, host, "disks_wipe.wipe", [device, seen])
    stage_log.note(__opts__, "disk.wipe", "wiped", host=host, device=seen["device"], serial=serial)
    again = "'salt-run state.orch ceph.stage.discovery' looks at it anew"
    return {"text": f"{described}\nis wiped and reads as empty; {again}"}


def _device(text: object) -> str:
    if names.is_device(text):
        return text
    raise ArgumentError(f"'{names.shown(text)}' is not a disk's name: expected /dev/... (see 'salt-run proposal.show')")


def _serial(typed: object) -> str:
    """The serial as typed: salt-run reads words as YAML, which makes a number of one that looks like it."""
    if typed is None:
        raise ArgumentError("serial=... is missing: the disk's serial number, so that no other disk can be meant")
    if isinstance(typed, str) or type(typed) is int:
        return str(typed)
    raise ArgumentError(f"serial={typed} is not taken for text: quote it twice, as in serial=\"'{typed}'\"")


def _states(seen: dict[str, Any]) -> tuple[list[dict] | None, str]:
    """What the cluster knows of its OSDs, and why it cannot be asked; not asked where no OSD is on the disk."""
    if not seen["fsids"]:
        return [], ""
    try:
        return jobs.cluster(__opts__, "cluster_osds.states", kind=list), ""
    except ProposalError as err:
        return None, str(err)


def _fsid() -> str | None:
    kept = site.site(__opts__).proposals / "config/stack/default/ceph/cluster.yml"
    return tree.read_yaml(kept).get("fsid") if kept.exists() else None
