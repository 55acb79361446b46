"""Secrets taken out of what leaves the master: run logs, and what is packed for a ticket."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from proposals.files import atomic, tree
from proposals.files.site import Site

MASK = "**********"
SHORTEST = 8  # characters: shorter words stand in innocent text as well
# Ceph's keys (28 bytes in base64, src/auth/Crypto.cc: type 1, so they begin with AQ) and PEM's private keys.
LOOKS = re.compile(
    r"AQ[A-Za-z0-9+/]{36}==|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)


def known(paths: Site) -> set[str]:
    """Return every secret that a site keeps: its keys, and the lines of one word of what each minion may know; each
    also as JSON writes it in a text.

    (Lines of several words are a keyring's: keys in them are matched by the pattern LOOKS, the rest is no secret.)
    """
    kept = [json.loads(atomic.read_text(paths.keys))] if paths.keys.exists() else []
    kept += [tree.read_yaml(path) for path in sorted(paths.secrets.glob("*.yml"))]
    lines = {line.strip() for content in kept for text in _texts(content) for line in text.splitlines()}
    words = {line for line in lines if len(line) >= SHORTEST and not line.startswith("[") and len(line.split()) == 1}
    return words | {json.dumps(word, ensure_ascii=ascii_)[1:-1] for word in words for ascii_ in (True, False)}


def hider(words: Iterable[str]) -> Callable[[str], str]:
    """Return a function that masks these words, and whatever looks like a key, in a text."""
    longest_first = sorted(words, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def hide(text: str) -> str:
        text = LOOKS.sub(MASK, text)
        return pattern.sub(MASK, text) if pattern else text

    return hide


def every(value: Any, hide: Callable[[str], str]) -> Any:
    """Return a value with each of its texts masked, before JSON escapes what is in them."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, Mapping):
        return {every(key, hide): every(inner, hide) for key, inner in value.items()}
    return [every(each, hide) for each in value] if isinstance(value, list | tuple) else value


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element)
    elif value is not None:
        yield str(value)
