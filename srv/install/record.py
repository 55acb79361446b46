"""What was installed: every file and link with the hash of what was written. Only that is ever replaced or removed."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

LIBRARY = Path("/var/lib/halocline/python")  # where Salt's Python finds our packages, and nothing else of the tree
RECORD = LIBRARY.parent / "installed.json"
LISTED = 10  # paths that one message names


class InstallError(Exception):
    """The one message that a person reads."""


def listed(paths: Sequence[str]) -> str:
    """Paths as a message names them."""
    return ", ".join(paths[:LISTED]) + (f" and {len(paths) - LISTED} more" if len(paths) > LISTED else "")


def found(path: str | Path) -> bytes | str | None:
    """What lies at a path: bytes, ``-> target`` of a link, ``folder``, or None."""
    path = Path(path)
    if path.is_symlink():
        return f"-> {path.readlink()}"
    if path.is_dir():
        return "folder"
    return path.read_bytes() if path.exists() else None


class Record:
    """``paths``: the hashes that may lie at each path (two while an update is written); ``folders`` that were made;
    ``source``: the tree that was copied, empty where it was put in place by hand.
    """

    def __init__(self) -> None:
        try:
            recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {"paths": {}, "folders": []}
            self.paths, self.folders, self.source = recorded["paths"], recorded["folders"], recorded.get("from", "")
        except (ValueError, TypeError, KeyError):
            raise InstallError(
                f"{RECORD} is not as it was written, so it is not known which files are ours: take it from a backup, "
                "or move it away and install again from a checkout, which names what else to move"
            ) from None

    def ours(self, path: str) -> bool:
        """Whether what lies at a path is as it was written."""
        return (content := found(path)) is not None and _digest(content) in self.paths.get(path, ())

    def write(
        self, files: Mapping[str, bytes | str], copied: Mapping[str, Sequence[Path]] = MappingProxyType({})
    ) -> None:
        """Write files and links that are not somebody else's, remove ours that are not wanted any more.

        files
            ``{path: bytes, or '-> target' of a link}``. What was there before us, and is the same, stays not ours.
        copied
            The files from which one was made, by its path: who cannot read them cannot read it.
        """
        for path in [path for path in self.paths if path not in files]:
            self._remove(path)
        mine = {path: each for path, each in files.items() if path in self.paths or found(path) is None}
        made = {str(folder) for path in mine for folder in Path(path).parents if not folder.exists()}
        self.folders = sorted({*self.folders, *made, *map(str, LIBRARY.parents[:1])})
        # First, with the old hashes too: an installation that is cut off can be repeated, and undone.
        self.paths = {path: [*self.paths.get(path, ()), _digest(each)] for path, each in mine.items()}
        self._save()
        for path, each in mine.items():
            if not self.ours(path) or found(path) != each:
                _put(Path(path), each, copied.get(path, ()))
            elif path in copied:  # the files' modes may be others by now
                _shut(Path(path), copied[path])
        self.paths = {path: [_digest(each)] for path, each in mine.items()}
        self._save()

    def undo(self) -> list[str]:
        """Remove all that is as it was written, and the folders that were made for it; return the paths that stay."""
        if not self.paths:
            raise InstallError(f"nothing is installed: {RECORD} does not exist")
        edited = [path for path in self.paths if found(path) is not None and not self.ours(path)]
        for path in self.paths:
            self._remove(path)
        RECORD.unlink()
        for folder in sorted(self.folders, key=len, reverse=True):
            if Path(folder).is_dir() and not any(Path(folder).iterdir()):
                Path(folder).rmdir()
        return edited

    def _remove(self, path: str) -> None:
        """Remove one of ours, and what Python has compiled of it."""
        if self.ours(path):
            Path(path).unlink()
        if str(Path(path).parent) in self.folders:
            shutil.rmtree(Path(path).parent / "__pycache__", ignore_errors=True)

    def _save(self) -> None:
        recorded = {"paths": self.paths, "folders": self.folders, "from": self.source}
        _put(RECORD, json.dumps(recorded, indent=1, sort_keys=True).encode())


def _put(path: Path, content: bytes | str, copied: Sequence[Path] = ()) -> None:
    """Write a file or link whole or not at all; readable by all, as a master may run as another user."""
    for folder in [folder for folder in reversed(path.parents) if not folder.exists()]:
        folder.mkdir()
        folder.chmod(0o755)
    draft = Path(f"{path}.new")
    draft.unlink(missing_ok=True)
    if isinstance(content, str):
        draft.symlink_to(content.removeprefix("-> "))
    else:
        draft.touch(0o600)
        draft.write_bytes(content)
        _shut(draft, copied)
    draft.replace(path)


def _shut(path: Path, copied: Sequence[Path]) -> None:
    """Let nobody read a file but those who can read all that it was made from: the master, which reads them, can."""
    stats = [each.stat() for each in copied]
    mode = 0o644
    for each in stats:
        mode &= each.st_mode
    if stats:
        least = min(stats, key=lambda each: each.st_mode & 0o077)
        os.chown(path, least.st_uid, least.st_gid)
    path.chmod(mode)


def _digest(content: bytes | str) -> str:
    return content if isinstance(content, str) else hashlib.sha256(content).hexdigest()
