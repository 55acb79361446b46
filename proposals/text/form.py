"""The form of what a minion answers, which is not trusted to keep to it.

A form is a type, a list of one form, a mapping of any names (``*``) to one form, or of these names to these.
"""

from collections.abc import Mapping
from typing import Any


def has(value: Any, form: Any) -> bool:
    """Return whether a value is of a form, as this file says one is written."""
    if isinstance(form, list):
        return isinstance(value, list | tuple) and all(has(element, form[0]) for element in value)
    if isinstance(form, Mapping):
        if not isinstance(value, Mapping):
            return False
        if "*" in form:
            return all(isinstance(key, str) and has(element, form["*"]) for key, element in value.items())
        return all(has(value.get(key), inner) for key, inner in form.items())
    return isinstance(value, form) and (form is not int or type(value) is int)
