"""What policy.cfg would make, judged before configure: the rows about what was chosen, then configure's own checks."""

from collections.abc import Mapping
from dataclasses import dataclass

from proposals.files import documents
from proposals.pillar import generation, problems, strays
from proposals.pillar.chosen import Chosen
from proposals.pillar.generation_disk import ANY_KEY
from proposals.policy import merging
from proposals.text import names
from proposals.text.errors import ArgumentError, PolicyError
from proposals.validation import subject, table
from proposals.validation.check import ERROR, POLICY, SITE, WARNING, Check, Finding, run

EMPTY = "run populate again, which writes its own anew, or take it away"
# Configure's checks, which read these, wait until they are right.
FIRST = ("unknown_role", "fsid", "network_shape", "settings", "misspelt")


@dataclass(frozen=True)
class Judged:
    """What is wrong, and the generation that configure would make: None where it would refuse."""

    findings: list[Finding]
    made: generation.Generation | None
    roles: Mapping[str, list[str]]


def judge(chosen: Chosen) -> Judged:
    """Return what is wrong with a choice."""
    unread = [Finding("unread_file", WARNING, (), line, "rename it, or take it away") for line in strays.found(chosen)]
    unread += [Finding("empty_file", WARNING, (), line, EMPTY) for line in chosen.warnings]
    if odd := problems.unreadable(chosen):
        return Judged(_refused(odd) + unread, None, chosen.roles)
    findings = run(rows(), subject.of(chosen.files, chosen.written, chosen.own, chosen.profiles))
    findings += [*without(chosen), *unread]
    if any(finding.check in FIRST for finding in findings):
        return Judged(findings, None, chosen.roles)
    try:
        made = generation.build(chosen)
    except PolicyError as err:
        lines = str(err).splitlines()[1:] or [str(err)]
        return Judged(_refused(lines) + findings, None, chosen.roles)
    return Judged(findings, made, chosen.roles)


def _refused(lines: list[str]) -> list[Finding]:
    return [Finding("configure", ERROR, (), line, "until then configure changes nothing") for line in lines]


def without(choice: Chosen) -> list[Finding]:
    """Return a warning for each host whose profile names disks that get no OSD now: those that are gone or silent,
    whose OSDs stay planned, and those of which it names no fsid."""
    gone = [
        Finding(
            *("disk_gone", WARNING, (minion,)),
            f"{', '.join(disks)}: not there, or silent, when discovery looked; deploy leaves out what lies on it",
            "plug it in and run ceph.stage.discovery, or replace it (salt-run osd.replace)",
        )
        for minion, disks in problems.gone(choice).items()
    ]
    unnamed = [
        Finding(
            *("disk_unnamed", WARNING, (minion,)),
            f"{', '.join(disks)}: its profile has no uuids for it: no OSD is made of it",
            "plan it with proposal.populate, or name the fsid of each of its OSDs",
        )
        for minion, disks in problems.unnamed(choice).items()
    ]
    return [*gone, *unnamed]


def rows() -> list[Check]:
    """The checks that need no host's answer."""
    return [check for check in table.CHECKS if check.looks_at in (POLICY, SITE)]


def told(chosen: Chosen, minion: str, judged: Judged) -> dict:
    """Return what a minion would be told: ``{pillar, secrets}``; of secrets the names alone.

    Raises ArgumentError for a minion that policy.cfg does not choose.
    """
    if minion not in judged.roles:
        near = names.nearest(minion, judged.roles)
        raise ArgumentError(f"'{names.shown(minion)}' is no minion that policy.cfg gives to the cluster{near}")
    pillar = merging.minion(chosen.contents, minion)
    if not judged.made:
        return {"pillar": pillar, "secrets": []}
    derived = documents.parse_yaml(judged.made.files["stack/default/ceph/derived.yml"], "derived.yml")
    return {"pillar": merging.merge([pillar, derived]), "secrets": sorted(judged.made.secrets(minion, ANY_KEY))}
