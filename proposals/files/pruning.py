"""Old files and folders that nobody reads any more: the newest of a kind are kept."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from proposals.files.atomic import failed


def prune(paths: Iterable[Path], keep: int) -> list[Path]:
    """Remove all but the ``keep`` newest by time of change; return those that went. Raises StoreError.

    A folder gets another name first: interrupted, none is left half there under its own.
    """
    newest = sorted(paths, key=lambda path: (path.lstat().st_mtime, path.name), reverse=True)
    for path in newest[keep:]:
        try:
            if path.is_dir() and not path.is_symlink():
                gone = path.with_name(f".{path.name}.old")
                if gone.exists():  # of a run that was killed
                    shutil.rmtree(gone)
                shutil.rmtree(path.rename(gone))
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise failed("remove", path, error) from error
    return newest[keep:]
