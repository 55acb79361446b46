"""What this minion has of Halocline, and whether it has room to work."""

import hashlib
import shutil
from collections.abc import Sequence
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


def digest(kinds: Sequence[str], suffixes: Sequence[str]) -> str:
    """Return one hash over all that Salt has synced to this minion, as ``runners/engine/looks/parts.py`` makes it.

    kinds
        Folders, such as ``modules``.
    suffixes
        Of the files that count, such as ``.py``.

    CLI Example:

    .. code-block:: bash

        salt '*' host_parts.digest '[modules, states]' '[.py]'
    """
    root = Path(__opts__["extension_modules"])
    paths = [path for kind in kinds for path in (root / kind).rglob("*") if path.suffix in suffixes and path.is_file()]
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.relative_to(root)}" for path in paths]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
