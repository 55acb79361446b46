"""Run a program of this machine; what it says when it fails becomes the message."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.errors import LabError


def run(*argv: str | Path, text: str = "", env: dict[str, str] | None = None, limit: float = 600) -> str:
    """Standard output of a program that reads `text`; `limit` in seconds.

    Raises LabError with the program's last words where it is missing, fails or takes too long.
    """
    words: Sequence[str] = [str(word) for word in argv]
    try:
        done = subprocess.run(words, input=text, capture_output=True, text=True, env=env, timeout=limit, check=False)
    except FileNotFoundError as err:
        raise LabError(f"{words[0]} is not installed: `apt-get install` its package and try again.") from err
    except subprocess.TimeoutExpired as err:
        raise LabError(f"{' '.join(words)}: no end after {limit:.0f} s.") from err
    if done.returncode:
        said = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-8:])
        raise LabError(f"{' '.join(words)} failed with status {done.returncode}:\n{said}")
    return done.stdout
