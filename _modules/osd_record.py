"""The record of an OSD on partitions, ``/etc/ceph/osd-devices/ID``: which slots it lies in.

``osd-devices@ID`` reads it before each start and lets nothing start that is being moved (``osd_migrate``). It is the
truth about where an OSD's DB and WAL are: whatever a profile says, these slots hold them.
"""

from collections.abc import Mapping
from pathlib import Path

import halocline

RECORDS = Path("/etc/ceph/osd-devices")
LINKS = {"data": "block", "db": "block.db", "wal": "block.wal"}
MOVING = "moving"
ROLES = {link: role for role, link in LINKS.items()}


def read() -> dict[str, dict]:
    """Return every record of this host: ``{fsid: {id, slots: {role: PARTUUID}, moving}}``.

    ``moving`` is the role of the part that is between two places, ``None`` where none is.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_record.read
    """
    found = {}
    for path in sorted(path for path in RECORDS.glob("[0-9]*") if path.name.isdecimal()):  # others: somebody's copies
        lines = dict(line.split(None, 1) for line in path.read_text(encoding="ascii").splitlines() if " " in line)
        slots = {ROLES[link]: name for link, name in lines.items() if link in ROLES}
        if "fsid" in lines:
            found[lines["fsid"]] = {"id": int(path.name), "slots": slots, "moving": lines.get(MOVING)}
    return found


def write(osd_id: int, fsid: str, slots: Mapping[str, str], moving: str | None = None) -> None:
    """Write an OSD's record, whole or not at all, and through to the disk.

    osd_id, fsid
        Of the OSD.
    slots
        ``{role: PARTUUID}``.
    moving
        The role of the part that is being moved: the OSD does not start meanwhile.

    CLI Example: for ``osd_raw.make``.
    """
    RECORDS.mkdir(mode=0o755, parents=True, exist_ok=True)
    lines = [f"fsid {fsid}", *([f"{MOVING} {moving}"] if moving else [])]
    lines += [f"{LINKS[role]} {name}" for role, name in sorted(slots.items())]
    halocline.write(RECORDS / str(osd_id), "\n".join(lines) + "\n")
