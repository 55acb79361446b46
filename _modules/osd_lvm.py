"""One OSD on logical volumes: prepared and activated by ``ceph-volume lvm``, bare or with dmcrypt.

``ceph-volume`` cannot go on where it was killed: it takes a new key each time and calls a volume with its tags
prepared. So what an interrupted run left is taken back whole, registration first, and made anew. Only a label that
says ``ready`` counts as made, and only an OSD that never ran is ever taken back.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 900  # seconds one call of ceph-volume may take: dmcrypt on three devices is slow


def made(osd: Mapping, groups: Mapping) -> int | None:
    """Return the id of an OSD that was prepared to the end, by its volume's tags and its label; ``None`` for any other.

    osd
        One of ``osd_plan.osds``.
    groups
        What ``disks_lvm.groups`` answers now.

    CLI Example: for ``osd.report``.
    """
    block = _volumes(osd, groups).get("data")
    if block is None or block["tags"].get("ceph.osd_fsid") != osd["fsid"]:
        return None
    node = _open(block)
    label = __salt__["disks_label.read"](node) if Path(node).exists() else None
    whole = label and label["fsid"] == osd["fsid"] and label.get("ready")
    return int(block["tags"]["ceph.osd_id"]) if whole else None


def whole(osd: Mapping, groups: Mapping, units: Mapping[str, str]) -> bool:
    """Return whether an OSD is made, starts at boot and runs. Arguments as for ``osd_raw.whole``.

    CLI Example: for ``osd.missing``.
    """
    osd_id = made(osd, groups)
    if osd_id is None:
        return False
    runs = not units.get(f"ceph-osd@{osd_id}.service", "masked").startswith("masked")  # ceph-volume enables it at boot
    return runs and __salt__["service.enabled"](f"ceph-volume@lvm-{osd_id}-{osd['fsid']}")


def parts(osd: Mapping, groups: Mapping) -> dict[str, dict]:
    """Return where an OSD's parts lie: ``{role: {node, disk, size}}``, bytes of the volumes. Arguments as for ``made``.

    CLI Example: for ``osd.report``.
    """
    disks = {volume["uuid"]: disk for disk, group in groups.items() for volume in group["volumes"]}
    return {
        role: {"node": str(Path(_open(volume)).resolve()), "disk": disks[volume["uuid"]], "size": volume["size"]}
        for role, volume in _volumes(osd, groups).items()
    }


def lacks(osd: Mapping, groups: Mapping) -> list[str]:
    """Return which parts of an OSD have no volume. Arguments as for ``made``.

    CLI Example: for ``osd.deploy``.
    """
    return sorted(osd["parts"].keys() - _volumes(osd, groups).keys())


def make(osd: Mapping) -> int:
    """Prepare, activate and start one OSD, as far as that is not done; return its id.

    osd
        One of ``osd_plan.osds``; its volumes are there.

    CLI Example: for ``osd.deploy``.
    """
    __salt__["osd_record.settled"](osd["fsid"])
    groups = __salt__["disks_lvm.groups"]()
    if made(osd, groups) is None and not _opened(osd, groups):
        _of_this_cluster(osd, groups)
        left = __salt__["osd_register.marked"](osd["fsid"]) or bool(_volumes(osd, groups)["data"]["tags"])
        if left:  # raises for one that ran: it gets no mark, which would say that it may be made anew
            __salt__["osd_register.forget"](osd["fsid"])
        __salt__["osd_register.begin"](osd["fsid"])
        if left:
            _take_back(osd, groups)
        _ceph_volume(_prepare(osd))
    osd_id = made(osd, __salt__["disks_lvm.groups"]())
    if osd_id is None:
        raise CommandExecutionError(f"ceph-volume lvm prepare ended well, and OSD {osd['fsid']} has no whole label")
    __salt__["daemons.forgive"]([f"ceph-osd@{osd_id}"])
    _ceph_volume(["activate", "--bluestore", str(osd_id), osd["fsid"]])
    __salt__["osd_register.made"](osd["fsid"], osd_id, osd["parts"]["data"]["disk"])
    return osd_id


def _of_this_cluster(osd: Mapping, groups: Mapping) -> None:
    """Raise where an OSD whose volumes are closed (encrypted, or not active) left the cluster, and its key with it.

    No run of ours began it and did not end, so it was whole once; whether it is wanted, nobody can see.
    """
    tags = _volumes(osd, groups)["data"]["tags"]
    tagged = tags.get("ceph.osd_fsid") == osd["fsid"]
    if tagged and not __salt__["osd_register.marked"](osd["fsid"]) and not __salt__["osd_register.known"](osd["fsid"]):
        raise CommandExecutionError(
            f"osd.{tags.get('ceph.osd_id')} has left the cluster with its key, and {osd['parts']['data']['disk']} "
            "holds it still, in volumes that are closed: 'salt-run disk.wipe' makes room for a new one, then run the "
            "stage again"
        )


def _prepare(osd: Mapping) -> list[str]:
    """The words that prepare an OSD on the volumes that are there for it."""
    names = {role: _name(osd, role) for role in osd["parts"]}
    words = ["prepare", "--bluestore", "--osd-fsid", osd["fsid"], "--data", names["data"]]
    for role in ("db", "wal"):
        words += [f"--block.{role}", names[role]] if role in names else []
    words += ["--dmcrypt"] if osd["dmcrypt"] else []
    words += ["--osd-id", str(osd["id"])] if osd.get("id") is not None else []
    return words + (["--crush-device-class", osd["class"]] if osd["class"] else [])


def _opened(osd: Mapping, groups: Mapping) -> bool:
    """Whether an encrypted OSD that was prepared, but whose volumes are closed, is whole once they are open. Where no
    monitor knows it, its key is gone, and its number may be another OSD's here, with the folder: activating it by that
    would take the links out of there.
    """
    tags = _volumes(osd, groups)["data"]["tags"]
    if tags.get("ceph.encrypted") != "1" or tags.get("ceph.osd_fsid") != osd["fsid"]:
        return False
    if not __salt__["osd_register.known"](osd["fsid"]):
        return False
    try:
        _ceph_volume(["activate", "--bluestore", "--no-systemd", tags["ceph.osd_id"], osd["fsid"]])
    except CommandExecutionError:
        return False  # half made, or its key cannot be had: osd_register.forget, next, tells which
    return made(osd, __salt__["disks_lvm.groups"]()) is not None


def _take_back(osd: Mapping, groups: Mapping) -> None:
    """Undo what an interrupted run did on this host: crypt devices closed, volumes made anew. Its folder went with its
    number: who has that by now has the folder, too.
    """
    for volume in _volumes(osd, groups).values():
        __salt__["osd_lvm_parts.close"](volume)
        halocline.run(["lvremove", "--quiet", "--yes", volume["path"]])
    __salt__["osd_lvm_parts.make"]([osd])


def _name(osd: Mapping, role: str) -> str:
    """GROUP/VOLUME of one part."""
    part = osd["parts"][role]
    return __salt__["osd_names.path"](part["disk"], osd["fsid"], role, part["partuuid"]).removeprefix("/dev/")


def _volumes(osd: Mapping, groups: Mapping) -> dict[str, dict]:
    """An OSD's volumes: ``{role: volume}``, by their slots."""
    slots = {part["partuuid"]: role for role, part in osd["parts"].items()}
    volumes = (volume for group in groups.values() for volume in group["volumes"])
    return {slots[volume["slot"]]: volume for volume in volumes if volume["slot"] in slots}


def _open(volume: Mapping) -> str:
    """The node that holds a volume's content: the crypt device that ``ceph-volume`` names after it, or itself."""
    crypt = volume["tags"].get("ceph.encrypted") == "1"
    return f"/dev/mapper/{volume['uuid']}" if crypt else volume["path"]


def _ceph_volume(words: Sequence[str]) -> None:
    halocline.run(["ceph-volume", "lvm", *words], limit=LIMIT)
