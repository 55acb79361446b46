"""``salt-run disk.*``: how disks are, and one disk wiped."""

from typing import Any

from proposals.cluster import failing, wiping
from proposals.files import site, tree
from proposals.stages import replies
from proposals.text import argument_readers, names
from proposals.text.errors import ArgumentError, ProposalError
from runners.engine import answer
from runners.engine.asking import jobs, minions, planned, taking_part
from runners.engine.looks import stage_look
from runners.engine.runs import stage_lock, stage_log


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
    host, device, serial = names.check_minion_id(argument_readers.text("host", host)), _device(device), _serial(serial)
    stage_lock.free(__opts__)
    seen = jobs.one(__opts__, host, "disks_wipe.inspect", [device], kind=dict)
    states, silent = _states() if seen["fsids"] else ([], "")
    refused = wiping.refusals(seen, serial, states, _fsid(), silent)
    if refused:
        return answer.bad("\n".join([f"{host} {device} is not wiped:", *refused]))
    described = wiping.described(host, seen)
    if yes is not True:
        return {"text": f"{described}\nwould be wiped, and all on it lost: yes=true does it"}
    stage_log.note(__opts__, "disk.wipe", "wipe", host=host, disk=seen)
    jobs.one(__opts__, host, "disks_wipe.wipe", [device, seen])
    stage_log.note(__opts__, "disk.wipe", "wiped", host=host, device=seen["device"], serial=str(serial))
    again = "'salt-run state.orch ceph.stage.discovery' looks at it anew"
    return {"text": f"{described}\nis wiped and reads as empty; {again}"}


@answer.answers
def health(warn: bool = False) -> answer.Output:
    """Ask every disk by SMART how it is, and name those that fail, with what to type.

    Exit status 1 where one fails, or a host does not answer. A disk fails where it says so itself. One that is worn,
    too hot or old in an attribute is a warning. Disks without SMART, such as virtual ones and those behind some RAID
    controllers, tell nothing, which is no error.

    warn
        ``true``: as a step of deploy, which a failing disk does not end.

    CLI Example:

    .. code-block:: bash

        salt-run disk.health
    """
    if seen := stage_look.kept(__opts__):
        replied = seen.hosts[stage_look.DISKS]
    else:
        hosts = taking_part.among(__opts__, minions.members(__opts__)["all"])
        replied = jobs.ask(__opts__, hosts, stage_look.DISKS)
    states, silent = _states(seen)
    disks = failing.disks(replied.answers, failing.planned(planned.osds(site.site(__opts__)), states))
    text = "\n".join([*replies.lines(replied.problems), *failing.text(disks), *filter(None, [silent])])
    if warn:
        return {"text": text, "findings": failing.findings(disks)}
    bad = replied.problems or any(disk.state == failing.FAILS for disk in disks)
    return answer.Answer(text, {"disks": [disk.as_dict() for disk in disks]}, status=1 if bad else 0)


def _device(text: object) -> str:
    if names.is_device(text):
        return text
    raise ArgumentError(f"'{names.shown(text)}' is not a disk's name: expected /dev/... (see 'salt-run proposal.show')")


def _serial(typed: object) -> str | int:
    """The serial as typed, or the number that salt-run made of it, as it reads words as YAML: most are none else."""
    if typed is None:
        raise ArgumentError("serial=... is missing: the disk's serial number, so that no other disk can be meant")
    return typed if type(typed) is int else argument_readers.text("serial", typed)


def _states(seen: stage_look.Look | None = None) -> tuple[list[dict] | None, str]:
    """What the cluster knows of its OSDs, and why it cannot be asked."""
    try:
        return seen.cluster[stage_look.STATES] if seen else jobs.cluster(__opts__, stage_look.STATES, kind=list), ""
    except ProposalError as err:
        return None, str(err)


def _fsid() -> str | None:
    kept = site.site(__opts__).proposals / "config/stack/default/ceph/cluster.yml"
    return tree.read_yaml(kept).get("fsid") if kept.exists() else None
