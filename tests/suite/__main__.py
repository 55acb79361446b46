"""`python -m tests.suite [--part 2/4]`: every test there is, as `make test-all` runs it.

It goes on after a failure. Results lie in build/test-all/COMMIT*.jsonl, written as they come, and a further run on the
same commit runs only what has not passed there; results of parts that ran elsewhere may be copied beside them. Its end
is build/test-all/report.txt and report.json. With local changes every run begins anew.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tests.suite import parts, record, report

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "build/test-all"
GO_ON = "--continue-on-collection-errors"
PYTEST = (
    ("-m", "not processes", "tests/unit", "tests/functional"),
    ("-m", "processes", "tests/functional"),
    ("-m", "", "--rig=always", "tests/rig", "tests/lab", "tests/kernel"),
)


def git(*words: str) -> str:
    """What git answers."""
    return subprocess.run(["git", *words], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout.strip()


def begun(part: tuple[int, int]) -> tuple[str, Path]:
    """The commit, and the file for this run's results; with local changes those of earlier runs go."""
    commit = git("rev-parse", "--short=12", "HEAD")
    own = ("tests/rig/proven.json", parts.KNOWN)  # which a run itself writes
    if git("status", "--porcelain", "--", ".", *(f":!{path}" for path in own)):
        commit = f"{commit}-changed"
        for path in FOLDER.glob(f"{commit}*.jsonl"):
            path.unlink()
    return commit, FOLDER / f"{commit}.{part[0]}-of-{part[1]}.jsonl"


def lint(path: Path) -> None:
    """`make lint` as one result."""
    start = time.monotonic()
    failed = subprocess.run(["make", "lint"], cwd=CHECKOUT, check=False).returncode
    outcome, why = ("failed", "run it: it prints where") if failed else ("passed", "")
    seconds = round(time.monotonic() - start, 1)
    record.append(path, {"test": "make lint", "outcome": outcome, "seconds": seconds, "why": why})


def results(commit: str) -> dict[str, record.Result]:
    """The newest result of each test on a commit, of all parts."""
    return record.read(*sorted(FOLDER.glob(f"{commit}.*.jsonl"), key=lambda path: path.stat().st_mtime))


def run(path: Path, part: tuple[int, int]) -> bool:
    """Run all of it, one thing after the other; whether pytest itself got through each."""
    options = ["-p", "tests.suite.record", f"--record={path}", f"--part={part[0]}/{part[1]}", GO_ON, "--numprocesses=0"]
    through = True
    for chosen in PYTEST:
        code = subprocess.run([sys.executable, "-m", "pytest", *options, *chosen], cwd=CHECKOUT, check=False).returncode
        through &= code in (0, 1, 5)  # all passed, some failed, nothing left to run
    return through


def main(words: list[str]) -> int:
    """Run it; 0 where all tests that ran have passed. The report is written where it is interrupted, too."""
    parser = argparse.ArgumentParser(prog="python -m tests.suite", description="Every test there is.")
    parser.add_argument("--part", type=parts.parse, default=(1, 1), metavar="I/N", help="a share: 2/4")
    part = parser.parse_args(words).part
    commit, path = begun(part)
    through = False
    try:
        if part[0] == 1 and results(commit).get("make lint", {}).get("outcome") != "passed":
            lint(path)
        through = run(path, part)
    finally:
        outcomes = results(commit)
        report.write(FOLDER, commit, outcomes)
        print((FOLDER / "report.txt").read_text())
    good = through and not any(result["outcome"] == "failed" for result in outcomes.values())
    if good and part == (1, 1):
        parts.keep(CHECKOUT, {file: row["seconds"] for file, row in report.by_file(outcomes.values()).items()})
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("interrupted; the next run goes on from here")
