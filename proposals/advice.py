"""What is worth knowing about the whole answer."""

from collections.abc import Iterable

from proposals.arguments import Arguments
from proposals.notes import WARNING, Note


def general(planned: Iterable, arguments: Arguments) -> list[Note]:
    """Notes about all targeted hosts together."""
    notes = []
    hosts = list(planned)
    if arguments.exclude and not any(facts.mask & 8 for one in hosts for facts in one.shape.disks):
        notes.append(Note(WARNING, f"exclude={arguments.exclude.text} matches no disk"))
    return notes
