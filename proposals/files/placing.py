"""What an archive holds, put in its place: staged beside it, then moved, one name directly in a folder at a time."""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from proposals.files import packing, unpacking
from proposals.files.atomic import failed
from proposals.files.entries import ASIDE, STAGING, Entry, units
from proposals.files.packing import Folder


class State(Enum):
    """What lies where a unit belongs."""

    ABSENT = "absent"
    SAME = "same"
    OTHER = "other"


def states(entries: Sequence[Entry], folders: Mapping[str, Folder], links: Collection[str]) -> dict[str, State]:
    """Return what lies at the place of each unit (``NAME/FIRST``) now. Raises StoreError.

    links
        Folders that links may lead into.
    """
    return {unit: _state(_at(folders, unit), unit, wanted, links) for unit, wanted in units(entries).items()}


def _state(path: Path, unit: str, wanted: Sequence[Entry], links: Collection[str]) -> State:
    if not os.path.lexists(path):
        return State.ABSENT
    found = packing.below(path, unit, links)
    same = sorted(map(repr, map(Entry.timeless, found))) == sorted(map(repr, map(Entry.timeless, wanted)))
    return State.SAME if same else State.OTHER


class Staged:
    """Entries on their way: each folder has one of its own beside what it holds, where they are written first."""

    def __init__(self, folders: Mapping[str, Folder], wanted: Collection[str]) -> None:
        self.folders, self.wanted = folders, wanted
        self.beside: dict[str, Path] = {}
        self.placed: list[tuple[Path, Entry]] = []

    def place(self, entry: Entry) -> Path | None:
        """Where an entry is staged; None where its unit is not wanted."""
        if entry.unit not in self.wanted:
            return None
        name, _, rest = entry.path.partition("/")
        self.placed.append((self.beside[name] / rest, entry))
        return self.placed[-1][0]

    def move(self) -> list[Path]:
        """Move every unit to its place; return what was moved aside for it. Raises StoreError.

        Each is there whole or not at all, and what is aside is whole: a run that is killed is repeated.
        """
        unpacking.settle(self.placed)
        os.sync()
        aside = []
        for unit in self.wanted:
            name, _, first = unit.partition("/")
            path = _at(self.folders, unit)
            try:
                if os.path.lexists(path):
                    aside.append(path.rename(_free(path)))
                (self.beside[name] / first).rename(path)
            except OSError as error:
                raise failed("replace", path, error) from error
        os.sync()
        return aside


@contextmanager
def staged(folders: Mapping[str, Folder], wanted: Sequence[str]) -> Iterator[Staged]:
    """Make the folders in which units are staged, each within the one that they belong to; they go again at the end.

    wanted
        The units, in the order in which they are moved.
    """
    made = Staged(folders, wanted)
    try:
        for name in dict.fromkeys(unit.partition("/")[0] for unit in wanted):
            path = folders[name].path
            try:
                path.mkdir(parents=True, exist_ok=True)
                for killed in path.glob(f"{STAGING}*"):
                    shutil.rmtree(killed)
                made.beside[name] = Path(tempfile.mkdtemp(dir=path, prefix=STAGING))
            except OSError as error:
                raise failed("write", path, error) from error
        yield made
    finally:
        for path in made.beside.values():
            shutil.rmtree(path, ignore_errors=True)


def _at(folders: Mapping[str, Folder], unit: str) -> Path:
    name, _, first = unit.partition("/")
    return folders[name].path / first


def _free(path: Path) -> Path:
    """A name beside a path that nothing has yet."""
    number = 1
    while os.path.lexists(free := path.with_name(f"{path.name}{ASIDE}{number}")):
        number += 1
    return free
