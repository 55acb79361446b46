"""Text to plain data, YAML or JSON: what cannot be read is one message, whatever the parser has to say."""

import json
from pathlib import Path

import yaml

from proposals.text.errors import StoreError
from proposals.text.names import shown

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(text: str, name: str) -> object:
    """The value of YAML ``text``; ``name`` is what the message calls it. Raises StoreError."""
    try:
        return yaml.load(text, Loader=Loader)  # a safe loader, in C where there is one
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__
        raise StoreError(f"{name}{where} is not YAML that can be read: {shown(problem)}") from error


def parse_json(text: str, path: str | Path) -> object:
    """The value of JSON ``text``; of a file called YAML that begins with a brace, too. Raises StoreError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return _flow_yaml(text, path, error)


def _flow_yaml(text: str, path: str | Path, error: Exception) -> object:
    """YAML may begin with a brace too; a file that is neither is told as the JSON that it seems to be."""
    if str(path).endswith((".yaml", ".yml")):
        return parse_yaml(text, str(path))
    raise StoreError(f"{path} is not JSON that can be read: {shown(error)}") from error
