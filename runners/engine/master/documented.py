"""What is documented on this master: the pages that came with the tree, and the runners' docstrings; nothing is run."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from proposals.text import topics
from proposals.text.topics import Topic

ROOT = Path(__file__).resolve().parents[3]
FOR_CONTRIBUTORS = ("contributing/", "generate/", "index", "reference/lab-commands", "reference/commands")


def commands() -> Iterator[Topic]:
    """Yield each noun of ``salt-run`` with its commands, and each command."""
    for path in sorted((ROOT / "runners").glob("*.py")):
        tree = ast.parse(path.read_text(), str(path))
        own = [
            Topic(f"{path.stem}.{name.rstrip('_')}", topics.COMMAND, _summary(doc), doc)
            for name, doc in _functions(tree).items()
            if "CLI Example:" in doc
        ]
        about = inspect.cleandoc(ast.get_docstring(tree) or "")
        line = _summary(about).partition(": ")[2] or _summary(about)
        yield Topic(path.stem, topics.NOUN, line, f"{about}\n\n{topics.listed(own)}")
        yield from own


def pages() -> Iterator[Topic]:
    """Yield the topics of every page for users."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = str(path.relative_to(ROOT / "docs").with_suffix(""))
        if not name.startswith(FOR_CONTRIBUTORS):
            yield from topics.of_page(name, path.read_text())


def _functions(tree: ast.Module) -> dict[str, str]:
    """The docstrings of what can be typed."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return {node.name: inspect.cleandoc(ast.get_docstring(node) or "") for node in found}


def _summary(doc: str) -> str:
    return " ".join(doc.partition("\n\n")[0].split())
