"""Kinds of lists and mappings: of keys that the table knows, or of names that a site gives itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proposals.settings.kinds import Kind, Read, Setting, unknown, wrong
from proposals.text.names import closest, shown

NEAR = (
    0.8  # how like a known key another must be to be a misspelt one, where foreign keys are allowed (difflib's ratio)
)
Rows = Iterable[tuple[str, Setting]]


@dataclass(frozen=True)
class Group:
    """A mapping of these rows. Read, it holds every row's key, with its default where the site says nothing.

    sparse
        Read, it holds only what the site says: no defaults.
    bare
        The key alone, with nothing after it, is a mapping without content; elsewhere it says nothing.
    like
        The path of the rows that these repeat: the reference page points there.
    others
        Keys beside the rows that configure writes there; then a key that is like none is left alone too.
    """

    rows: tuple[Setting, ...]
    sparse: bool = False
    bare: bool = False
    like: str = ""
    others: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        if self.like:
            return f"a mapping of keys as under {self.like}"
        return f"a mapping of {', '.join(row.key for row in self.rows)}" if self.rows else "nothing"

    def read(self, key: str, value: object) -> Read:
        written = {} if value is None else value
        if not isinstance(written, Mapping):
            return None, [wrong(key, value, self.expected)]
        values, problems = {}, self._unknown(key, written)
        for row in self.rows:
            found, wrongs = read_row(row, written, f"{key}: {row.key}")
            problems += wrongs
            if not self.sparse or written.get(row.key) is not None:
                values[row.key] = found
        return values, problems

    def _unknown(self, key: str, said: Mapping) -> list[str]:
        known = [row.key for row in self.rows]
        odd = [word for word in said if word not in known and word not in self.others]
        return [unknown(word, known, key) for word in odd if not self.others or closest(str(word), known, NEAR)]

    def inner(self) -> Rows:
        for row in () if self.like else self.rows:
            yield row.key, row
            yield from ((f"{row.key}: {path}", each) for path, each in row.kind.inner())


@dataclass(frozen=True)
class Named:
    """A mapping whose keys are the site's own names.

    word
        Stands for them on the reference page.
    filled
        Whether an empty one is an error.
    """

    name: Kind
    value: Kind
    example: str
    word: str = "NAME"
    filled: bool = False

    @property
    def expected(self) -> str:
        return f"a mapping such as {self.example}"

    def read(self, key: str, value: object) -> Read:
        if not isinstance(value, Mapping) or (self.filled and not value):
            return None, [wrong(key, value, self.expected)]
        return self.entries(key, value)

    def entries(self, key: str, said: Mapping) -> Read:
        """Read every entry; one whose name or value is not understood is left out."""
        values, problems = {}, []
        for name, each in said.items():
            word, wrongs = self.name.read(f"{key}: a name", name)
            if not wrongs:
                found, wrongs = self.value.read(f"{key}: {shown(name)}", each)
                if found is not None:
                    values[word] = found
            problems += wrongs
        return values, problems

    def inner(self) -> Rows:
        return ((f"{self.word}: {path}", row) for path, row in self.value.inner())


class Names(Named):
    """The same, or DeepSea's form, a list of names."""

    def read(self, key: str, value: object) -> Read:
        if not isinstance(value, list):
            return super().read(key, value)
        odd = [each for each in value if isinstance(each, list | Mapping)]  # nothing that a mapping's key could be
        written, problems = self.entries(key, dict.fromkeys(each for each in value if each not in odd))
        return written, [wrong(f"{key}: a name", each, self.name.expected) for each in odd] + problems


@dataclass(frozen=True)
class Many:
    """A list; one alone need not be in a list.

    filled
        Whether an empty one, or the key alone, is an error: where nothing said is all, who takes the last one out means
        none.
    """

    kind: Kind
    filled: bool = False

    @property
    def expected(self) -> str:
        return f"{self.kind.expected}, or a list of them"

    def read(self, key: str, value: object) -> Read:
        if self.filled and value in ([], None):
            return [], [wrong(key, value, self.expected)]
        reads = [self.kind.read(key, each) for each in (value if isinstance(value, list) else [value])]
        return [found for found, wrongs in reads if not wrongs], [line for _, wrongs in reads for line in wrongs]

    def inner(self) -> Rows:
        return self.kind.inner()


@dataclass(frozen=True)
class Forms:
    """A mapping of one of several groups: the first whose own key, the group's first row, is in it."""

    groups: tuple[Group, ...]
    expected: str

    def read(self, key: str, value: object) -> Read:
        written = value if isinstance(value, Mapping) else {}
        group = next((each for each in self.groups if each.rows[0].key in written), None)
        return group.read(key, value) if group else (None, [wrong(key, value, self.expected)])

    def inner(self) -> Rows:
        yield from {path: row for group in self.groups for path, row in group.inner()}.items()


@dataclass(frozen=True)
class Toggle:
    """``true`` for the defaults, ``false`` for nothing, or a group."""

    group: Group

    @property
    def expected(self) -> str:
        return f"true, false or {self.group.expected}"

    def read(self, key: str, value: object) -> Read:
        if value is False:
            return None, []
        found = {} if value is True else value
        return self.group.read(key, found) if isinstance(found, Mapping) else (None, [wrong(key, value, self.expected)])

    def inner(self) -> Rows:
        return self.group.inner()


def read_row(row: Setting, said: Mapping, key: str) -> Read:
    """Return what a row's key says in a mapping, its default where that is nothing, and what is wrong with it."""
    if not says(row, said):
        return default(row), [wrong(key, None, row.kind.expected)] if row.required else []
    found, wrongs = row.kind.read(key, said[row.key])
    return default(row) if wrongs and found is None else found, wrongs


def says(row: Setting, said: Mapping) -> bool:
    """Return whether a mapping says anything of a row: a group without content does not, unless its key alone does, as
    that of a list which may not be empty."""
    if isinstance(row.kind, Group):
        return row.key in said if row.kind.bare else said.get(row.key) not in (None, {})
    if isinstance(row.kind, Many) and row.kind.filled:
        return row.key in said
    return said.get(row.key) is not None


def default(row: Setting) -> object:
    """Return what holds where the site says nothing, as the product uses it."""
    return None if row.default is None else row.kind.read(row.key, row.default)[0]
