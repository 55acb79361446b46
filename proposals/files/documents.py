"""Text to plain data, YAML or JSON: what cannot be read is one message, whatever the parser has to say.

A file may come from a minion or be half written, so depth and repetition have limits: the parser in C ends the whole
process at some 50,000 levels, and nine short lines of aliases stand for a thousand million values."""

import json
import re
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, ScalarNode

from proposals.files.gc_paused import uncollected
from proposals.text.errors import StoreError
from proposals.text.names import shown

DEEPEST = 100  # levels of lists and mappings in each other; ours have 8
REPEATED = 100_000  # values that aliases may stand for, beside those that are written
DIGITS = 100  # of one whole number; Python itself reads and prints at most 4,300
MERGE = "tag:yaml.org,2002:merge"
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where there is one
# Only text with many brackets, many "- " or deep indentation in a line, or an alias can nest deeply or repeat itself:
# everything else needs no second look.
_NESTS = re.compile(rf"^(?:[ \t]*[-?:][ \t]){{{DEEPEST // 2}}}|^ {{{DEEPEST}}}", re.MULTILINE)
_ALIAS = re.compile(r"(?:^|[\s\[{,:-])\*[^\s*]")


class _Loader(_Safe):
    """A safe loader whose numbers stay printable, and whose mappings have each key once, as Salt's have."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.seen: set[int] = set()  # mappings, by id: one that others merge (<<) holds their keys beside its own then

    def flatten_mapping(self, node: MappingNode) -> None:
        """Refuse a key that a mapping holds twice, of which one would be lost; then merge what it merges."""
        if id(node) not in self.seen:
            self.seen.add(id(node))
            keys = [key for key, _ in node.value if isinstance(key, ScalarNode) and key.tag != MERGE]
            if len({(key.tag, key.value) for key in keys}) < len(keys):
                _refuse_twice(keys)
        super().flatten_mapping(node)

    def construct_whole(self, node: ScalarNode) -> int:
        """A whole number of at most ``DIGITS`` digits."""
        if len(node.value) > DIGITS:
            problem = f"a number of {len(node.value)} digits, at most {DIGITS} are read"
            raise ConstructorError(None, None, problem, node.start_mark)
        return self.construct_yaml_int(node)


def _refuse_twice(keys: list[ScalarNode]) -> None:
    """Name the first key of a mapping that stands there a second time."""
    first: dict[tuple[str, str], int] = {}
    for key in keys:
        name = (key.tag, key.value)
        if name in first:
            problem = f"'{shown(key.value, 30)}' stands there twice (line {first[name]})"
            raise ConstructorError(None, None, problem, key.start_mark)
        first[name] = key.start_mark.line + 1


class _TextKeys(_Loader):
    """Keys are text as they are written: a host called ``1``, ``no`` or ``on`` keeps its name."""

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict:
        """The mapping of a node, its keys as text."""
        for key, _ in node.value:
            if isinstance(key, ScalarNode) and key.tag != MERGE:
                key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_whole)


@uncollected()
def parse_yaml(text: str, name: str, text_keys: bool = False) -> Any:
    """The value of YAML ``text``; ``name`` is what the message calls it.

    ``text_keys``: keys are read as text, whatever YAML makes of ``1`` or ``no``. Raises StoreError."""
    try:
        _limit(text, name)
        return yaml.load(text, Loader=_TextKeys if text_keys else _Loader)
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__
        raise StoreError(f"{name}{where} is not YAML that can be read: {shown(problem)}") from error


def _limit(text: str, name: str) -> None:
    """Raise StoreError where ``text`` nests too deep or says too much by aliases."""
    if text.count("[") + text.count("{") < DEEPEST and not _NESTS.search(text) and not _ALIAS.search(text):
        return
    values = 0  # with those that aliases stand for
    repeated = 0
    sizes: dict[str | None, int] = {}  # of what stands behind each anchor
    levels: list[tuple[str | None, int]] = []  # those that are open: anchor, and the values before it
    for event in yaml.parse(text, Loader=_Safe):
        where = f"{name} line {event.start_mark.line + 1}"
        values += 1
        if isinstance(event, yaml.CollectionStartEvent):
            levels.append((event.anchor, values))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = levels.pop()
            sizes[anchor] = values - before
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in (anchor for anchor, _ in levels):
                raise StoreError(f"{where}: *{shown(event.anchor)} stands within what it names")
            repeated += sizes.get(event.anchor, 0)
            values += sizes.get(event.anchor, 0)
        if len(levels) > DEEPEST:
            raise StoreError(f"{where}: lists and mappings lie more than {DEEPEST} levels deep in each other")
        if repeated > REPEATED:
            raise StoreError(f"{where}: its aliases (*NAME) stand for more than {REPEATED} values: write them out")


@uncollected()
def parse_json(text: str, path: str | Path) -> Any:
    """The value of JSON ``text``; of a file called YAML that begins with a brace, too. Raises StoreError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return _flow_yaml(text, path, error)


@uncollected()
def parse_objects(text: str, path: str | Path) -> Any:
    """The value of JSON ``text``; objects one after the other, as Salt prints one a minion, are one mapping.

    Raises StoreError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        merged: dict = {}
        at, end = 0, len(text.rstrip())
        try:
            while at < end:
                begin = next(place for place in range(at, end) if not text[place].isspace())
                value, at = json.JSONDecoder().raw_decode(text, begin)
                merged |= value
        except (ValueError, RecursionError, TypeError):
            return _flow_yaml(text, path, error)
        return merged


def _flow_yaml(text: str, path: str | Path, error: Exception) -> Any:
    """YAML may begin with a brace too; a file that is neither is told as the JSON that it seems to be."""
    if str(path).endswith((".yaml", ".yml")):
        return parse_yaml(text, str(path))
    raise StoreError(f"{path} is not JSON that can be read: {shown(error)}") from error
