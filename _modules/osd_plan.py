"""What this host's pillar plans: every OSD with the parts that it lies on, and the way each is made.

Two ways: ``lvm``, where the kernel has device-mapper (logical volumes, ``ceph-volume lvm``), and ``raw`` (GPT
partitions, ``ceph-osd --mkfs``). A disk that carries this cluster's partitions goes on as it began. A site chooses by
``ceph:storage:method: raw`` or ``lvm``, a word of cephadm's OSD specifications.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

BY_PARTUUID = Path("/dev/disk/by-partuuid")
METHODS = ("lvm", "raw")
FORMATS = ("bluestore",)
ENCRYPTIONS = (None, "", "dmcrypt")
FSID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
AIO = 1024  # slots of fs.aio-max-nr that a device of an OSD asks for (bdev_aio_max_queue_depth)
HEAD = 16 << 20  # bytes of a disk that tables, alignment and LVM's header take, as the planner has it
EXTENT = 4 << 20  # bytes: LVM's default extent, which the planner's sizes are multiples of too


def osds() -> list[dict]:
    """Return the planned OSDs: ``[{fsid, method, dmcrypt, class, parts: {role: {disk, size, partuuid}}, moves}]``.

    Sizes are bytes; a data part without one takes all that is left of its disk. Several OSDs of one disk share it
    equally. ``partuuid`` names the slot: the partition's PARTUUID, or a tag of the logical volume. The DB and WAL of an
    OSD that is made are where they lie, whatever is planned; where one of them is to move, ``moves`` is where each is
    planned to lie: ``{role: {disk, size}}``, ``None`` for the data disk.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_plan.osds
    """
    planned = []
    for disk, osd in sorted(_storage().get("osds", {}).items()):
        _understood(disk, osd)
        fsids = osd.get("uuids") or []
        for fsid in fsids:
            parts = {"data": {"disk": disk, "size": _share(disk, len(fsids))}}
            for role in ("db", "wal"):
                if osd.get(role):
                    parts[role] = {"disk": osd[role], "size": int(osd[f"{role}_size"])}
            for role, part in parts.items():
                part["partuuid"] = __salt__["osd_names.partuuid"](fsid, role)
            crypt = osd.get("encryption") == "dmcrypt"
            moves = {role: _place(to) for role, to in osd.get("moves", {}).items()}
            stay = {role: part for role, part in parts.items() if moves and role != "data"}
            moves = {**{role: {"disk": part["disk"], "size": part["size"]} for role, part in stay.items()}, **moves}
            planned.append({"fsid": fsid, "dmcrypt": crypt, "class": osd.get("class"), "parts": parts, "moves": moves})
    records = _records(planned)
    for osd in planned:
        _as_it_lies(osd, records.get(osd["fsid"]))
    return _with_methods(planned)


def problems() -> dict[str, str]:
    """Return what no way of making OSDs can do: ``{data disk: problem}``, empty where all is well.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_plan.problems
    """
    planned, refused = osds(), {}
    for disk, osd in _storage().get("osds", {}).items():
        if osd.get("format", "bluestore") not in FORMATS:
            refused[disk] = f"is planned with format {osd['format']}; only bluestore is made: populate without format="
        elif osd.get("encryption") not in ENCRYPTIONS:
            refused[disk] = f"is planned with encryption {osd['encryption']}; expected dmcrypt or none"
    for osd in planned:
        if osd["dmcrypt"] and osd["method"] != "lvm":
            refused[osd["parts"]["data"]["disk"]] = (
                "is planned with dmcrypt, which needs LVM: this host's kernel has no device-mapper, or its disks carry "
                "OSDs on partitions; populate without encryption="
            )
    return refused


def needs_aio(todo: Sequence[Mapping]) -> None:
    """Raise where the kernel has no room for what new OSDs will ask: they would start and die.

    todo
        OSDs in the form of ``osds``.

    CLI Example: for ``osd.deploy``.
    """
    limit, taken = (int((Path("/proc/sys/fs") / name).read_text()) for name in ("aio-max-nr", "aio-nr"))
    more = AIO * sum(len(osd["parts"]) for osd in todo)
    if more > limit - taken:
        raise CommandExecutionError(
            f"fs.aio-max-nr is {limit}, {taken} of it are taken; {len(todo)} new OSDs ask for {more} more. Expected "
            "at least 1048576, which Ceph's package sets in /usr/lib/sysctl.d: 'sysctl -w fs.aio-max-nr=1048576' on "
            "this host, and look for a file in /etc/sysctl.d that lowers it"
        )


def _understood(disk: str, osd: object) -> None:
    """Raise where an OSD's fsids or sizes are none: configure refuses such layouts, but others may write a pillar."""
    told = osd if isinstance(osd, Mapping) else {}
    fsids = told.get("uuids") or []
    wrong = told is not osd or not isinstance(fsids, list) or any(not FSID.fullmatch(str(fsid)) for fsid in fsids)
    if fsids and not wrong:
        sizes = [told.get(f"{role}_size") for role in ("db", "wal") if told.get(role)]
        wrong = any(type(size) is not int or size <= 0 for size in sizes)
    if wrong:
        raise CommandExecutionError(
            f"{disk}: its OSDs are planned as {str(osd)[:200]}: expected a list of UUIDs, and sizes in bytes; "
            "'salt-run policy.check' says what is wrong in the profile"
        )


