"""policy.cfg for the page: what each line matches, and a new text saved where nobody else changed it meanwhile."""

import difflib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proposals.files import atomic
from proposals.policy import policy
from proposals.text.errors import PolicyError, ProposalError

MATCHES = 100  # files of one line that are named
LINES = 1000  # lines of policy.cfg, or of a difference, that are shown
LARGEST = 100_000  # characters of a text that is saved


def text(root: Path) -> str:
    """The text of policy.cfg; none where there is none."""
    path = root / "policy.cfg"
    return atomic.read_text(path) if path.is_file() else ""


def shown(root: Path, told: str) -> dict[str, Any]:
    """What each line of a text matches: ``{written, lines, wrong}``; ``wrong`` is why it cannot be used, or None.

    root
        The folder ``proposals``.
    told
        policy.cfg's own text, or another one.
    """
    wrong = None
    try:
        resolved = policy.resolve(root, told)
        lines = resolved.lines
    except PolicyError as err:
        wrong, lines = str(err), ()
    listed = [
        {"line": line.number, "pattern": line.pattern, "of": len(line.matches), "matches": line.matches[:MATCHES]}
        for line in lines[:LINES]
    ]
    return {"written": told, "lines": listed, "wrong": wrong}


def changed(before: str, after: str) -> list[str]:
    """The difference of two texts, line by line."""
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), "policy.cfg", "new", lineterm=""))[:LINES]


def save(root: Path, after: str) -> None:
    """Write policy.cfg, or the file that it is a link to; the text from before stays as ``policy.cfg.before``."""
    if before := text(root):
        atomic.write(root / "policy.cfg.before", before)
    atomic.write((root / "policy.cfg").resolve(), after)


def given(told: object) -> str:
    """A text that was sent to be policy.cfg. Raises ProposalError for what is none, or far too long."""
    if not isinstance(told, str) or len(told) > LARGEST or any("\ud800" <= char <= "\udfff" for char in told):
        raise ProposalError(f"the new policy.cfg: a text (UTF-8) of at most {LARGEST} characters was expected")
    return told


def confirmation(*told: str | Mapping[str, Any]) -> str:
    """The hash by which what was shown is confirmed: the same has the same."""
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
