"""Checks of the stored proposals whose layouts were chosen."""

from collections.abc import Iterable

from proposals.text.argument_readers import words
from proposals.validation.check import POLICY, WARNING, Check, Found, at
from proposals.validation.subject import Subject


def plan_kept(subject: Subject) -> Iterable[Found]:
    """Hosts that the last populate of their profile did not cover, and that other arguments planned."""
    for name, profile in sorted(subject.profiles.items()):
        for asked, hosts in profile.kept().items():
            now = words(profile.stored["arguments"]) if profile.stored else ""
            yield at(*hosts, name=name, asked=asked, now=now)


def plan_unread(subject: Subject) -> Iterable[Found]:
    """Profiles whose stored proposal cannot be read."""
    yield from (at(why=profile.unread) for _, profile in sorted(subject.profiles.items()) if profile.unread)


CHECKS = (
    Check(
        *("plan_kept", WARNING, POLICY, "all hosts of a profile are planned with its arguments"),
        "profile {name}: kept as planned with {asked}, not covered by the last populate with {now}",
        "run ceph.stage.discovery with these hosts, then proposal.populate name={name} with the arguments for all",
        plan_kept,
        "docs/concepts/planner.md (what exists stays)",
    ),
    Check(
        *("plan_unread", WARNING, POLICY, "the stored proposal of every chosen profile can be read"),
        "{why}",
        "until then nothing tells whether its hosts were planned with the same arguments",
        plan_unread,
    ),
)
