"""Checks of the site's settings: understood, and rightly spelt."""

from collections.abc import Iterable

from proposals.pillar import problems
from proposals.settings.cluster import NETWORKS
from proposals.validation.check import ERROR, SITE, WARNING, Check, Found, Words, at
from proposals.validation.subject import Subject

ELSEWHERE = ("fsid", *NETWORKS)  # have checks of their own, which also say where they are missing
PAGE = "docs/reference/settings.md"


def understood(subject: Subject) -> Iterable[Found]:
    """Settings that are not understood."""
    for key, lines in subject.site.problems.items():
        yield from (at(problem=Words(line)) for line in lines if key not in ELSEWHERE)


def misspelt(subject: Subject) -> Iterable[Found]:
    """Keys of the site's files that are nearly a setting's."""
    yield from _lines(problems.misspelt(subject.own))


def unread(subject: Subject) -> Iterable[Found]:
    """Keys that look like a setting's and are like none."""
    yield from _lines(problems.unread(subject.own))


def _lines(lines: Iterable[tuple[str, str]]) -> Iterable[Found]:
    return (at(path=path, problem=Words(line)) for path, line in lines)


CHECKS = (
    Check(
        "settings",
        ERROR,
        SITE,
        "every setting of the site is understood",
        "{problem}",
        f"correct it where the site's pillar has it, such as in <pillar_root>/ceph/stack/ceph/cluster.yml ({PAGE})",
        understood,
    ),
    Check(
        "misspelt",
        ERROR,
        SITE,
        "no key of the site's files is nearly, but not quite, a setting's",
        "{problem}",
        "correct it in <pillar_root>/ceph/{path}",
        misspelt,
        PAGE,
    ),
    Check(
        "unread",
        WARNING,
        SITE,
        "no key of the site's files looks like a setting and is none",
        "{problem}",
        f"take it out of <pillar_root>/ceph/{{path}}, or look for its name of today in {PAGE}",
        unread,
        PAGE,
    ),
)
