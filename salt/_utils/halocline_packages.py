"""What Salt's own modules do not tell this host's package manager."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from salt.exceptions import CommandExecutionError

NAMES = "APT_CONFIG"  # the file that apt reads before its others
ALLOWS = 'APT::Get::Upgrade-Allow-New "true";\n'  # as apt itself has it: apt-get(8), --with-new-pkgs


@contextmanager
def new_too() -> Iterator[None]:
    """Let apt bring packages that newer ones need, meanwhile. ``apt-get upgrade`` keeps these back else, and so every
    kernel: each is a package of another name. None is removed for it. Other package managers bring them anyway.
    """
    if not shutil.which("apt-get"):
        yield
        return
    before = os.environ.get(NAMES)
    path = _written(ALLOWS + (f'#include "{before}";\n' if before else ""))
    os.environ[NAMES] = path
    try:
        yield
    finally:
        del os.environ[NAMES]
        os.environ.update({NAMES: before} if before else {})
        Path(path).unlink(missing_ok=True)


def _written(text: str) -> str:
    """A new file; a job that is killed leaves it, as apt may go on."""
    try:
        handle, path = tempfile.mkstemp(prefix="halocline-apt-")
        with os.fdopen(handle, "w") as file:
            file.write(text)
    except OSError as err:
        raise CommandExecutionError(f"{tempfile.gettempdir()}: a file cannot be written: {err.strerror}") from err
    return path
