"""``HOSTS DISKS`` -> seconds of populate, beside parsing the inventory and writing as many bytes, as JSON."""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from machines import ARGUMENTS, inventory

from proposals.disks import arguments, plan
from proposals.policy import store


def timed(run: Callable[[], object]) -> tuple[float, object]:
    """Wall seconds of ``run`` and what it returned."""
    start = time.perf_counter()
    value = run()
    return time.perf_counter() - start, value


def same_files(root: Path, sizes: list[int]) -> None:
    """As many files of the same sizes, with nothing else done."""
    for number, size in enumerate(sizes):
        folder = root / str(number % 30)
        folder.mkdir(exist_ok=True)
        (folder / str(number)).write_bytes(bytes(size))


def main() -> None:
    text = json.dumps(inventory(*map(int, sys.argv[1:])))
    asked = arguments.parse(ARGUMENTS)
    parse, raw = timed(lambda: json.loads(text))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "proposals"
        planning, made = timed(lambda: plan.peek(raw, asked))
        writing, _ = timed(lambda: store.populate(root, made))
        sizes = [path.stat().st_size for path in root.rglob("*") if path.is_file()]
        again, report = timed(
            lambda: store.populate(root, plan.peek(raw, asked, store.stored_proposal(root, "default")))
        )
        assert not report.written, "a second populate must write nothing"
        one, _ = timed(lambda: (Path(folder) / "bytes").write_bytes(bytes(sum(sizes))))
        many, _ = timed(lambda: same_files(Path(folder), sizes))
    print(
        json.dumps(
            {"parse": parse, "plan": planning, "populate": writing, "again": again, "bytes": sum(sizes)}
            | {"files": len(sizes), "one_file": one, "many_files": many}
        )
    )


if __name__ == "__main__":
    main()
