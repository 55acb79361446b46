"""Whether a disk may be wiped (docs/concepts/safety.md, rule 2). Nothing here opens a file or asks a minion."""

import shlex
from collections.abc import Iterable, Mapping

from proposals.text.argument_readers import typed

NO_SERIAL = "none"  # what disk.wipe takes for a disk that tells no serial number
LEFTOVERS = ("has partitions", "holds ")  # reasons of a disk that nobody uses and something lies on


def refusals(
    seen: Mapping, serial: str | int, states: Iterable[Mapping] | None, fsid: str | None, silent: str = ""
) -> list[str]:
    """Return why a disk must not be wiped, one line each; empty where it may be.

    seen
        ``disks_wipe.inspect``'s answer.
    serial
        The serial number that the admin typed; a number where Salt read it as one, without its zeros.
    states
        ``cluster_osds.states``'s answer; None where the cluster cannot be asked.
    fsid
        Our cluster's; None before there is one.
    silent
        Why the cluster cannot be asked.
    """
    if seen["serial"] != str(serial) and isinstance(serial, int):
        return [
            f"it has serial {seen['serial']}, typed was read as the number {serial}: quote it twice, as in "
            f"serial={typed('0123')}"
        ]
    if seen["serial"] != str(serial):
        return [f"it has serial {seen['serial']}, typed was {serial}: which disk did you mean?"]
    return [f"it is in use: {why}" for why in seen["in_use"]] + _strangers(seen, fsid) + _known(seen, states, silent)


def _strangers(seen: Mapping, fsid: str | None) -> list[str]:
    """OSDs of another cluster: that one may still need them."""
    found = {osd["cluster"]: osd for osd in seen["osds"] if osd["cluster"] and osd["cluster"] != fsid}
    return [
        f"it carries {osd['role']} of OSD {osd.get('id', osd['fsid'])} of another cluster ({cluster}): if that one is "
        f"gone, wipe it by hand on that host: 'wipefs --all {' '.join([*seen['partitions'], seen['device']])}'"
        for cluster, osd in sorted(found.items())
    ]


def _known(seen: Mapping, states: Iterable[Mapping] | None, silent: str) -> list[str]:
    """OSDs that are not destroyed."""
    if not seen["fsids"]:
        return []
    if states is None:
        return [f"it carries OSDs, and the cluster cannot say whether it needs them: {silent}"]
    return [
        f"osd.{one['id']} lies on it, which the cluster knows: 'salt-run osd.replace {one['id']}' destroys it, where "
        "that is safe"
        for one in states
        if one["fsid"] in seen["fsids"]
    ]


def described(host: str, seen: Mapping) -> str:
    """Return what a disk is and holds, for a person."""
    held = [f"{osd['role']} of OSD {osd.get('id', osd['fsid'])}" for osd in seen["osds"]]
    held += [*seen["signatures"], *(f"partition {part}" for part in seen["partitions"])]
    held += [f"in partitions: {', '.join(seen['contents'])}"] if seen.get("contents") else []
    held += [f"volume group {seen['group']}"] if seen["group"] else []
    held += [f"a part of volume group {seen['spans']}, which has other disks"] if seen.get("spans") else []
    held += [f"logical volume {name}" for name in seen["volumes"]]
    what = f"{host} {seen['id']} ({seen['device']}, {seen['size'] / 1e9:.0f} GB, serial {seen['serial']})"
    return f"{what}: {', '.join(held) or 'nothing is on it'}"


def command(host: str, device: str, serial: object) -> str:
    """Return the command that says what wiping a disk would lose, to be typed by a person: ``yes=true`` is theirs."""
    return f"salt-run disk.wipe {host} {shlex.quote(device)} serial={typed(str(serial or NO_SERIAL))}"


def leftover(reason: str | None) -> bool:
    """Whether a disk's reason not to be used is only that something lies on it, which wiping would take away."""
    return bool(reason) and all(part.startswith(LEFTOVERS) for part in str(reason).split("; "))
