"""policy.cfg: one glob a line chooses files under ``proposals/``. Nothing in it is ever evaluated."""

import re
import time
import warnings
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import regex

from proposals.files import atomic, documents
from proposals.policy import merging, unwritten
from proposals.policy.roles import ROLES
from proposals.text.errors import PolicyError, StoreError
from proposals.text.names import nearest, shown
from proposals.text.notes import several

LONGEST = 4096  # characters of a line
LONGEST_RE = 200
TOLD = 6  # wrong lines at once
SECONDS = 1.0  # that one line's expressions may take over all files; a good one takes milliseconds for thousands
KEYWORDS = ("slice", "re")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_SLICE = re.compile(r"\[(-?\d{1,9})?:(-?\d{1,9})?(?::(-?\d{1,9})?)?\]")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line that chooses: its number in the file, its glob, its filters, and the files it matches."""

    number: int
    pattern: str
    filters: tuple[tuple[str, Any], ...]
    matches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """What policy.cfg selects. ``contents``: path without its first folder -> {source: content}, in policy's order."""

    contents: dict[str, dict[str, dict]]
    lines: tuple[Line, ...]
    warnings: tuple[str, ...] = ()

    @property
    def targets(self) -> dict[str, list[str]]:
        """The sources of each target."""
        return {target: list(sources) for target, sources in self.contents.items()}

    def as_dict(self) -> dict:
        """The answer as ``python -m proposals policy`` prints it (docs/reference/policy.md)."""
        lines = [{"line": one.number, "pattern": one.pattern, "matches": len(one.matches)} for one in self.lines]
        return {"targets": self.targets, "lines": lines}


def parse(text: str, name: str = "policy.cfg") -> list[Line]:
    """The lines of a policy that choose. Raises PolicyError: each wrong line, its cause and the nearest right thing."""
    lines = []
    wrong: list[PolicyError] = []
    for number, raw in enumerate(text.split("\n"), 1):
        try:
            line = _line(number, raw.removesuffix("\r"))
        except PolicyError as error:
            _note(wrong, PolicyError(f"{name} line {number}: {error}"))
            continue
        if line:
            lines.append(line)
    _judge(wrong)
    return lines


def _note(wrong: list[PolicyError], error: PolicyError) -> None:
    """Keep what is wrong with a line: all are told at once. Raises PolicyError where these are enough."""
    wrong.append(error)
    if len(wrong) == TOLD:
        _judge([*wrong, PolicyError("what is behind these lines was not read")])


def _judge(wrong: list[PolicyError]) -> None:
    if wrong:
        raise PolicyError("\n".join(map(str, wrong)))


def _line(number: int, raw: str) -> Line | None:
    if len(raw) > LONGEST:
        raise PolicyError(f"has {len(raw)} characters, at most {LONGEST} were expected")
    if odd := _CONTROL.search(raw):
        what = "bytes that are not UTF-8" if ord(odd[0]) >= 0xD800 else "a control character"
        raise PolicyError(f"holds {what} at column {odd.start() + 1}")
    words = _COMMENT.sub("", raw).replace("\t", " ").split()
    if not words:
        return None
    pattern, *filters = words
    if pattern.startswith("/"):
        raise PolicyError(f"'{shown(pattern)}' begins with '/': paths are relative to the folder 'proposals'")
    parts = pattern.split("/")
    if ".." in parts:
        raise PolicyError(f"'{shown(pattern)}' holds '..': only files below the folder 'proposals' can be chosen")
    if "." in parts or "" in parts:
        better = "/".join(part for part in parts if part not in (".", ""))
        raise PolicyError(f"'{shown(pattern)}' holds '//', './' or a '/' at its end: write '{shown(better)}'")
    return Line(number, pattern, tuple(_filter(word) for word in filters))


def _filter(word: str) -> tuple[str, Any]:
    keyword, found, value = word.partition("=")
    if not found or keyword not in KEYWORDS:
        raise PolicyError(f"'{shown(word)}' is not a filter{nearest(keyword, KEYWORDS)} (slice=[0:3] or re=EXPRESSION)")
    return (keyword, _slice(value) if keyword == "slice" else _expression(value))


def _slice(text: str) -> slice:
    match = _SLICE.fullmatch(text)
    if not match:
        raise PolicyError(f"slice={shown(text)} is not understood: write slice=[0:3], slice=[:-1] or slice=[::2]")
    ends = [None if group is None else int(group) for group in match.groups()]
    if ends[2] == 0:
        raise PolicyError(f"slice={shown(text)}: a step of zero leads nowhere")
    return slice(*ends)


def _expression(text: str) -> regex.Pattern:
    if len(text) > LONGEST_RE:
        raise PolicyError(f"re= has {len(text)} characters, at most {LONGEST_RE} were expected")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # text that a later Python will read otherwise
            return regex.compile(text)
    except (regex.error, Warning, RecursionError, OverflowError, MemoryError) as error:
        raise PolicyError(f"re={shown(text)} is not a regular expression: {shown(error)}") from error


