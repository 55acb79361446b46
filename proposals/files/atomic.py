"""The only file here that opens files: read whole, written whole or not at all; to one, a line is added."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from proposals.text.errors import StoreError
from proposals.text.names import shown

NEXT = {  # what to do where the system refuses a file
    errno.ENOENT: "is the path right?",
    errno.ENOTDIR: "a part of the path is a file where a folder was expected",
    errno.EEXIST: "a part of the path is a file where a folder was expected",
    errno.EISDIR: "this is a folder where a file was expected",
    errno.ENAMETOOLONG: "shorten it",
    errno.ELOOP: "its links lead in a circle",
    errno.EACCES: "run this as root, or as the user who owns it",
    errno.EPERM: "run this as root, or as the user who owns it",
    errno.EROFS: "its file system is mounted read-only: mount it for writing",
    errno.ENOSPC: "make room there, then run this again",
    errno.EDQUOT: "make room there, then run this again",
    errno.EIO: "the disk below may be dying: see dmesg",
}
_WRITER: dict[Path, str] = {}  # as whom a master writes in its folders, where that is not root
LARGEST = 512 << 20  # bytes of one file that is read


def read_text(path: str | Path) -> str:
    """The text of a file; bytes that are not UTF-8 are kept as lone surrogates, for the reader to refuse.

    Raises StoreError."""
    try:
        if Path(path).stat().st_size > LARGEST:
            raise StoreError(f"{path} is larger than {LARGEST >> 20} MiB: that is none of our files")
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise failed("read", path, error) from error


def write(path: str | Path, text: str, mode: int = 0o644) -> None:
    """Write a file whole: beside its place first, on disk before it gets its name. Raises StoreError."""
    try:
        _write(Path(path), text, mode)
    except OSError as error:
        raise failed("write", path, error) from error


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:200]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(beside).replace(path)
    except OSError:
        Path(beside).unlink(missing_ok=True)
        raise


def append(path: str | Path, line: str, mode: int = 0o644) -> None:
    """Add a line to a file, which is made where it is absent; on disk when this returns. Raises StoreError.

    A power failure may leave a part of it, without its end.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(f"{line}\n".encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(handle)
    except OSError as error:
        raise failed("write", path, error) from error


def touch(path: str | Path) -> None:
    """Give a file the time of now, its content as it is. Raises StoreError."""
    try:
        os.utime(path)
    except OSError as error:
        raise failed("touch", path, error) from error


def remove(path: str | Path) -> None:
    """Remove a file, where it is there. Raises StoreError."""
    try:
        Path(path).unlink(missing_ok=True)
    except OSError as error:
        raise failed("remove", path, error) from error


def move(path: str | Path, target: str | Path) -> None:
    """Give a file or folder another name on its file system; one that has it by now stays. Raises StoreError."""
    try:
        if os.path.lexists(path):
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            Path(path).rename(target)
    except OSError as error:
        raise failed("move", path, error) from error


def close_folder(path: str | Path) -> None:
    """Make a folder that root alone may read, or make one so that is there. Raises StoreError."""
    try:
        Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
        Path(path).chmod(0o700)
    except OSError as error:
        raise failed("make", path, error) from error


def write_many(root: str | Path, texts: Mapping[str, str], mode: int = 0o644) -> None:
    """Write many files, each whole; folders that are new come into place at once. Raises StoreError.

    All are on disk before the first gets its name: a power failure leaves none of them empty.
    """
    if not texts:
        return
    root = place = Path(root)
    first = {path: path.partition("/")[0] for path in texts}
    new = {name for name in first.values() if not (root / name).exists()}
    try:
        with _tree_beside(root / "new", texts, mode) as beside:
            for path in sorted({name if name in new else path for path, name in first.items()}):
                place = root / path
                place.parent.mkdir(parents=True, exist_ok=True)
                try:
                    (beside / path).replace(place)
                except OSError as error:
                    if error.errno != errno.EXDEV:
                        raise
                    _write(place, texts[path], mode)  # its folder is another file system's
            os.sync()
    except OSError as error:
        raise failed("write", place, error) from error


def write_tree(folder: str | Path, texts: Mapping[str, str], mode: int = 0o644) -> None:
    """Make a folder with these files (relative path -> text), written beside and then renamed into place.

    Folders of files that only root may read are closed as well. Raises StoreError where the folder exists."""
    folder = Path(folder)
    if os.path.lexists(folder):
        raise StoreError(f"{folder} exists already: it is never written over")
    try:
        with _tree_beside(folder, texts, mode) as beside:
            beside.rename(folder)
    except OSError as error:
        raise failed("write", folder, error) from error


@contextmanager
def _tree_beside(folder: Path, texts: Mapping[str, str], mode: int) -> Iterator[Path]:
    """Write a folder beside its place, on disk; what is not moved from there is gone in the end."""
    closed = 0o755 if mode & 0o044 else 0o700
    by_folder: dict[str, dict[str, str]] = {"": {}}
    for relative, text in texts.items():
        parent, _, name = relative.rpartition("/")
        by_folder.setdefault(parent, {})[name] = text
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name[:200]}."))
    try:
        for parent in sorted(by_folder):
            _folders(beside, parent, closed)
            _write_new(f"{beside}/{parent}", by_folder[parent], mode)
        os.sync()
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _folders(top: Path, relative: str, mode: int) -> None:
    top.chmod(mode)
    for part in filter(None, relative.split("/")):
        top = top / part
        top.mkdir(exist_ok=True)
        top.chmod(mode)


def _write_new(folder: str, texts: Mapping[str, str], mode: int) -> None:
    """Files in a folder that nobody sees yet: no more calls than it takes, there may be many thousands."""
    where = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name, text in texts.items():
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=where)
            with os.fdopen(handle, "wb") as file:  # unbuffered, a full disk would cut the text without an error
                os.fchmod(handle, mode)
                file.write(text.encode("utf-8", "surrogateescape"))
    finally:
        os.close(where)


def swap_link(link: str | Path, target: str | Path) -> None:
    """Point the symbolic link ``link`` at ``target`` in one step; one that does stays. Raises StoreError."""
    link = Path(link)
    if link.is_symlink() and link.readlink() == Path(target):
        return
    beside = link.with_name(f".{link.name}.{os.getpid()}")
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        beside.symlink_to(target)
        beside.replace(link)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise failed("link", link, error) from error


def writes(user: str, folders: Iterable[str | Path]) -> None:
    """Tell as whom this process's master writes in some folders, which is not root: that is said where the system
    refuses a file in them to it.
    """
    _WRITER.update(dict.fromkeys(map(Path, folders), user))


def failed(verb: str, path: str | Path, error: OSError) -> StoreError:
    """The one message on a file that the system refuses: what, which file, why, what to do."""
    return StoreError(f"cannot {verb} {shown(path, 200)}: {why(error, path)}")


def why(error: OSError, path: str | Path = "") -> str:
    """What the system said, and what to do about it where that is known."""
    said = error.strerror or type(error).__name__
    if error.errno in (errno.EACCES, errno.EPERM):
        for folder in {Path(path), *Path(path).parents} & _WRITER.keys():
            user = _WRITER[folder]
            make = "" if os.access(folder, os.F_OK) else f"mkdir -p -m 750 {folder}; "
            return f"{said}: {make}chown -R {user} {folder}: the master runs as {user}"
        if user := next(iter(_WRITER.values()), ""):
            with_it = f"the master runs as {user}, and salt-run with it, also where root types it"
            return f"{said}: {with_it}: give that user the right, or let the master run as root (user: root)"
    return f"{said}: {NEXT[error.errno]}" if error.errno in NEXT else said
