"""A picture on a terminal: a tree of hosts, of what their disks and ports hang on, and of these."""

from rich.text import Text
from rich.tree import Tree

from proposals.pictures.drawing import Box, Picture
from proposals.text.console import console, text
from proposals.text.notes import several
from proposals.text.tables import BY_ID

STYLES = {"ssd": "yellow", "bond": "yellow", "hdd": "blue", "port": "blue", "nvme": "green", "good": "green"}
STYLES |= {"bad": "red", "unused": "dim"}


def show(picture: Picture) -> None:
    """Print the tree. A letter says what each is; the colour says it once more, on a terminal that has colours."""
    top = Tree(text(f"{picture.title}: {picture.summary}", style="bold"))
    for group in picture.groups:
        host = top.add(text(f"{several(list(group.hosts), 'more')}: {group.text}"))
        for row in group.rows:
            branch = host if row.heads else host.add(text(row.text))
            for head in row.heads:
                branch = branch.add(_leaf(head))
            for member in row.members:
                branch.add(_leaf(member))
    out = console()
    for line in picture.lines:
        out.print(text(line, style="yellow" if line.startswith("warning") else "cyan"))
    out.print(text(", ".join(f"{each.letter} {each.title}" for each in picture.legend)))
    out.print(top)


def _leaf(box: Box) -> Text:
    return text(f"{box.letter} {box.title.replace(BY_ID, '')}", style=STYLES.get(box.kind, ""))
