"""Kept runs for a person again: those of a suite beside each other, measured recoveries each by itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from proposals.benchmarks import curves, report, results, scenarios, suites
from proposals.text.errors import ArgumentError

RECOVERY = "recovery"  # what the results of recovery.measure have in place of a suite


def shown(told: Sequence[Mapping[str, Any]]) -> tuple[list[str], dict[str, bytes]]:
    """Return the tables of some runs, and the files of their common page.

    Raises ArgumentError where they are of several suites, or several recoveries, which have no common page.
    """
    if len({result["suite"] for result in told}) > 1:
        raise ArgumentError("these runs are of several suites: show those of one suite together")
    if told[0]["suite"] != RECOVERY:
        suite = suites.read(told[0]["suite"])
        lines = [line for one in told for line in (results.named(one), results.plain(suite, one))]
        return lines, report.files(suite, told)
    if len(told) > 1:
        raise ArgumentError("each measured recovery has a page of its own: show one")
    (one,) = told
    return [results.named(one), scenarios.plain(one["curves"]), *one["notes"]], curves.files(scenarios.TITLE, one)
