"""Secrets taken out of what leaves the master: run logs, and what is packed for a ticket."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from proposals.files import atomic, tree
from proposals.files.site import Site
from proposals.pillar import key_store
from proposals.text.errors import StoreError

MASK = "**********"
SHORTEST = 8  # characters: shorter words stand in innocent text as well
BEGIN, END = r"-----BEGIN [A-Z ]*PRIVATE KEY-----", r"-----END [A-Z ]*PRIVATE KEY-----"
PEM = re.compile(f"{BEGIN}.*?({END}|\\Z)", re.DOTALL)
# Ceph's keys in base64 (src/auth/Crypto.cc: their type, a time, and 16 bytes of AES or 32 of AES-256), private keys of
# age, user and password in an address.
LOOKS = re.compile(
    r"AQ[A-Za-z0-9+/]{36}==|Ag[A-Za-z0-9+/]{57}=|(?i:AGE-SECRET-KEY-[0-9a-z-]+)|(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"
)
KEYRING = re.compile(r"\[[a-z-]+\.\S*\]|(key|caps [a-z]+) = .*")  # its keys are matched by LOOKS, the rest is no secret
PUBLIC = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def known(paths: Site) -> set[str]:
    """Return every secret that a site keeps: its keys, what it was given, and what each minion may know, line by line;
    each also as JSON writes it in a text. Raises StoreError where a file cannot be read.
    """
    kept: list[Any] = [key_store.kept(paths.keys)]
    kept += [atomic.read_text(path) for path in sorted(paths.given.glob("*")) if path.is_file()]
    kept += [tree.read_yaml(path) for path in sorted(paths.secrets.glob("*.yml"))]
    secret = {PUBLIC.sub("", text) for content in kept for text in _texts(content)}
    lines = {line.strip() for text in secret for line in text.splitlines()}
    words = {line for line in lines if len(line) >= SHORTEST and not KEYRING.fullmatch(line)}
    return words | {json.dumps(word, ensure_ascii=ascii_)[1:-1] for word in words for ascii_ in (True, False)}


def following(paths: Site) -> Callable[[str], str]:
    """Return ``hider``'s function for what a site keeps, read again whenever that changes: a run that makes a password
    may print it too. What was a secret once stays one.
    """
    before = _changed(paths)
    words = known(paths)
    hide = hider(words)

    def masked(text: str) -> str:
        nonlocal before, hide
        if (now := _changed(paths)) != before:
            with suppress(StoreError, OSError):  # configure takes a file away meanwhile
                words.update(known(paths))
                before, hide = now, hider(words)
        return hide(text)

    return masked


def _changed(paths: Site) -> list[int]:
    """When a file came or went last in each folder of secrets; each is written beside its place and then renamed."""
    times = []
    for folder in (paths.keys.parent, paths.given, paths.secrets):
        with suppress(OSError):  # it is not there, or goes just now
            times.append(folder.stat().st_mtime_ns)
    return times


def hider(words: Iterable[str]) -> Callable[[str], str]:
    """Return a function that masks these words, and whatever looks like a key, in a text."""
    longest_first = sorted(words, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def hide(text: str) -> str:
        text = PEM.sub(MASK, _from_within(text))  # whole: its last line may be shorter than a word
        text = pattern.sub(MASK, text) if pattern else text
        return LOOKS.sub(MASK, text)  # last: of a word that a part of is masked the rest would be shown

    return hide


def _from_within(text: str) -> str:
    """A text without the rest of a private key that it begins within, as the end of a log may."""
    before, end, after = text.partition("PRIVATE KEY-----")
    return MASK + after if re.search(f"{END}\\Z", before + end) else text


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