def _place(to: Mapping) -> dict | None:
    return {"disk": to["to"], "size": int(to["size"])} if to.get("to") else None


def _records(planned: Sequence[Mapping]) -> Mapping[str, Mapping]:
    """What is on record of this host's OSDs; LVM is asked where one lies otherwise than usual, or is to."""
    if any(_unusual(osd) for osd in planned):
        return __salt__["osd_record.lies"]()
    return __salt__["osd_record.read"]() if planned else {}


def _unusual(osd: Mapping) -> bool:
    """Whether an OSD on logical volumes moves, or has not the one volume of each part under its usual name."""
    usual, second = ({role: _volume(osd, role, which).exists() for role in osd["parts"]} for which in (0, 1))
    return usual["data"] and bool(osd["moves"] or not all(usual.values()) or any(second.values()))


def _volume(osd: Mapping, role: str, which: int) -> Path:
    slot = __salt__["osd_names.slots"](osd["fsid"], role)[which]
    return Path(__salt__["osd_names.path"](osd["parts"][role]["disk"], osd["fsid"], role, slot))


def _as_it_lies(osd: dict, record: Mapping | None) -> None:
    """Give an OSD that is made the DB and WAL slots that its record names: it may have moved."""
    lies = {role: name for role, name in record["slots"].items() if role != "data"} if record else {}
    usual = {role: part["partuuid"] for role, part in osd["parts"].items() if role != "data"}
    if record is None or (lies == usual and not osd["moves"]):
        return
    volumes = record.get("volumes", {})
    name = osd["parts"]["data"]["partuuid"]
    node = Path(volumes[name]["node"] if name in volumes else BY_PARTUUID / name)
    try:
        label = __salt__["disks_label.read"](str(node)) if node.exists() else None
    except OSError:
        return  # its disk dies: it is left out, and holds back no other
    if not label or label["fsid"] != osd["fsid"] or not label.get("ready"):
        return  # in the making: the plan is what holds
    for role in ("db", "wal"):
        places = [place for place in (osd["moves"].get(role), osd["parts"].pop(role, None)) if place]
        if role in lies:
            osd["parts"][role] = {**_lying(lies[role], places, volumes), "partuuid": lies[role]}


def _lying(name: str, places: Sequence[Mapping], volumes: Mapping) -> dict:
    """Disk and bytes of the planned place in which a slot lies; of one that is gone, that of a disk that is."""
    node = BY_PARTUUID / name
    holder = volumes[name]["disk"] if name in volumes else None
    if holder is None and node.exists():
        holder = __salt__["disks_kernel.holder"](str(node))
    for place in places:
        if str(Path(place["disk"]).resolve()) == holder if holder else not Path(place["disk"]).exists():
            return {"disk": place["disk"], "size": place["size"]}
    return {"disk": holder or str(node), "size": None}


def _storage() -> Mapping:
    return __pillar__.get("ceph", {}).get("storage", {})


def _share(disk: str, count: int) -> int | None:
    """Bytes of one of several OSDs that share a disk; ``None`` where an OSD has it alone."""
    size = _storage().get("disks", {}).get(disk, {}).get("size")
    return (size - HEAD) // count // EXTENT * EXTENT if count > 1 and size else None


def _with_methods(planned: list[dict]) -> list[dict]:
    """The way of each OSD: that of the slots which its disks carry already, else this host's."""
    begun = {}
    for osd in planned:
        for role, part in osd["parts"].items():
            volume = __salt__["osd_names.path"](part["disk"], osd["fsid"], role, part["partuuid"])
            for method, node in (("raw", f"/dev/disk/by-partuuid/{part['partuuid']}"), ("lvm", volume)):
                if Path(node).exists():
                    begun[part["disk"]] = method
    usual = _usual() if planned else None
    for osd in planned:
        methods = sorted(begun[part["disk"]] for part in osd["parts"].values() if part["disk"] in begun)
        osd["method"] = methods[0] if methods else usual
    return planned


def _usual() -> str:
    """The site's way, or LVM where the kernel has device-mapper (dmsetup loads it)."""
    chosen = _storage().get("method")
    if chosen is not None and chosen not in METHODS:
        raise CommandExecutionError(f"ceph:storage:method is {chosen}, expected one of {', '.join(METHODS)}")
    if chosen:
        return chosen
    try:
        halocline.run(["dmsetup", "version"], limit=30)
    except CommandExecutionError:
        return "raw"
    return "lvm"
