"""What the minions said, as hosts and disks: checked across disks and across hosts."""

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import Any, NamedTuple

from proposals.inventory import paths, waiting
from proposals.inventory.disk import LARGEST, Disk, Resident, parse
from proposals.inventory.waiting import Waiting
from proposals.text import names
from proposals.text.errors import InventoryError, ProposalError

_ID = itemgetter(0)  # of a Disk
FORMAT = 1  # of ceph_disks, the newest that is understood
SHOWN = 8  # hosts that one message names
# For NVMe disks without a WWN the kernel makes one of vendor, serial number, model and namespace (drivers/nvme/host,
# wwid): all virtual machines of VMware have the same.
VIRTUAL = "nvme.15ad-"


class Host(NamedTuple):
    """A minion and its disks, sorted by id. ``memory`` is bytes, None where unknown.

    ``waiting`` are OSDs that were destroyed with their DB or WAL device and keep their places."""

    id: str
    disks: tuple[Disk, ...]
    memory: int | None
    waiting: tuple[Waiting, ...] = ()


class Inventory(NamedTuple):
    """The targeted hosts by name, and the cluster's fsid where the inventory or an OSD tells it.

    ``names`` are all hosts of the inventory, targeted or not, whose ids are acceptable; ``unread`` says of each
    targeted host that is left out what its answer lacks."""

    cluster: str | None
    hosts: tuple[Host, ...]
    names: tuple[str, ...]
    unread: tuple[str, ...] = ()


def read(raw: Any, target: str | None = None, targets: Collection[str] | None = None) -> Inventory:
    """The hosts of ``raw`` (docs/reference/inventory.md) whose id matches the glob ``target`` or is in ``targets``.

    Raises InventoryError where ``raw`` is not an inventory or no host is targeted."""
    listed = _hosts(raw)
    targeted = _targeted(listed, target, targets)
    hosts, unread = _read(targeted, listed)
    cluster = _cluster(raw.get("cluster"), hosts)
    shared = _shared(hosts, {name: host for name, host in listed.items() if name not in targeted})
    acceptable = tuple(sorted(filter(names.is_minion_id, listed)))
    return Inventory(cluster, tuple(_settle(host, cluster, shared) for host in hosts), acceptable, unread)


def _read(targeted: Collection[str], listed: Mapping[str, object]) -> tuple[list[Host], tuple[str, ...]]:
    """The targeted hosts, and what stands against each that cannot be planned: it holds back only itself."""
    hosts, unread = [], []
    for name in sorted(targeted):
        try:
            hosts.append(_host(names.check_minion_id(name), listed[name]))
        except ProposalError as error:
            unread.append(str(error))
    if not hosts:
        raise InventoryError("; ".join(unread[:SHOWN]) + (f"; {len(unread) - SHOWN} more" * (len(unread) > SHOWN)))
    return hosts, tuple(unread)


def _hosts(raw: object) -> Mapping[str, object]:
    listed = raw.get("hosts") if isinstance(raw, Mapping) else None
    if not isinstance(listed, Mapping):
        raise InventoryError(
            "this is not an inventory: a mapping with 'hosts' was expected (docs/reference/inventory.md)"
        )
    if not listed:
        raise InventoryError("the inventory holds no hosts: has discovery run (salt-run state.orch ceph.stage.1)?")
    return {str(name): host for name, host in listed.items()}


def _targeted(listed: Mapping, target: str | None, targets: Collection[str] | None) -> set[str]:
    if targets is not None:
        wanted = set(listed).intersection(targets)
    else:
        wanted = {host for host in listed if target is None or fnmatchcase(host, target)}
    if not wanted:
        known = ", ".join(names.shown(host) for host in sorted(listed)[:SHOWN])
        more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
        raise InventoryError(f"target={names.shown(target)} matches no host; there are {known}{more}")
    return wanted


def _host(name: str, raw: Any) -> Host:
    listed = raw.get("ceph_disks") if isinstance(raw, Mapping) else None
    if not isinstance(listed, list):
        raise InventoryError(f"{name}: 'ceph_disks', a list of disks, was expected; found {names.shown(listed)}")
    version = raw.get("ceph_disks_format")
    if version is not None and version != FORMAT:
        raise InventoryError(
            f"{name}: ceph_disks_format is {names.shown(version)}, and {FORMAT} is the newest that is understood: "
            "update Halocline on the master"
        )
    memory = raw.get("memory")
    parsed = list(map(parse, listed))
    if len(set(map(_ID, parsed))) < len(parsed):
        parsed.sort(key=repr)  # disks of one name, too, stand in one order
    parsed.sort(key=_ID)
    known = memory if type(memory) is int and 0 < memory <= LARGEST else None
    return Host(name, tuple(parsed), known, waiting.read(name, raw.get("waiting")))


