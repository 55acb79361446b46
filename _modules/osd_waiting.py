"""OSDs that were destroyed with their DB or WAL device and wait for another one (``salt-run osd.replace``).

This host keeps the number and the place of each until it is made again: discovery tells the planner, which gives the
place to nobody else, and deploy gives the number to nobody else.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

FOLDER = Path("/etc/ceph/osd-waiting")  # one file an OSD, named by its fsid


def kept() -> dict[str, dict]:
    """Return what is kept: ``{fsid: {id, data, serial, db, db_size, wal, wal_size, class}}``, disks by id, sizes in
    bytes; the serial number is the data disk's, the class that of the device that is gone.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_waiting.kept
    """
    places = {}
    for path in sorted(FOLDER.glob("[!.]*-*")):
        try:
            places[path.name] = json.loads(path.read_text(encoding="ascii"))
        except ValueError as err:
            raise CommandExecutionError(f"{path} is not JSON ({err}): move it away") from err
    return places


def keep(fsid: str, place: Mapping) -> None:
    """Keep the number and place of one OSD, whole or not at all.

    fsid
        Its fsid.
    place
        As ``kept`` returns it.

    CLI Example: for ``osd_retire.free``.
    """
    FOLDER.mkdir(mode=0o755, parents=True, exist_ok=True)
    halocline.write(FOLDER / fsid, json.dumps(place))


def release(osd_id: int, fsid: str | None = None, data: str | None = None) -> None:
    """Forget an OSD: it is made again, or its place was given up.

    osd_id
        Its number; once purged, Ceph gives it to another OSD.
    fsid
        Its fsid, under which it may have waited with a number that somebody purged.
    data
        Its data disk: who waits with that number for another disk goes on waiting.

    CLI Example: for ``osd_raw.make``.
    """
    for each, place in kept().items():
        if each == fsid or (place["id"] == osd_id and data in (None, place["data"])):
            (FOLDER / each).unlink(missing_ok=True)
