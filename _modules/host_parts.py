"""What this minion has of Halocline, and whether it has room to work."""

import hashlib
import shutil
from pathlib import Path

VERSION = "0.1.0"  # of setup.cfg, which no minion has; a test compares them
KINDS = ("modules", "states", "grains", "utils")


def look() -> dict:
    """Return the product's version, a hash of each part that prep brought, and what is free where Salt writes.

    ``{version, parts: {modules/osd.py: sha256 in hex}, room: {folder: bytes free}, masters}``. Parts of the site are
    among them; masters are those of ``host_masters.active``.

    CLI Example:

    .. code-block:: bash

        salt '*' host_parts.look
    """
    root = Path(__opts__["extension_modules"])
    parts = {
        f"{kind}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for kind in KINDS
        for path in sorted((root / kind).glob("*.py"))
    }
    folders = {str(folder) for folder in (Path("/"), Path("/var/log"), Path(__opts__["cachedir"])) if folder.is_dir()}
    room = {folder: shutil.disk_usage(folder).free for folder in sorted(folders)}
    return {"version": VERSION, "parts": parts, "room": room, "masters": __salt__["host_masters.active"]()}