def _cluster(named: object, hosts: list[Host]) -> str | None:
    """The fsid of our cluster: the inventory's, else the one that OSDs on the disks name."""
    if named is not None:
        fsid = str(named).lower()
        if not names.UUID.fullmatch(fsid):
            raise InventoryError(f"cluster is not an fsid (a UUID): '{names.shown(named)}'")
        return fsid
    first: tuple[str, str] | None = None
    for host in hosts:
        for disk in host.disks:
            for resident in disk.residents:
                here = f"{host.id} {disk.id}"
                if resident.cluster and first and resident.cluster != first[0]:
                    raise InventoryError(
                        f"disks carry OSDs of two clusters: {first[0]} ({first[1]}) and {resident.cluster} ({here}): "
                        "say which is ours with 'cluster: FSID' in the inventory"
                    )
                if resident.cluster and not first:
                    first = (resident.cluster, here)
    return first[0] if first else None


def _shared(hosts: list[Host], others: Mapping) -> dict[str, list[str]]:
    """wwn -> hosts, for every wwn that more than one host of the whole inventory sees, targeted or not."""
    seen: dict[str, str] = {}
    shared: dict[str, set[str]] = {}
    for host in hosts:
        for disk in host.disks:
            wwn = disk.wwn
            if wwn and not wwn.startswith(VIRTUAL) and seen.setdefault(wwn, host.id) != host.id:
                shared.setdefault(wwn, {seen[wwn]}).add(host.id)
    for name, raw in others.items():
        found = raw.get("ceph_disks") if isinstance(raw, Mapping) else None
        for disk in found if isinstance(found, list) else ():
            wwn = _wwn(disk)
            if wwn in seen:
                shared.setdefault(wwn, {seen[wwn]}).add(str(name))
    return {wwn: sorted(names_) for wwn, names_ in shared.items()}


def _wwn(raw: object) -> str | None:
    if not isinstance(raw, Mapping):
        return None
    wwn, id_ = raw.get("wwn"), raw.get("id")
    if not wwn and isinstance(id_, str) and "/wwn-" in id_:
        return id_.rpartition("/wwn-")[2]
    return str(wwn).strip() if wwn else None


def _settle(host: Host, cluster: str | None, shared: Mapping[str, list[str]]) -> Host:
    """``host`` with what only a look at all its disks, and at other hosts, can tell."""
    carrying = any(disk.residents for disk in host.disks)
    several = paths.several(host.disks)
    if not several and not shared and not carrying:
        return host
    disks = _owned(host.disks, cluster) if carrying else host.disks
    disks = paths.joined(disks) if several else disks
    return host._replace(disks=tuple(_alone(disk, host.id, cluster, shared) for disk in disks))


def _owned(disks: tuple[Disk, ...], cluster: str | None) -> tuple[Disk, ...]:
    """``disks``, whose entries known by id alone belong to the OSD of that id, where others tell its fsid.

    Where several OSDs of one id lie there (one was destroyed and its id used again), it is the one in use."""
    fsids: dict[tuple[int | None, bool], set[str]] = {}
    for resident in (one for disk in disks for one in disk.residents if one.cluster in (None, cluster)):
        if resident.fsid and resident.osd_id is not None:
            fsids.setdefault((resident.osd_id, resident.state == "in-use"), set()).add(resident.fsid)

    def named(resident: Resident) -> Resident:
        listed = fsids.get((resident.osd_id, True)) or fsids.get((resident.osd_id, False)) or ()
        if resident.fsid or len(listed) != 1:
            return resident
        return resident._replace(owner=min(listed), fsid=min(listed))

    return tuple(disk._replace(residents=tuple(map(named, disk.residents))) for disk in disks)


def _alone(disk: Disk, host: str, cluster: str | None, shared: Mapping[str, list[str]]) -> Disk:
    """``disk``, unusable where other hosts see it too or another cluster's OSD lies on it."""
    reason = None
    if disk.wwn and disk.wwn in shared and not (disk.reason or "").startswith("another path"):
        others = [other for other in shared[disk.wwn] if other != host]
        reason = f"a shared disk: {', '.join(map(names.shown, others[:3]))} sees it too (wwn {disk.wwn})"
    elif foreign := next((one.cluster for one in disk.residents if one.cluster not in (None, cluster)), None):
        reason = f"another cluster's OSD (cluster {foreign})"
    if not reason:
        return disk
    return disk._replace(
        reason=reason, residents=tuple(one for one in disk.residents if one.cluster in (None, cluster))
    )
