"""What lies in a folder of fragments: folders, files that a glob matches, one file's value."""

import os
from glob import glob  # Path.glob also matches hidden files, and "**" in any depth
from pathlib import Path
from typing import Any

from proposals.files import atomic
from proposals.files.documents import parse_yaml
from proposals.text.errors import PolicyError, StoreError

FRAGMENTS = (".sls", ".yml")


def read_yaml(path: str | Path) -> Any:
    """The value of a YAML file, plain data only. Raises StoreError with the line where it is broken."""
    return parse_yaml(atomic.read_text(path), str(path))


def mapping(path: Path) -> dict:
    """The mapping in a YAML file that configure wrote; an empty one where there is none, or a broken one."""
    try:
        content = read_yaml(path) if path.exists() else {}
    except StoreError:
        return {}
    return content if isinstance(content, dict) else {}


def matching(root: str | Path, pattern: str) -> list[str]:
    """Files in folders of ``root`` that the glob ``pattern`` matches, as sorted relative paths."""
    found = glob(pattern, root_dir=root)  # noqa: PTH207
    # what is called like a file is taken for one: asking about each is slow where there are many thousands
    return sorted(path for path in found if "/" in path and (path.endswith(FRAGMENTS) or (Path(root) / path).is_file()))


def folders(root: str | Path) -> list[str]:
    """Names of the folders directly in ``root``."""
    try:
        return sorted(entry.name for entry in os.scandir(root) if entry.is_dir() and not entry.name.startswith("."))
    except OSError as error:
        raise PolicyError(f"cannot read {root}: {error.strerror}: the folder 'proposals' was expected") from error
