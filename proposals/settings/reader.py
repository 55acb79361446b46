"""Reads what a site wrote: its settings, what is wrong with them, and keys that nothing reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proposals.settings.cluster import CONFIG
from proposals.settings.kinds import unknown
from proposals.settings.mappings import NEAR, read_row, says
from proposals.settings.table import SETTINGS
from proposals.text.names import closest, shown

ROWS = {row.key: row for row in SETTINGS}
KEYS = tuple(ROWS)
# Of the pillar that is served only these count: policy.cfg chooses the others anew, and configure wrote into `ceph`.
SERVED = tuple(row.key for row in SETTINGS if row.place != CONFIG and row.key != "ceph")
OURS = ("ceph_", "rgw_", "nfs_", "ganesha_", "iscsi_", "crush_", "stage_prep_")


@dataclass(frozen=True)
class SiteSettings:
    """What a site wrote, read.

    values
        Every key of the table, defaults included.
    problems
        What is wrong, by key.
    written
        The keys of which the site says anything.
    """

    values: Mapping[str, Any]
    problems: Mapping[str, list[str]]
    written: frozenset[str]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def lines(self) -> list[str]:
        """Every problem, in the table's order."""
        return [line for lines in self.problems.values() for line in lines]


def read(written: Mapping[str, object]) -> SiteSettings:
    """Read settings, merged as Salt merges them; keys that are not in the table are not looked at."""
    reads = {row.key: read_row(row, written, row.key) for row in SETTINGS}
    values = {key: value for key, (value, _) in reads.items()}
    problems = {key: wrongs for key, (_, wrongs) in reads.items() if wrongs}
    return SiteSettings(values, problems, frozenset(row.key for row in SETTINGS if says(row, written)))


def only(key: str, value: object) -> tuple[Any, list[str]]:
    """Read one setting by itself; return what it says, or its default, and what is wrong with it."""
    return read_row(ROWS[key], {key: value}, key)


def misspelt(content: Mapping) -> list[str]:
    """Return an error for each key of a site's file that is nearly one of the table's."""
    return [unknown(key, KEYS) for key in content if key not in KEYS and closest(str(key), KEYS, NEAR)]


def unread(content: Mapping) -> list[str]:
    """Return a line for each key that looks like one of ours, is like none of them, and is read by nothing of ours.

    A key of the site's own, for states of its own, is left alone.
    """
    odd = (key for key in content if str(key).startswith(OURS) and key not in KEYS)
    return [f"{shown(key)}: no such setting, nothing reads it" for key in odd if not closest(str(key), KEYS, NEAR)]