def resolve(root: str | Path, text: str | None = None) -> Resolution:
    """What ``root``/policy.cfg selects; ``root`` is the ``proposals`` folder. ``text``: another one than is in it.

    Every line must match, and every file it selects be readable YAML; each is read once. Raises PolicyError.

    CLI: ``python -m proposals policy ROOT``"""
    path = Path(root) / "policy.cfg"
    if text is None and not path.is_file():
        raise PolicyError(f"{path} does not exist: populate writes a proposed one (salt-run proposal.populate)")
    read = _Documents(Path(root))
    contents: dict[str, dict[str, dict]] = {}
    lines, warnings = [], []
    wrong: list[PolicyError] = []
    for line in parse(atomic.read_text(path) if text is None else text):
        try:
            matches = tuple(select(root, line))
            for source in matches:
                if (content := read[source]) is not None:
                    contents.setdefault(source.partition("/")[2] or source, {})[source] = content
            if empty := [source for source in matches if read[source] is None]:
                skipped = f"{several(empty, 'more files')} {'is' if len(empty) == 1 else 'are'} empty and skipped"
                warnings.append(f"policy.cfg line {line.number}: {skipped}")
        except (PolicyError, StoreError) as error:
            _note(wrong, PolicyError(f"policy.cfg line {line.number}: {error}"))
            continue
        lines.append(Line(line.number, line.pattern, line.filters, matches))
    _judge(wrong)
    return Resolution({target: contents[target] for target in sorted(contents)}, tuple(lines), tuple(warnings))


def select(root: str | Path, line: Line) -> list[str]:
    """The files that one line chooses: sorted, then filtered from left to right. Raises PolicyError for none."""
    globbed = chosen = unwritten.matching(root, line.pattern)
    if not chosen:
        raise PolicyError(f"'{shown(line.pattern)}' matches no file{_hint(root, line.pattern)}")
    end = time.monotonic() + SECONDS
    for keyword, value in line.filters:
        chosen = chosen[value] if keyword == "slice" else _searched(chosen, value, end)
    if not chosen:
        raise PolicyError(f"'{shown(line.pattern)}' matches {len(globbed)} files and its filters leave none of them")
    return chosen


def _searched(paths: list[str], expression: regex.Pattern, end: float) -> list[str]:
    """The paths in which ``expression`` is found. Raises PolicyError where that takes longer than ``end``."""
    try:
        return [path for path in paths if expression.search(path, timeout=max(0.001, end - time.monotonic()))]
    except TimeoutError as error:
        text = shown(expression.pattern, LONGEST_RE)
        raise PolicyError(
            f"re={text} takes longer than {SECONDS:.0f} s for {len(paths)} files: write it simpler"
        ) from error


def _hint(root: str | Path, pattern: str) -> str:
    """What comes nearest to a pattern that matches nothing."""
    first, slash, rest = pattern.partition("/")
    known = unwritten.folders(root)
    if not slash:
        near = get_close_matches(first, known, n=1, cutoff=0.5)
        return f": a line names files, such as '{near[0]}/*/*'" if near else f"; folders there: {', '.join(known[:12])}"
    if not unwritten.matching(root, f"{first}/*/*") and first not in known:
        near = get_close_matches(first, known, n=1, cutoff=0.5)
        if near:
            return f": did you mean '{near[0]}/{shown(rest)}'?"
        return f"; folders there: {', '.join(known[:12]) or 'none'}"
    folder = pattern.rpartition("/")[0]
    there = [path.rpartition("/")[2] for path in unwritten.matching(root, f"{folder}/*")]
    if there:
        return f"; {shown(folder)} holds {', '.join(there[:6])}{' ...' if len(there) > 6 else ''}"
    below = unwritten.matching(root, f"{first}/*/*")
    return f"; {first} holds {', '.join(below[:3])} ..." if below else f"; {first} holds no files"


def _check_roles(source: str, content: dict) -> None:
    """Refuse roles that are no list of names: merged, they would take away those that other files give."""
    found = content.get("roles", [])
    names = found if isinstance(found, list) else [found]
    strategy = names[:1] if isinstance(names[0] if names else None, dict) and merging.STRATEGY in names[0] else []
    odd = [name for name in names[len(strategy) :] if not isinstance(name, str)]
    if content.get(merging.STRATEGY) == "remove" or (isinstance(found, list) and not odd):
        return
    example = found if isinstance(found, str) and found in ROLES else "storage"
    said = "empty" if found is None else f"'{shown(found)}'"
    raise PolicyError(f"{source}: roles is {said}: expected a list such as [{example}]")


class _Documents(dict[str, dict | None]):
    """The content of each file below a folder, None of an empty one: read once; equal texts are parsed once."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root, self.named = root, unwritten.read(root)
        self.parsed: dict[str, dict] = {}

    def __missing__(self, source: str) -> dict | None:
        text = unwritten.text(self.root, source, self.named)
        content = self._parsed(text, Path(source).name) if text.strip() else None
        if content and source.split("/")[1:2] == ["cluster"] and source.endswith(".sls"):
            _check_roles(source, content)
        self[source] = content
        return content

    def _parsed(self, text: str, name: str) -> dict:
        if text not in self.parsed:
            content = documents.parse_yaml(text, name)
            if not isinstance(content, dict):
                raise PolicyError(f"{name} is not a mapping: 'key: value' lines were expected")
            self.parsed[text] = content
        return self.parsed[text]
