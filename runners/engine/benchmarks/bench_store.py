"""Where results of benchmarks lie on the master: a folder a run, below the run logs; a baseline for each suite."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from proposals.benchmarks.baseline import Speed
from proposals.files import atomic
from proposals.text import names
from proposals.text.errors import ArgumentError, ProposalError

ID = re.compile(r"[a-z0-9-]+-[0-9]{8}T[0-9]{6}")
BASELINES, SPEEDS = "baselines.json", "speeds.json"  # runs that others are compared with; parts that were measured


def folder(opts: Mapping) -> Path:
    """Return the folder of all results; ProposalError where the master's configuration names no folder of logs."""
    logs = opts.get("halocline_log_dir")
    if not logs:
        raise ProposalError(
            "the master's configuration has no halocline_log_dir: run srv/install again and restart the master"
        )
    return Path(logs) / "benchmarks"


def runs(opts: Mapping) -> list[str]:
    """Return the runs that are kept, the newest last."""
    found = [path.parent.name for path in folder(opts).glob("*/result.json")]
    return sorted(filter(ID.fullmatch, found), key=lambda run: run.rpartition("-")[2])


def odd(opts: Mapping) -> dict[str, str]:
    """Return what must be known of some kept runs before they are used, by run: that one is partial, or broken."""
    found = {}
    for run in runs(opts):
        try:
            partial = read(opts, run).get("partial")
        except ProposalError as err:
            found[run] = str(err)
        else:
            found |= {run: f"partial: {partial}"} if partial else {}
    return found


def read(opts: Mapping, run: object) -> dict[str, Any]:
    """Return a run's result. Raises ArgumentError where there is none of that id."""
    there = runs(opts)
    if run not in there:
        known = names.nearest(str(run), there) if there else ": there is none yet, 'salt-run benchmark.run' makes one"
        raise ArgumentError(f"{names.shown(run)}: no such run of a benchmark{known}")
    path = folder(opts) / str(run) / "result.json"
    try:
        result: dict[str, Any] = json.loads(atomic.read_text(path))
    except ValueError as err:
        raise ProposalError(f"{path} is broken ({err}): remove its folder") from err
    return result


def write(opts: Mapping, result: Mapping[str, Any], files: Mapping[str, bytes]) -> Path:
    """Keep a result and what is made of it; return its folder. Raises ProposalError where it cannot be written."""
    path = folder(opts) / str(result["id"])
    text = json.dumps(result, indent=1, sort_keys=True) + "\n"
    atomic.write_many(folder(opts), {f"{path.name}/result.json": text}, mode=0o640)
    try:
        for name, data in files.items():
            (path / name).write_bytes(data)  # made anew of the result at any time
    except OSError as err:
        raise ProposalError(f"{path} cannot be written: {err.strerror}; the result itself is kept there") from err
    return path


def baselines(opts: Mapping) -> dict[str, str]:
    """Return the run that later ones are compared with, by suite, size and label."""
    kept: dict[str, str] = _kept(opts, BASELINES, "benchmark.keep")
    return kept


def speeds(opts: Mapping) -> list[Speed]:
    """Return what ``benchmark.baseline`` measured last, of each part."""
    return [Speed(*each) for each in _kept(opts, SPEEDS, "benchmark.baseline").get("speeds", [])]


def keep_speeds(opts: Mapping, measured: Iterable[Speed]) -> None:
    """Keep what was measured of parts, in place of what was measured of them before."""
    found = {(one.kind, one.part): one for one in (*speeds(opts), *measured)}
    text = json.dumps({"speeds": sorted(found.values())}, indent=1) + "\n"
    atomic.write(folder(opts) / SPEEDS, text, mode=0o640)


def _kept(opts: Mapping, name: str, again: str) -> dict[str, Any]:
    path = folder(opts) / name
    if not path.exists():
        return {}
    try:
        kept: dict[str, Any] = json.loads(atomic.read_text(path))
    except ValueError as err:
        raise ProposalError(f"{path} is broken ({err}): remove it, then 'salt-run {again}' again") from err
    return kept


def keep(opts: Mapping, result: Mapping[str, Any]) -> str:
    """Let a run be the baseline of its suite, size and label; return what they are called. ArgumentError of a partial
    one, beside which a later run has cells that are compared with nothing.
    """
    if result.get("partial"):
        raise ArgumentError(
            f"{result['id']} is partial ({result['partial']}), and no baseline: run the suite again, or name it where "
            "you compare: 'salt-run benchmark.compare RUN BEFORE'"
        )
    kind = called(result)
    text = json.dumps({**baselines(opts), kind: result["id"]}, indent=1, sort_keys=True) + "\n"
    atomic.write(folder(opts) / BASELINES, text, mode=0o640)
    return kind


def called(result: Mapping[str, Any]) -> str:
    """Return what runs have in common that may be compared: ``apollo quick``, ``mellanox paper 10gbe``."""
    return " ".join(filter(None, (result["suite"], result["size"], result.get("label") or "")))
