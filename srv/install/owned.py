"""The folders in which Halocline writes: where the master runs as another user than root, they are that user's."""

import os
import pwd
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from record import InstallError

OURS = ("ceph", "halocline")  # <pillar_root>/ceph and /var/log/halocline


def known(user: str) -> pwd.struct_passwd | None:
    """Return the user as whom a master runs; None for root, whose everything is already. InstallError where there is
    none.
    """
    if user == "root":
        return None
    try:
        return pwd.getpwnam(user)
    except KeyError:
        raise InstallError(
            f"user: {user} in the master's configuration: this host has no such user; add it or correct that, then run "
            "this again"
        ) from None


def give(folders: Mapping[Path, int], user: pwd.struct_passwd) -> list[Path]:
    """Make folders (each with its mode) where they are absent, and give them to a user with all of root's in them.

    Return those that are left alone: one that is a link leads elsewhere, and one whose name does not say that it is
    ours, such as /var/log itself as the folder of logs, holds what is others'.
    """
    left = [folder for folder in folders if folder.is_symlink() or folder.name not in OURS]
    for folder, mode in folders.items():
        if folder in left:
            continue
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            folder.chmod(mode)
        for _, _, names, here in os.fwalk(folder):  # follows no link
            _give(here, user)
            _files(here, names, user)
    return left


def _files(here: int, names: Sequence[str], user: pwd.struct_passwd) -> None:
    """Give the files of an open folder. It may be that user's already, who could put a link in a file's place, also a
    hard one to a file of root's: what is looked at is what is given."""
    for name in names:
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
        except OSError:  # a link, a socket, or gone by now
            continue
        try:
            found = os.fstat(handle)
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                _give(handle, user)
        finally:
            os.close(handle)


def _give(handle: int, user: pwd.struct_passwd) -> None:
    """Root's goes to the user and its group; who else owns one keeps it. The mode, of secrets too, stays."""
    if os.fstat(handle).st_uid == 0:
        os.fchown(handle, user.pw_uid, user.pw_gid)
