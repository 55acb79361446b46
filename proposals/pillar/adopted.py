"""OSDs that others made and ``ceph.adopt`` took in: their host's pillar names them, and no layout of ours does.

They keep their form: no stage plans them, writes to their disks, or gives their disks to others. Nothing here opens a
file.
"""

from collections.abc import Mapping
from typing import Any

from proposals.files.site import minion_of
from proposals.inventory.disk import RESERVED
from proposals.pillar import layouts
from proposals.text.errors import ArgumentError

REASON = f"{RESERVED}an adopted OSD lies here"
FORM = (
    "osd.{id} of {minion} was adopted and lies in a form of its own ({form}): {verb} works on OSDs that Halocline made"
    ". Let it leave ('salt-run osd.remove', after its lines are out of adopted/ and configure ran), wipe its disk, and "
    "the next populate and deploy make one of ours"
)


def osds(files: Mapping[str, Mapping]) -> dict[str, dict[str, Mapping]]:
    """Return the adopted OSDs of each minion that has any: ``{minion: {fsid: {id, form, devices}}}``.

    files
        Content by target path, chosen or served.
    """
    found = {}
    for target, content in files.items():
        told = _within(_within(_within(content, "ceph"), "adopted"), "osds")
        if (minion := minion_of(target)) and told:
            found[minion] = {str(fsid): osd if isinstance(osd, Mapping) else {} for fsid, osd in told.items()}
    return found


def unplanned(files: Mapping[str, dict]) -> dict[str, dict]:
    """Return files whose layouts name no adopted OSD: populate writes all that lie on a host, whoever made them."""
    theirs, kept = osds(files), dict(files)
    for target, content in files.items():
        minion = minion_of(target)
        if not minion or minion not in theirs:
            continue
        ceph = _within(content, "ceph")
        storage = _within(ceph, "storage")
        planned = {
            disk: osd
            for disk, osd in _within(storage, "osds").items()
            if not (isinstance(osd, Mapping) and theirs[minion].keys() & set(layouts.fsids(osd)))
        }
        if storage:
            kept[target] = {**content, "ceph": {**ceph, "storage": {**storage, "osds": planned}}}
    return kept


def reserve(hosts: Mapping[str, Mapping], taken: Mapping[str, Mapping[str, Mapping]]) -> dict[str, Any]:
    """Return hosts of an inventory in which disks of adopted OSDs get no new role; nothing else differs.

    taken
        As ``osds`` returns it.
    """
    return {minion: _reserved(host, taken[minion]) if minion in taken else host for minion, host in hosts.items()}


def _reserved(host: Mapping, taken: Mapping[str, Mapping]) -> dict[str, Any]:
    disks = [
        {**disk, "in_use": [*(disk.get("in_use") or []), REASON]}
        if any(osd.get("fsid") in taken for osd in disk.get("osds") or ())
        else disk
        for disk in host.get("ceph_disks") or ()
    ]
    return {**host, "ceph_disks": disks}


def refuse(taken: Mapping[str, Mapping[str, Mapping]], fsid: str | None, verb: str) -> None:
    """Raise ArgumentError where an OSD is an adopted one, whose form a command does not know."""
    for minion, told in taken.items():
        if fsid and fsid in told:
            osd = told[fsid]
            raise ArgumentError(FORM.format(id=osd.get("id"), minion=minion, form=osd.get("form"), verb=verb))


def _within(content: Mapping, key: str) -> Mapping:
    inner = content.get(key)
    return inner if isinstance(inner, Mapping) else {}
