"""An archive of ``packing``, read against its manifest: each member as it says, or nothing is taken."""

import grp
import hashlib
import os
import pwd
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from proposals.files.atomic import LARGEST, failed
from proposals.files.documents import parse_json
from proposals.files.entries import FILE, FOLDER, LINK, Entry
from proposals.files.packing import CHUNK, MANIFEST, TYPES
from proposals.text.errors import StoreError
from proposals.text.names import shown

LARGEST_MANIFEST = 256 << 20  # bytes
Judge = Callable[[Any], list[Entry]]
Place = Callable[[Entry], Path | None]
BROKEN = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError)


def read(stream: IO[bytes], judge: Judge, keep: Collection[str] = (), place: Place | None = None) -> dict[str, str]:
    """Read an archive whole; return the text of some of its files. Raises StoreError where it is not what it says.

    judge
        Takes the manifest, and returns the entries that it lists, checked; it raises where this archive is refused.
    keep
        Which files' texts are returned, by path.
    place
        Says where an entry is written; None where it is not. Nothing is written without.
    """
    texts: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=stream, mode="r|gz") as archive:
            entries = judge(_manifest(archive))
            for entry in entries:
                content = _content(archive, entry)
                where = place(entry) if place else None
                chunks = _checked(content, entry)
                if where:
                    _write(where, entry, chunks)
                elif entry.path in keep and entry.size <= LARGEST:
                    texts[entry.path] = b"".join(chunks).decode()
                else:
                    for _ in chunks:
                        pass
            if archive.next():
                raise StoreError("it holds more than its manifest lists: this is no backup of ours")
        while stream.read(CHUNK):  # what fills the last block
            pass
    except BROKEN as error:
        raise StoreError(f"it is cut off or damaged ({shown(error)}): take another copy of it") from error
    return texts


def owned(entries: Sequence[Entry]) -> None:
    """Raise StoreError where this host has not the users and groups whom entries belong to."""
    unknown = {each for entry in entries for each, known in _owners(entry) if known is None}
    if unknown:
        raise StoreError(
            f"this host has no user or group {', '.join(sorted(unknown))}: install first what the old master had "
            "(salt-master, ceph-common)"
        )


def settle(placed: Sequence[tuple[Path, Entry]]) -> None:
    """Give folders that were written their modes and times, the deepest first: what is in them changed both."""
    for path, entry in reversed(placed):
        if entry.kind == FOLDER:
            _own(path, entry)


def _manifest(archive: tarfile.TarFile) -> Any:
    first = archive.next()
    if first is None or first.name != MANIFEST or not first.isreg() or first.size > LARGEST_MANIFEST:
        raise StoreError("it does not begin with a manifest: this is no backup of ours")
    file = archive.extractfile(first)
    return parse_json(file.read().decode() if file else "", MANIFEST)


def _content(archive: tarfile.TarFile, entry: Entry) -> IO[bytes] | None:
    """The content of the next member, which must be this entry."""
    member = archive.next()
    if member is None or (member.name, member.type) != (entry.path, TYPES[entry.kind]) or member.size != entry.size:
        found = shown(member.name) if member else "its end"
        raise StoreError(f"{shown(entry.path)} was expected, {found} found: it is cut off, or no backup of ours")
    return archive.extractfile(member) if entry.kind == FILE else None


def _checked(content: IO[bytes] | None, entry: Entry) -> Iterator[bytes]:
    """A file's content, of which the last piece comes when all of it has the hash that the manifest says."""
    if content is None:
        return
    digest, size = hashlib.sha256(), 0
    while chunk := content.read(CHUNK):
        digest.update(chunk)
        size += len(chunk)
        yield chunk
    if size != entry.size or digest.hexdigest() != entry.sha256:
        raise StoreError(f"{shown(entry.path)} is not what the manifest says: it is damaged, take another copy of it")


def _write(path: Path, entry: Entry, chunks: Iterator[bytes]) -> None:
    """Write an entry where nothing is, for its owner alone until all of it is there."""
    try:
        if entry.kind == FOLDER:
            path.mkdir(mode=0o700)
        elif entry.kind == LINK:
            path.symlink_to(entry.target)
            _own(path, entry)
        else:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "wb") as file:
                for chunk in chunks:
                    file.write(chunk)
            _own(path, entry)
    except OSError as error:
        raise failed("write", path, error) from error


def _own(path: Path, entry: Entry) -> None:
    user, group = (known for _, known in _owners(entry))
    about = path.lstat()
    if (user, group) != (about.st_uid, about.st_gid):
        os.chown(path, user or 0, group or 0, follow_symlinks=False)
    if entry.kind != LINK:
        path.chmod(entry.mode)
    os.utime(path, ns=(entry.mtime, entry.mtime), follow_symlinks=False)


def _owners(entry: Entry) -> tuple[tuple[str, int | None], tuple[str, int | None]]:
    """Name and number of an entry's user and group on this host; None where it has none of that name."""
    return (entry.user, _number(entry.user, _uid)), (entry.group, _number(entry.group, _gid))


def _number(name: str, known: Callable[[str], int]) -> int | None:
    try:
        return int(name) if name.isdecimal() else known(name)
    except KeyError:
        return None


def _uid(name: str) -> int:
    return pwd.getpwnam(name).pw_uid


def _gid(name: str) -> int:
    return grp.getgrnam(name).gr_gid
