"""What every picture is made of: hosts that look alike, with rows of boxes and lines of text; and its rendering."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jinja2

from proposals.text.errors import ArgumentError
from proposals.text.names import printable

SIZE, GAP = 24, 4  # of a box, in pixels
ROW = SIZE + 10
WIDTH, INDENT = 960, 10  # of a picture; where rows begin
LABEL = 300  # pixels for the text beside boxes
FORMS = ("html", "svg")
TOLD = 400_000  # bytes of groups in one answer: Salt's event bus cuts what is larger than a megabyte
NAMED = 3  # hosts in a title; HTML lists all


class Box(NamedTuple):
    """A disk, OSD or port. ``kind`` chooses its colour, ``letter`` says the same without it, ``title`` all of it."""

    kind: str
    letter: str
    title: str


class Row(NamedTuple):
    """``heads`` are what the boxes of ``members`` hang on: a DB and a WAL device, a bond. ``text`` stands beside."""

    heads: tuple[Box, ...]
    members: tuple[Box, ...]
    text: str = ""


class Group(NamedTuple):
    """Hosts whose pictures are the same but for names of disks, drawn once with those of the first."""

    hosts: tuple[str, ...]
    text: str
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """``osdnode1, osdnode2, osdnode3 and 117 more``."""
        more = f" and {len(self.hosts) - NAMED} more" if len(self.hosts) > NAMED else ""
        return ", ".join(self.hosts[:NAMED]) + more


class Picture(NamedTuple):
    """``lines`` stand above the hosts: warnings, hints. ``legend`` names the kinds of boxes."""

    title: str
    summary: str
    lines: tuple[str, ...]
    legend: tuple[Box, ...]
    groups: tuple[Group, ...]


class Placed(NamedTuple):
    """A box at its place, of a row; a head is focused by the keyboard."""

    x: int
    y: int
    box: Box
    head: bool
    row: int


class Drawn(NamedTuple):
    """A group as SVG draws it from ``y`` on: boxes, and lines of text as (x, y, text)."""

    y: int
    height: int
    group: Group
    boxes: tuple[Placed, ...]
    texts: tuple[tuple[int, int, str], ...]


def grouped(hosts: Mapping[str, tuple[object, Callable[[], tuple[str, tuple[Row, ...]]]]]) -> tuple[Group, ...]:
    """Groups of equal hosts in the order of their first. Of each host: what equal ones share, and what draws it."""
    alike: dict[object, list[str]] = {}
    for host in sorted(hosts):
        alike.setdefault(hosts[host][0], []).append(host)
    return tuple(Group(tuple(names), *hosts[names[0]][1]()) for names in alike.values())


def form_of(file: object) -> str:
    """``html`` or ``svg``, by the end of a file's name: only such files are written. Raises ArgumentError."""
    form = str(file).rpartition(".")[2]
    if form not in FORMS:
        raise ArgumentError(
            f"'{printable(str(file))}' is no name of a picture: expected one that ends in .html or .svg"
        )
    return form


def rendered(picture: Picture, form: str) -> str:
    """The text of the file: ``html``, one page that asks nobody for anything, or ``svg``."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("proposals.pictures"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawn = list(_drawn(picture.groups, below=90 if form == "svg" else 0))
    bottom = max((each.y + each.height for each in drawn), default=90)
    facts = {"picture": picture, "drawn": drawn, "size": SIZE, "width": WIDTH, "bottom": bottom}
    return printable(environment.get_template(f"picture.{form}.j2").render(facts))


def told(picture: Picture, first: int = 0) -> dict[str, Any]:
    """A picture as plain data, for a browser that draws it: its groups from ``first`` on, as many as one answer takes.

    ``next`` is the first group that is left, None where there is none."""
    groups: list[dict[str, Any]] = []
    size, begin = 0, min(max(first, 0), len(picture.groups))
    for each in _drawn(picture.groups[begin:], below=0):
        group = {
            "hosts": each.group.hosts,
            "title": printable(each.group.title),
            "text": printable(each.group.text),
            "height": each.height,
            "boxes": [
                [at.x, at.y, at.box.kind, at.box.letter, printable(at.box.title), at.head, at.row] for at in each.boxes
            ],
            "texts": [[x, y, printable(text)] for x, y, text in each.texts],
        }
        size += len(json.dumps(group))
        if groups and size > TOLD:
            break
        groups.append(group)
    end = begin + len(groups)
    return {
        "title": printable(picture.title),
        "summary": printable(picture.summary),
        "lines": [printable(line) for line in picture.lines],
        "legend": picture.legend,
        "size": SIZE,
        "width": WIDTH + 300,
        "groups": groups,
        "of": len(picture.groups),
        "next": end if end < len(picture.groups) else None,
    }


def _drawn(groups: Iterable[Group], below: int) -> Iterable[Drawn]:
    """Each group's place: one under the other in an SVG (``below``: its head), each from 0 in a page."""
    top = below
    for group in groups:
        made = _placed(group, top)
        yield made
        top = made.y + made.height + GAP if below else 0


def _placed(group: Group, top: int) -> Drawn:
    boxes: list[Placed] = []
    texts: list[tuple[int, int, str]] = []
    y = ROW if top else GAP
    for number, row in enumerate(group.rows):
        x = INDENT
        for head in row.heads:
            boxes.append(Placed(x, y, head, True, number))
            x += SIZE + GAP
        begin = x = x + GAP if row.heads else x
        for member in row.members:
            if x + SIZE > WIDTH - LABEL:
                x, y = begin, y + SIZE + GAP
            boxes.append(Placed(x, y, member, False, number))
            x += SIZE + GAP
        texts.append((x + GAP, y + SIZE * 2 // 3, row.text))
        y += ROW
    return Drawn(top, y, group, tuple(boxes), tuple(texts))


def legend(kinds: Sequence[tuple[str, str, str]]) -> tuple[Box, ...]:
    """Boxes of a legend from (kind, letter, meaning)."""
    return tuple(Box(*each) for each in kinds)
