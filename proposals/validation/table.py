"""All checks, in the order in which they are shown."""

from proposals.text.errors import ArgumentError
from proposals.text.names import nearest, shown
from proposals.validation import hardware, hosts, keys, monitors, moved, networks, profiles, resources, roles, settings
from proposals.validation.check import Check

_ROOMS = (keys, roles, profiles, settings, networks, monitors, hosts, resources, hardware, moved)
CHECKS = tuple(check for room in _ROOMS for check in room.CHECKS)


def find(name: object) -> Check:
    """Return the check of an id. Raises ArgumentError that names the nearest."""
    known = {check.id: check for check in CHECKS}
    if name not in known:
        raise ArgumentError(f"there is no check '{shown(name)}'{nearest(str(name), known)}")
    return known[name]
