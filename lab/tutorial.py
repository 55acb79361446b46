"""The tutorial as its reader types it: each block of commands on the master, and what the page shows of its answer.

A block without a language is typed; a block ``output`` shows lines of what the block before it printed, in order, not
all of them; ``…`` stands for any text, and any blanks for any blanks. The block ``text`` is policy.cfg.
"""

import re
from dataclasses import dataclass

from lab.guide import POLICY
from lab.store import CHECKOUT

PAGE = CHECKOUT / "docs" / "tutorial.md"
ON_THE_MASTER = "\n## 1. "  # what stands before it is typed on the machine itself
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY = "…"


@dataclass(frozen=True)
class Step:
    """One block: what is typed, and which lines of the answer the page shows."""

    typed: str
    shown: tuple[str, ...] = ()

    def lacking(self, printed: str) -> list[str]:
        """Return the shown lines from the first on that was not printed; none where all were, in this order."""
        lines = iter(printed.splitlines())
        for at, line in enumerate(self.shown):
            if not any(_pattern(line).fullmatch(each.strip()) for each in lines):
                return list(self.shown[at:])
        return []


def steps(page: str | None = None) -> list[Step]:
    """Return the tutorial's blocks, in order.

    page
        Another text in its place.
    """
    text = PAGE.read_text() if page is None else page
    found: list[Step] = []
    for block in BLOCK.finditer(text[text.index(ON_THE_MASTER) :]):
        language, content = block.groups()
        if language == "":
            found.append(Step(content.strip()))
        elif language == "text":
            found.append(Step(f"cat > {POLICY} <<'EOF'\n{content}EOF"))
        elif language == "output":
            found[-1] = Step(found[-1].typed, tuple(content.splitlines()))
    return found


def _pattern(line: str) -> re.Pattern[str]:
    parts = [r"\s+".join(map(re.escape, part.split())) for part in line.split(ANY)]
    return re.compile(r".*".join(parts))
