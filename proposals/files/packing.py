"""Folders to one archive, tar and gzip: every file with its hash, in a manifest that comes first."""

import grp
import hashlib
import io
import os
import pwd
import stat
import tarfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from proposals.files.atomic import failed
from proposals.files.entries import ASIDE, FILE, FOLDER, LINK, STAGING, Entry, leads_out
from proposals.text.errors import StoreError

MANIFEST = "manifest.json"
CHUNK = 1 << 20  # bytes read at once
TYPES = {FILE: tarfile.REGTYPE, FOLDER: tarfile.DIRTYPE, LINK: tarfile.SYMTYPE}


class Folder(NamedTuple):
    """A folder, and which of the names directly in it count."""

    path: Path
    takes: Callable[[str], bool] = lambda name: True


class Looked(NamedTuple):
    """What lies in folders; ``left_out``: links that lead elsewhere, and what is neither file, folder nor link."""

    entries: list[Entry]
    left_out: list[str]


def look(folders: Mapping[str, Folder], links: Collection[str] = ()) -> Looked:
    """Return what lies in folders, by name, each file read and hashed. Raises StoreError.

    links
        Further folders that links may lead into.
    """
    looked = Looked([], [])
    within = [*(str(folder.path) for folder in folders.values()), *links]
    for name, folder in folders.items():
        with suppress(FileNotFoundError):
            for item in _listed(folder.path):
                if folder.takes(item.name) and not item.name.startswith(STAGING) and ASIDE not in item.name:
                    _look(Path(item.path), f"{name}/{item.name}", within, looked)
    return looked


def below(path: Path, name: str, links: Collection[str]) -> list[Entry]:
    """Return the entries of one path and of all below it, under another name. Raises StoreError."""
    looked = Looked([], [])
    _look(path, name, links, looked)
    return looked.entries


def pack(stream: IO[bytes], manifest: str, entries: Sequence[Entry], folders: Mapping[str, Folder]) -> None:
    """Write an archive. Raises StoreError where a file is not what it was when it was looked at."""
    with tarfile.open(fileobj=stream, mode="w|gz") as archive:
        first = tarfile.TarInfo(MANIFEST)
        first.size, first.mode = len(manifest.encode()), 0o600
        archive.addfile(first, io.BytesIO(manifest.encode()))
        for entry in entries:
            name, _, rest = entry.path.partition("/")
            _add(archive, entry, folders[name].path / rest)


def _add(archive: tarfile.TarFile, entry: Entry, path: Path) -> None:
    member = tarfile.TarInfo(entry.path)
    member.type, member.mode, member.linkname = TYPES[entry.kind], entry.mode, entry.target
    if entry.kind != FILE:
        archive.addfile(member)
        return
    member.size = entry.size
    try:
        file = path.open("rb")
    except OSError as error:
        raise failed("read", path, error) from error
    with file:
        content = _Hashed(file)
        archive.addfile(member, content)  # type: ignore[arg-type]
    if content.digest.hexdigest() != entry.sha256:
        raise StoreError(f"{path} changed while it was packed: run this again")


class _Hashed:
    """A file that is read once, and its hash; where it has become shorter, zeros follow, and the hash is another."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest = file, hashlib.sha256()

    def read(self, size: int) -> bytes:
        """Read so many bytes."""
        try:
            content = self.file.read(size)
        except OSError as error:  # to a pipe's reader it would be an error of the pipe
            raise failed("read", self.file.name, error) from error
        self.digest.update(content)
        return content.ljust(size, b"\0")


def _listed(path: Path) -> list[os.DirEntry]:
    try:
        with os.scandir(path) as items:
            return sorted(items, key=lambda item: item.name)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise failed("read", path, error) from error


def _look(path: Path, name: str, within: Collection[str], looked: Looked) -> None:
    try:
        entry = _entry(path, name, within)
        if entry is None:
            looked.left_out.append(str(path))
            return
        looked.entries.append(entry)
        for item in _listed(path) if entry.kind == FOLDER else ():
            _look(Path(item.path), f"{name}/{item.name}", within, looked)
    except OSError as error:
        raise failed("read", path, error) from error


def _entry(path: Path, name: str, within: Collection[str]) -> Entry | None:
    about = path.lstat()
    owner: dict[str, Any] = {"user": _user(about.st_uid), "group": _group(about.st_gid), "mtime": about.st_mtime_ns}
    mode = stat.S_IMODE(about.st_mode)
    if stat.S_ISLNK(about.st_mode):
        target = str(path.readlink())
        return None if leads_out(name, target, within) else Entry(name, LINK, target=target, **owner)
    if stat.S_ISDIR(about.st_mode):
        return Entry(name, FOLDER, mode, **owner)
    if not stat.S_ISREG(about.st_mode):
        return None
    digest = hashlib.sha256()
    for chunk in _chunks(path):
        digest.update(chunk)
    return Entry(name, FILE, mode & 0o1777, **owner, size=about.st_size, sha256=digest.hexdigest())


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


@cache
def _user(uid: int) -> str:
    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


@cache
def _group(gid: int) -> str:
    with suppress(KeyError):
        return grp.getgrgid(gid).gr_name
    return str(gid)
