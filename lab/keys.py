"""Checks of a mapping's keys and kinds, with messages that name what was meant."""

import difflib
from typing import Any, TypeVar

from lab.errors import LabError

T = TypeVar("T")


def check_keys(where: str, data: object, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    """The mapping, if `data` is one with these keys; else LabError."""
    mapping = expect(where, "this", data, dict)
    for key in mapping:
        if key not in required + optional:
            near = difflib.get_close_matches(str(key), required + optional, 1)
            hint = f"did you mean {near[0]}?" if near else f"expected {', '.join(required + optional)}."
            raise LabError(f"{where}: unknown key {key!r}: {hint}")
    for key in required:
        if key not in mapping:
            raise LabError(f"{where}: {key} is missing.")
    return mapping


def expect(where: str, key: str, value: object, kind: type[T]) -> T:
    """The value, if it is of that kind (a boolean is no number); else LabError."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise LabError(f"{where}: {key}: expected {kind.__name__}, found {value!r}.")
    return value
