"""The safety of what cannot be undone: engaged, unless somebody disengaged it within the last minute."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

from proposals.files import atomic
from proposals.text.errors import ProposalError

SECONDS = 60


def disengage(opts: Mapping, user: str) -> None:
    """Disengage the safety for a minute, for one command.

    opts
        The master's options.
    user
        Who typed it.
    """
    atomic.write(_path(opts), json.dumps({"at": time.time(), "user": user}), mode=0o600)


def engage(opts: Mapping) -> None:
    """Engage the safety again."""
    atomic.remove(_path(opts))


def take(opts: Mapping) -> None:
    """Raise ProposalError where the safety is engaged; engage it again where it is not: it is for one command."""
    try:
        at = float(json.loads(atomic.read_text(_path(opts)))["at"]) if _path(opts).exists() else None
    except (KeyError, TypeError, ValueError):
        at = None
    engage(opts)
    if at is None or not 0 <= time.time() - at <= SECONDS:  # a clock that was set back is no minute
        raise ProposalError(
            f"the safety is engaged, nothing was changed: 'salt-run ceph.disengage' disengages it for {SECONDS} s and "
            "one command"
        )


def _path(opts: Mapping) -> Path:
    return Path(opts["cachedir"]) / "halocline" / "disengaged.json"
