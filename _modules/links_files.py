"""The files of a network backend that hold the planned links: what differs, and their writing."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline

OURS = ("05-halocline-", "halocline-", "ifcfg-")  # how the backends' files of links begin


def differences(backend: str, network: Mapping) -> dict:
    """Return ``{written: {path: text}, removed: [path]}``: files that differ from the plan; nothing is changed.

    backend
        The backend's module, such as ``links_networkd``.
    network
        ``ceph:network`` of the pillar.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_files.differences links_networkd '{links: {}}'
    """
    planned = __salt__[f"{backend}.files"](network)
    ours = __salt__["links_undo.applied"]()["files"]
    return {
        "written": {path: text for path, text in planned.items() if _text(path) != text},
        "removed": [path for path in ours if path not in planned and Path(path).exists()],
    }


def write(files: Mapping, names: Sequence[str]) -> tuple[list[str], set[str]]:
    """Write and remove files, as ``differences`` has them; return which interfaces are concerned, and which of them
    had no file of ours before. A file that is not ours is kept first.

    names
        The plan's interfaces.

    CLI Example: for ``links.apply``.
    """
    ours = __salt__["links_undo.applied"]()["files"]
    for path, text in files["written"].items():
        if path not in ours:
            __salt__["links_undo.keep"](path)
        halocline.write(Path(path), text, 0o600 if path.endswith(".nmconnection") else 0o644)
    for path in files["removed"]:
        Path(path).unlink(missing_ok=True)
    touched = (*files["written"], *files["removed"])
    changed = [name for name in dict.fromkeys(names) if any(_is_of(path, name) for path in touched)]
    return changed, {name for name in changed if not any(_is_of(path, name) for path in ours)}


def _is_of(path: str, name: str) -> bool:
    """Whether a backend's file is an interface's own."""
    stem = Path(path).name
    for prefix in OURS:
        stem = stem.removeprefix(prefix)
    return stem in (name, f"{name}.network", f"{name}.netdev", f"{name}.nmconnection")


def _text(path: str) -> str | None:
    """What a file holds; in one that is not UTF-8, as others may have written it, something that no plan says."""
    return Path(path).read_text(encoding="utf-8", errors="replace") if Path(path).exists() else None
