"""Which disks are a cluster's alone, and may be wiped when it is gone; which are not, and why."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from proposals.text import names

NO_SERIAL = "none"  # what disk.wipe calls it


@dataclass(frozen=True)
class Disk:
    """A disk that carries OSDs of one cluster and nothing else, as it was found.

    id, device, serial, size
        Its stable name, the kernel's then, its serial number, its bytes.
    osds
        The fsids of the OSDs of which it carries a part.
    signatures, partitions
        What else lay on it then: names of signatures, how many partitions.
    """

    id: str
    device: str
    serial: str
    size: int
    osds: tuple[str, ...]
    signatures: tuple[str, ...]
    partitions: int

    def as_dict(self) -> dict[str, Any]:
        """It as it is kept."""
        return asdict(self)

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "Disk":
        """It from ``as_dict``. Raises TypeError for another form."""
        return cls(**{**told, "osds": tuple(told["osds"]), "signatures": tuple(told["signatures"])})


def sorted_out(seen: Mapping, fsid: str, planned: Collection[str]) -> tuple[tuple[Disk, ...], list[str]]:
    """Return the disks of a cluster on one host, and a line for each OSD and disk that is named and not wiped.

    seen
        ``osd_purge.look``'s answer: ``disks.inspect``'s, with ``osds`` and ``made``.
    fsid
        The cluster's.
    planned
        The fsids of the OSDs that the host is told of.
    """
    ours, notes, found = _ours(seen, fsid), [], set()
    disks = []
    for disk in seen["ceph_disks"]:
        content = seen["inspected"].get(disk["device"], {"error": disk.get("error", "was not read")})
        labels = content.get("osds", [])
        mine = [label for label in labels if _is_ours(label, fsid, ours)]
        readable = [label for label in mine if not label.get("begun")]
        found |= {label["fsid"] for label in readable if label["role"] == "data"}
        why = _stays(disk, content, labels, mine)
        if why and (mine or "error" in content or any(label["role"] == "unknown" for label in labels)):
            notes.append(f"{names.shown(disk.get('id') or disk['device'], 200)}: {why}: not wiped")
        elif mine or disk["device"] in seen["made"]:
            disks.append(_disk(disk, content, mine))
    lost = {osd["fsid"]: f"osd.{osd['id']}" for osd in seen["osds"] if osd["cluster"] == fsid and osd["fsid"]}
    lost |= {each: lost.get(each, "an OSD that is planned here") for each in planned}
    notes += [
        f"{name} ({names.shown(each)}): no disk here carries a label of it that can be read: its disk is not wiped"
        for each, name in sorted(lost.items())
        if each not in found
    ]
    return tuple(disks), [*notes, *_strange(seen["osds"], fsid)]


def _ours(seen: Mapping, fsid: str) -> set[str]:
    """The OSDs of the cluster, by label, tag or record."""
    labels = [label for content in seen["inspected"].values() for label in content.get("osds", [])]
    mine = {label["fsid"] for label in labels if label.get("cluster") == fsid}
    theirs = {label["fsid"] for label in labels if label.get("cluster") not in (None, fsid)}
    return (mine | {osd["fsid"] for osd in seen["osds"] if osd["cluster"] == fsid and osd["fsid"]}) - theirs


def _is_ours(label: Mapping, fsid: str, ours: Collection[str]) -> bool:
    """Whether a part is the cluster's: a DB's label names no cluster, its OSD's does."""
    return label["role"] != "unknown" and (
        label.get("cluster") == fsid or (not label.get("cluster") and label["fsid"] in ours)
    )


def _stays(disk: Mapping, content: Mapping, labels: Sequence, mine: Sequence[Mapping]) -> str:
    """Why a disk is not wiped whole; empty where nothing is against it."""
    if error := content.get("error"):
        return f"cannot be read ({names.shown(error, 120)})"
    if any(label["role"] == "unknown" for label in labels):
        return "carries a label that cannot be read"
    if len(mine) < len(labels):
        return "carries what is another cluster's too" if mine else "carries another cluster's OSD"
    if any(label.get("begun") for label in mine):
        return "carries a part of an OSD without a label"
    if volumes := content.get("volumes"):
        return f"carries logical volume {names.shown(volumes[0])}, which is no OSD's"
    if content.get("partitions", 0) > len(labels):
        return "carries partitions that are no OSD's"
    if disk.get("id") and not names.is_device(disk["id"]):
        return "has an odd name"
    return ""


def _disk(disk: Mapping, content: Mapping, mine: Sequence[Mapping]) -> Disk:
    return Disk(
        disk.get("id") or disk["device"],
        disk["device"],
        disk.get("serial") or NO_SERIAL,
        disk["size"],
        tuple(sorted({label["fsid"] for label in mine})),
        tuple(content.get("signatures", ())),
        content.get("partitions", 0),
    )


def _strange(osds: Sequence[Mapping], fsid: str) -> Iterator[str]:
    """OSDs on the host that are another cluster's, or say of none whose they are."""
    for osd in osds:
        if osd["cluster"] is None:
            yield f"osd.{osd['id']}: nothing says of which cluster it is: neither stopped nor wiped"
        elif osd["cluster"] != fsid:
            yield f"osd.{osd['id']} is of cluster {names.shown(osd['cluster'])}: left alone"


def others(seen: Mapping, fsid: str) -> set[str]:
    """Return the fsids of other clusters of which a host has OSDs. Arguments as for ``sorted_out``."""
    labels = [label for content in seen["inspected"].values() for label in content.get("osds", [])]
    found = {osd.get("cluster") for osd in (*labels, *seen["osds"])} - {None, fsid}
    return {each for each in found if isinstance(each, str) and names.UUID.fullmatch(each)}


def changed(disk: Disk, seen: Mapping, fsid: str) -> list[str]:
    """Return why a disk is not the one any more that was found before its OSDs stopped; empty where it is.

    Of one whose wiping was interrupted there is less than there was; what was not there then is somebody's.

    disk
        As it was found.
    seen
        ``disks_wipe.inspect``'s answer now.
    fsid
        The cluster's.
    """
    against = [f"its size is {seen['size']}, it was {disk.size}"] if seen["size"] != disk.size else []
    fresh = set(seen["signatures"]) - {*disk.signatures, "gpt", "PMBR", "ceph_bluestore"}
    fresh |= set(seen.get("contents", ()))  # its partitions had labels, and nothing else; older modules do not tell
    others = [osd for osd in seen["osds"] if osd["fsid"] not in disk.osds or osd.get("cluster") not in (None, fsid)]
    strange = sorted(set(seen["fsids"]) - set(disk.osds))
    against += [f"it carries {', '.join(sorted(fresh))}, which was not there"] if fresh else []
    against += ["it carries an OSD that was not there"] if others or strange else []
    against += ["it has more partitions than it had"] if len(seen["partitions"]) > disk.partitions else []
    against += [f"it carries logical volume {names.shown(seen['volumes'][0])}"] if seen["volumes"] else []
    return against
