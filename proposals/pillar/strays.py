"""Files that nothing reads: what policy.cfg chooses of no layer, and files of the site under a name that is none."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import PurePath

from proposals.pillar.chosen import CHOSEN, FILES, OWN_MINIONS, OWN_ROLES, Chosen
from proposals.policy.roles import ROLES
from proposals.services import table
from proposals.text.names import closest, shown

READ = (*CHOSEN, "cluster/*.sls", "stack/default/ceph/roles/*.yml", "stack/default/ceph/minions/*.yml")

MOST = 20  # files of the site in one answer: each is compared with every name that there could be


def found(choice: Chosen) -> list[str]:
    """Return a line for each file that nothing reads, though it lies or is chosen where such files are read."""
    sources = [
        (source, target)
        for target, by_source in sorted(choice.contents.items())
        if not any(fnmatchcase(target, known) and target.count("/") == known.count("/") for known in READ)
        for source in by_source
    ]
    return [
        *(f"policy.cfg chooses {shown(source, 120)}, which is of no layer{_near(at, READ)}" for source, at in sources),
        *(f"{shown(path, 120)}: nothing reads this file{near}" for path, near in islice(_own(choice), MOST)),
    ]


def _own(choice: Chosen) -> Iterable[tuple[str, str]]:
    """The site's files that are no layer, and those of a role or minion that there is none of."""
    words = {
        OWN_ROLES: {*ROLES, *table.roles(choice.settings)},
        OWN_MINIONS: {*choice.roles, *choice.hosts, choice.orchestrator},
    }
    for path in choice.listed:
        folder, name = str(PurePath(path).parent), PurePath(path)
        known = words.get(folder, set())
        if path in FILES or (name.suffix == ".yml" and name.stem in known):
            continue
        near = _near(path, [*FILES, *(f"{where}/{word}.yml" for where, names in words.items() for word in names)])
        if folder != "." or near:  # the site's own SLS lie beside ours
            yield path, near


def _near(path: str, known: Iterable[str]) -> str:
    near = closest(path, known, 0.85)
    return f": did you mean {near}?" if near else ""
