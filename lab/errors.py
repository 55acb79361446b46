"""The one error of the lab: a message for people, no traceback."""


class LabError(Exception):
    """Something the user can act on: what, what was expected, what was found, what to do."""
