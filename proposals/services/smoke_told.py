"""What a smoke test found, for a person: service by service, with the reason of what failed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from proposals.text.names import shown

LONGEST = 600  # characters of one line


@dataclass(frozen=True)
class Result:
    """What came of one attempt: a line for each thing that was tried."""

    service: str
    passed: Sequence[str] = ()
    failed: Sequence[str] = ()
    skipped: Sequence[str] = ()

    def text(self) -> str:
        """Its lines, what failed first."""
        words = {"FAILED": self.failed, "passed": self.passed, "not tried": self.skipped}
        lines = [f"{self.service}: {word}: {shown(line, LONGEST)}" for word, each in words.items() for line in each]
        return "\n".join(lines)


def read(service: str, said: Mapping[str, object]) -> Result:
    """Return what a minion answered as a result; one in which nothing was tried has failed."""
    kinds = {kind: _lines(said.get(kind)) for kind in ("passed", "failed", "skipped")}
    if not any(kinds.values()):
        kinds["failed"] = ("its client tried nothing",)
    return Result(service, **kinds)


def _lines(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def failed(results: Iterable[Result]) -> list[str]:
    """Return the services of which something failed, each once."""
    return list(dict.fromkeys(result.service for result in results if result.failed))


def ending(results: Sequence[Result]) -> str:
    """Return the last line: how many services passed, which failed, which were not tried."""
    names, wrong = list(dict.fromkeys(result.service for result in results)), failed(results)
    tried = [name for name in names if any(each.passed for each in results if each.service == name)]
    good = [name for name in tried if name not in wrong]
    idle = [name for name in names if name not in tried and name not in wrong]
    parts = [f"passed: {', '.join(good) or 'none'}", f"FAILED: {', '.join(wrong)}" if wrong else ""]
    return "; ".join([*filter(None, parts), *([f"not tried: {', '.join(idle)}"] if idle else [])])


def data(results: Iterable[Result]) -> dict[str, dict[str, list[str]]]:
    """Return the results as data: ``{service: {passed, failed, skipped}}``."""
    found: dict[str, dict[str, list[str]]] = {}
    for result in results:
        kinds = found.setdefault(result.service, {"passed": [], "failed": [], "skipped": []})
        for kind, lines in kinds.items():
            lines += getattr(result, kind)
    return found
