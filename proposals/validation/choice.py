"""What policy.cfg would make, judged before configure: the rows about what was chosen, then configure's own checks."""

from collections.abc import Mapping
from dataclasses import dataclass

from proposals.files import atomic, documents
from proposals.pillar import generation
from proposals.pillar.generation_disk import ANY_KEY
from proposals.policy import merging
from proposals.settings import reader
from proposals.text import names
from proposals.text.errors import ArgumentError, PolicyError
from proposals.validation import subject, table
from proposals.validation.check import ERROR, POLICY, Check, Finding, run

FIRST = (
    "unknown_role",
    "fsid",
    "network_shape",
    "settings",
)  # configure's checks, which read these, wait until they are right


@dataclass(frozen=True)
class Judged:
    """What is wrong, and the generation that configure would make: None where it would refuse."""

    findings: list[Finding]
    made: generation.Generation | None
    roles: Mapping[str, list[str]]


def judge(
    contents: Mapping[str, Mapping],
    hosts: Mapping[str, Mapping],
    orchestrator: str,
    own: Mapping,
    given: frozenset[str] = frozenset(),
) -> Judged:
    """Return what is wrong with a choice.

    contents
        ``{target: {source: content}}``, in policy's order.
    hosts
        The inventory's hosts.
    orchestrator
        The id under which the master compiles its own pillar.
    own
        That pillar, for the settings of the site's own layer.
    given
        The names of the certificates and passwords that the site gave.
    """
    chosen = {target: merging.merge(sources.values()) for target, sources in contents.items()}
    plain = subject.chosen(chosen)
    looked = subject.chosen(chosen, reader.merged(plain.settings, own))
    found = run(rows(), looked)
    if any(one.check in FIRST for one in found):
        return Judged(found, None, looked.roles)
    try:
        made = generation.build(chosen, hosts, orchestrator, generation.shared_disks(contents), own, given)
    except PolicyError as err:
        lines = str(err).splitlines()[1:] or [str(err)]
        refused = [Finding("configure", ERROR, (), line, "until then configure changes nothing") for line in lines]
        return Judged(refused + found, None, looked.roles)
    return Judged(found, made, looked.roles)


def site_settings(root) -> dict:
    """Return the settings of the site's own layer that is not served yet: of ``<pillar_root>/ceph``, ``root``.

    A file with templates in it is Salt's to read, and says nothing before it is served.
    """
    path = root / "stack/ceph/cluster.yml"
    text = atomic.read_text(path) if path.is_file() else ""
    said = documents.parse_yaml(text, str(path)) if not any(mark in text for mark in generation.TEMPLATE) else None
    return said if isinstance(said, dict) else {}


def rows() -> list[Check]:
    """The checks that need no host's answer."""
    return [one for one in table.CHECKS if one.looks_at == POLICY]


def told(root, minion: str, judged: Judged) -> dict:
    """Return what a minion would be told: ``{pillar, secrets}``; of secrets the names alone.

    Raises ArgumentError for a minion that policy.cfg does not choose.
    """
    if minion not in judged.roles:
        near = names.nearest(minion, judged.roles)
        raise ArgumentError(f"'{names.shown(minion)}' is no minion that policy.cfg gives to the cluster{near}")
    said = merging.minion(root, minion)
    if not judged.made:
        return {"pillar": said, "secrets": []}
    derived = documents.parse_yaml(judged.made.files["stack/default/ceph/derived.yml"], "derived.yml")
    return {"pillar": merging.merge([said, derived]), "secrets": sorted(judged.made.secrets(minion, ANY_KEY))}
