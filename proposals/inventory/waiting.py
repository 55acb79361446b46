"""OSDs that were destroyed with their DB or WAL device, and whose places their host keeps: as their minion tells it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from proposals.inventory.disk import CLASSES, HIGHEST, LARGEST
from proposals.text import names
from proposals.text.errors import InventoryError


class Waiting(NamedTuple):
    """An OSD that waits for another DB or WAL device: the disks that it lay on, by id, and its sizes in bytes.

    ``cls`` is the class that the device had, None where nobody knows."""

    fsid: str
    osd_id: int
    data: str
    db: str | None
    wal: str | None
    db_size: int | None
    wal_size: int | None
    cls: str | None

    @property
    def label(self) -> str:
        """How a message names it."""
        return f"OSD {self.osd_id}"


def read(host: str, told: object) -> tuple[Waiting, ...]:
    """The OSDs of a host that wait, by number: ``{fsid: {id, data, db, db_size, wal, wal_size, class}}``.

    Raises InventoryError where one is not of this form: its place could go to another one."""
    if told in (None, {}):
        return ()
    entries = told.items() if isinstance(told, Mapping) else [("waiting", told)]
    return tuple(sorted((_one(host, fsid, entry) for fsid, entry in entries), key=lambda one: (one.osd_id, one.fsid)))


def _one(host: str, fsid: object, entry: object) -> Waiting:
    known: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {}
    osd_id, data, cls = known.get("id"), known.get("data"), known.get("class")
    db, wal, db_size, wal_size = (known.get(key) for key in ("db", "wal", "db_size", "wal_size"))
    sound = (
        bool(names.UUID.fullmatch(str(fsid)))
        and _is_count(osd_id, HIGHEST)
        and names.is_device(data)
        and any((db, wal))
        and all(device is None or names.is_device(device) for device in (db, wal))
        and all(size is None or _is_count(size, LARGEST) for size in (db_size, wal_size))
        and cls in (None, *CLASSES)
    )
    if not sound:
        raise InventoryError(
            f"{host}: an OSD that waits for a device is not understood: {names.shown(fsid)}: {names.shown(entry)}: "
            "look at /etc/ceph/osd-waiting there, and run ceph.stage.discovery again"
        )
    return Waiting(str(fsid), int(osd_id or 0), str(data), db, wal, db_size, wal_size, cls)


def _is_count(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value <= most
