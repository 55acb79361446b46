"""Pictures of plans and reports, written on the master as one file."""

from collections.abc import Callable

from proposals.files import atomic
from proposals.pictures import drawing
from proposals.text.names import shown
from runners.engine.answer import Answer


def write(file: str, made: Callable[[], drawing.Picture]) -> Answer:
    """Write the picture that ``made`` gives, as HTML or SVG by the end of the file's name.

    Raises ArgumentError for another end, before anything is looked at, and StoreError where it cannot be written."""
    form = drawing.form_of(file)
    atomic.write(file, drawing.rendered(made(), form))
    return Answer(f"wrote {shown(file, 200)}", {"file": file})
