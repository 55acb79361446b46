"""Long answers of minions, which Salt's events do not carry as they are: ``halocline.packed`` of ``salt/_utils``."""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any

KEY = "halocline_packed"
ASKED = "cluster_"  # so begin the modules that pack: they are asked of the host that holds the admin's key
MOST = 1 << 28  # bytes that one answer may become: a minion is not trusted; 60,000 OSDs tell 150 MB of themselves
TRIMMED = "VALUE_TRIMMED"  # what Salt leaves of a value that is too long (salt/utils/dicttrim.py)


def unpacked(answer: Any, within: int = 1) -> Any:
    """Return an answer as it was before it was packed; so are answers in a mapping of several.

    answer
        What a minion answered.
    within
        How many mappings deep such answers lie.

    Raises ValueError for what is packed and cannot be unpacked.
    """
    if not isinstance(answer, Mapping):
        return answer
    if set(answer) == {KEY}:
        return _unpacked(answer[KEY])
    return {key: unpacked(value, within - 1) for key, value in answer.items()} if within else answer


def trimmed(answer: Any, within: int = 2) -> bool:
    """Return whether Salt has left out a part of an answer; arguments as above."""
    if isinstance(answer, Mapping):
        return within > 0 and any(trimmed(value, within - 1) for value in answer.values())
    return answer == TRIMMED


def _unpacked(pieces: Any) -> Any:
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(base64.b64decode("".join(pieces), validate=True), MOST)
        if not reader.eof:
            raise ValueError(f"it is cut off, or longer than {MOST} bytes")
        return json.loads(text)
    except (TypeError, RecursionError, binascii.Error, zlib.error, UnicodeDecodeError) as err:
        raise ValueError(str(err)) from err
