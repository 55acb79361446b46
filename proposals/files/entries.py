"""What lies in folders, entry by entry: how a manifest tells it, and what of a manifest is never written."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from proposals.text.errors import StoreError
from proposals.text.names import shown

FILE, FOLDER, LINK = "file", "folder", "link"
STAGING, ASIDE = ".restore.", ".before-restore."  # what a restore writes first, and what it moves aside; in no archive
LONGEST = 4096  # bytes of a path: Linux takes no longer one
_OWNER = re.compile(r"\w[\w.@\\ +-]{0,254}\$?")  # also of a directory: joe@example.com, EXAMPLE\joe
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Entry:
    """A file, folder or link. ``path`` is ``NAME/PATH``, NAME that of one of several folders; ``mtime`` in ns."""

    path: str
    kind: str
    mode: int = 0
    user: str = ""
    group: str = ""
    mtime: int = 0
    size: int = 0
    sha256: str = ""
    target: str = ""

    @property
    def unit(self) -> str:
        """What it is put in place with, at once: ``NAME/FIRST``."""
        return "/".join(self.path.split("/")[:2])

    def timeless(self) -> "Entry":
        """The same without its time: two that are equal so need not replace each other."""
        return replace(self, mtime=0)


def leads_out(path: str, target: str, folders: Collection[str]) -> bool:
    """Whether a link may lead out of its folder and of these.

    Only the first parts of a relative target may be ``..``: behind another link they would lead from where that one
    leads.
    """
    parts = PurePosixPath(target).parts
    if target.startswith("/"):
        return ".." in parts or not any(PurePosixPath(target).is_relative_to(folder) for folder in folders)
    up = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    return not parts or ".." in parts[up:] or up > path.count("/") - 1


def check(listed: Any, names: Collection[str], folders: Collection[str]) -> list[Entry]:
    """Return a manifest's entries. Raises StoreError with the first that would not stay in its folder, or is none.

    listed
        What the manifest says, as it was read.
    names
        The names that its folders may have.
    folders
        The folders that absolute links may lead into.
    """
    if not isinstance(listed, list):
        raise StoreError("its manifest lists no entries: this is no backup of ours")
    entries: dict[str, Entry] = {}
    for each in listed:
        entry = _entry(each)
        if problem := _problem(entry, names, folders, entries):
            raise StoreError(f"{shown(entry.path, 200)}: {problem}: this archive is none that master.backup made")
        entries[entry.path] = entry
    return list(entries.values())


def units(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return entries by what they are put in place with."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.unit, []).append(entry)
    return found


def _entry(listed: Any) -> Entry:
    kinds = Entry.__annotations__
    whole = isinstance(listed, Mapping) and {"path", "kind"} <= listed.keys() <= kinds.keys()
    if whole and all(type(value) is kinds[key] for key, value in listed.items()):
        return Entry(**listed)
    raise StoreError(f"its manifest has an entry that is none ({shown(listed, 200)}): this is no backup of ours")


def _problem(entry: Entry, names: Collection[str], folders: Collection[str], before: Mapping[str, Entry]) -> str | None:
    """What stands against writing an entry, after those before it."""
    name, *parts = entry.path.split("/")
    parent = entry.path.rpartition("/")[0]
    if name not in names or not parts or len(entry.path.encode("utf-8", "replace")) > LONGEST:
        return "it lies in no folder that a backup has"
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return "its path leads elsewhere"
    if entry.path in before:
        return "it is there twice"
    if parent != name and (parent not in before or before[parent].kind != FOLDER):
        return "what it lies in is no folder of the archive"
    if not (_OWNER.fullmatch(entry.user) and _OWNER.fullmatch(entry.group)):
        return "its owner has no name"
    if entry.kind == LINK:
        out = "\0" in entry.target or leads_out(entry.path, entry.target, folders)
        return f"it is a link that leads out, to {shown(entry.target, 200)}" if out else None
    allowed = 0o1777 if entry.kind == FILE else 0o3777  # a file is never run as its owner or group
    if entry.kind not in (FILE, FOLDER) or not 0 <= entry.mode <= 0o7777 or entry.mode & ~allowed:
        return f"it is a {shown(entry.kind)} of mode {entry.mode:o}"
    if entry.kind == FILE and not (_HASH.fullmatch(entry.sha256) and entry.size >= 0):
        return "it has no hash"
    return None
