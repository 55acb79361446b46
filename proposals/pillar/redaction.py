"""Secrets taken out of what leaves the master: run logs, and what is packed for a ticket."""

import json
import re
from collections.abc import Callable, Iterable

from proposals.files import atomic, tree
from proposals.files.site import Site

MASK = "**********"
SHORTEST = 8  # characters: shorter words stand in innocent text as well
# Ceph's keys (28 bytes in base64, src/auth/Crypto.cc: type 1, so they begin with AQ) and PEM's private keys.
LOOKS = re.compile(
    r"AQ[A-Za-z0-9+/]{36}==|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)


def known(paths: Site) -> set[str]:
    """Return every secret that a site keeps: its keys, and the lines of one word of what each minion may know.

    (Lines of several words are a keyring's: keys in them are matched by the pattern LOOKS, the rest is no secret.)
    """
    kept = [json.loads(atomic.read_text(paths.keys))] if paths.keys.exists() else []
    kept += [tree.read_yaml(path) for path in sorted(paths.secrets.glob("*.yml"))]
    lines = {line.strip() for content in kept for text in _texts(content) for line in text.splitlines()}
    return {line for line in lines if len(line) >= SHORTEST and not line.startswith("[") and len(line.split()) == 1}


def hider(words: Iterable[str]) -> Callable[[str], str]:
    """Return a function that masks these words, and whatever looks like a key, in a text."""
    longest_first = sorted(words, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def hide(text: str) -> str:
        text = LOOKS.sub(MASK, text)
        return pattern.sub(MASK, text) if pattern else text

    return hide


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element)
    elif value is not None:
        yield str(value)
