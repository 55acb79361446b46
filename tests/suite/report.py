"""What `make test-all` found: report.json for programs, report.txt for people."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.suite.record import Result

OUTCOMES = ("passed", "failed", "skipped")


def by_file(results: Iterable[Result]) -> dict[str, dict[str, float]]:
    """Tests by outcome and seconds of each file, by its path."""
    files: dict[str, dict[str, float]] = {}
    for result in results:
        row = files.setdefault(result["test"].partition("::")[0], dict.fromkeys((*OUTCOMES, "seconds"), 0))
        row[result["outcome"]] += 1
        row["seconds"] = round(row["seconds"] + result["seconds"], 1)
    return dict(sorted(files.items()))


def text(commit: str, results: Mapping[str, Result]) -> str:
    """The report as a table, failures first."""
    failed = [result for result in results.values() if result["outcome"] == "failed"]
    files = by_file(results.values())
    total = {key: round(sum(row[key] for row in files.values()), 1) for key in (*OUTCOMES, "seconds")}
    width = max((len(name) for name in files), default=0)
    lines = [f"commit {commit}: {_row(total)}", ""]
    lines += [f"FAILED {result['test']}\n       {result['why']}" for result in failed]
    lines += [""] if failed else []
    lines += [f"{name:<{width}}  {_row(row)}" for name, row in files.items()]
    return "\n".join(lines) + "\n"


def _row(row: Mapping[str, float]) -> str:
    counts = ", ".join(f"{row[outcome]:.0f} {outcome}" for outcome in OUTCOMES if row[outcome])
    return f"{counts or 'nothing run'}, {row['seconds'] / 60:.1f} min"


def write(folder: Path, commit: str, results: Mapping[str, Result]) -> None:
    """Write both."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"commit": commit, "files": by_file(results.values()), "tests": list(results.values())}
    (folder / "report.json").write_text(json.dumps(content, indent=1) + "\n")
    (folder / "report.txt").write_text(text(commit, results))
