"""All that configure makes a generation of: what policy.cfg chooses, the hosts, the site's own words; read once.

A served generation is looked at in the same way: ``roles``, ``osds`` and ``networks`` read files by target path,
chosen or served.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from proposals.files import atomic, documents, tree
from proposals.files.site import Site, minion_of
from proposals.inventory import kept, spares
from proposals.networking import assigned_check
from proposals.pillar import adopted
from proposals.policy import merging, policy, profiles
from proposals.policy.profiles import Profile
from proposals.settings import reader
from proposals.settings.cluster import LAYER
from proposals.settings.hosts import MINIONS, PLACE
from proposals.settings.reader import SiteSettings
from proposals.text.errors import StoreError
from proposals.text.names import shown

LAYERS = ("stack/global.yml", LAYER)  # of the site's own, in Salt's order: they have the last word
CHOSEN = ("stack/default/global.yml", "stack/default/ceph/cluster.yml")  # of policy.cfg's
OWN_ROLES, OWN_MINIONS = "stack/ceph/roles", "stack/ceph/minions"  # the site's own of a role, of a minion
FILES = (*LAYERS, PLACE, MINIONS)  # in which a site writes settings, below <pillar_root>/ceph
KINDS = (".yml", ".yaml", ".sls")  # how such files end, or are meant to
TEMPLATE = ("{{", "{%", "{#")  # what Salt would render


@dataclass(frozen=True)
class Chosen:
    """What was chosen.

    contents
        ``{target: {source: content}}``, in policy's order.
    hosts
        The hosts as discovery stored them; the site's hot spares are in use there.
    orchestrator
        The id under which the master compiles its own pillar: it alone is told who has which role.
    pillar
        That pillar, as it is served now.
    own
        The contents of the site's own files, by path; they may not be served yet.
    given
        The names of the certificates and passwords that the site gave.
    profiles
        Those that give minions a layout, by name.
    listed
        The paths of the files that lie where the site's own are read.
    before
        What policy.cfg chose of the settings when it was configured last: the pillar that is served holds that.
    warnings
        What of policy.cfg's choice says nothing: empty files.
    """

    contents: Mapping[str, Mapping[str, dict]]
    hosts: Mapping[str, Mapping]
    orchestrator: str
    pillar: Mapping[str, object] = field(default_factory=dict)
    own: Mapping[str, Mapping] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    listed: tuple[str, ...] = ()
    before: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @cached_property
    def files(self) -> dict[str, dict]:
        """The merged content by target path."""
        return adopted.unplanned({target: merging.merge(each.values()) for target, each in self.contents.items()})

    @cached_property
    def monitors(self) -> dict[str, object]:
        """The address of each monitor by name, as it is served now."""
        ceph = self.pillar.get("ceph")
        listed = ceph.get("monitors") if isinstance(ceph, Mapping) else None
        told = [each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, Mapping)]
        return {str(each.get("name")): each.get("address") for each in told}

    @cached_property
    def roles(self) -> dict[str, list[str]]:
        """The roles of each minion that policy.cfg gives to the cluster."""
        return roles(self.files)

    @cached_property
    def osds(self) -> dict[str, dict[str, Mapping]]:
        """The planned OSDs of each minion that has any."""
        return osds(self.files)

    @cached_property
    def written(self) -> dict[str, object]:
        """The site's settings as they stand, merged."""
        return _written(self.contents, self.pillar, self.own, self.before)

    @cached_property
    def settings(self) -> SiteSettings:
        """The same, read: with defaults, and what is wrong with them."""
        return reader.read(self.written)


def read(site: Site, orchestrator: str, pillar: Mapping[str, object]) -> Chosen:
    """Read what policy.cfg chooses and all that a generation is made of beside it. Raises PolicyError, InventoryError.

    Arguments are those of ``Chosen``.
    """
    resolved = policy.resolve(site.proposals)
    contents = resolved.contents
    own, layouts = own_files(site.root), profiles.read(site.proposals, profiles.chosen(contents))
    before = merging.merge(tree.mapping(site.current / layer) for layer in CHOSEN)
    # What is wrong with it, ``settings`` tells.
    kept_back, _ = reader.only(spares.KEY, _written(contents, pillar, own, before).get(spares.KEY))
    hosts = spares.reserve(kept.load_inventory(site.inventory)["hosts"], kept_back)
    more = (given(site), layouts, _listed(site.root), before, resolved.warnings)
    return Chosen(contents, hosts, orchestrator, pillar, own, *more)


def _written(
    contents: Mapping[str, Mapping[str, dict]],
    pillar: Mapping[str, object],
    own: Mapping[str, Mapping],
    before: Mapping[str, object],
) -> dict[str, object]:
    """The site's settings, merged as Salt will: its pillar, what policy.cfg chooses, its own files.

    What the pillar has of policy.cfg's last choice, and of the site's own files, is not taken from there: they are read
    anew. Only what it has otherwise, a file with templates says. Arguments are those of ``Chosen``.
    """
    layers = [dict(own[path]) for path in LAYERS if path in own]
    known = merging.merge([dict(before), *layers])
    served = {key: pillar[key] for key in reader.SERVED if key in pillar}
    other = {key: value for key, value in served.items() if key not in known or value != known[key]}
    first = {key: value for key, value in other.items() if key not in before}
    templated = {key: value for key, value in other.items() if key in before}
    chosen = [content for layer in CHOSEN for content in contents.get(layer, {}).values()]
    return merging.merge([first, *chosen, templated, *layers])


def own_files(root: Path) -> dict[str, Mapping]:
    """Return the contents of the site's own files, by path below ``<pillar_root>/ceph``, which is ``root``.

    A file with templates in it is Salt's to read, and says nothing before it is served. Raises StoreError for one that
    is no mapping: Salt would leave it out without a word. Those of a role or minion are looked at alike, and not
    returned: they are not the master's.
    """
    some = [
        str(path.relative_to(root)) for folder in (OWN_ROLES, OWN_MINIONS) for path in (root / folder).glob("*.yml")
    ]
    texts = {path: atomic.read_text(root / path) for path in (*FILES, *sorted(some)) if (root / path).is_file()}
    plain = {path: text for path, text in texts.items() if not any(mark in text for mark in TEMPLATE)}
    contents = {path: documents.parse_yaml(text, str(root / path)) for path, text in plain.items()}
    for path, content in contents.items():
        if content is not None and not isinstance(content, Mapping):
            line = next(line for line in plain[path].splitlines() if line.strip() and line.lstrip()[0] != "#")
            raise StoreError(
                f"{root / path} is not a mapping: expected lines such as 'small_site: true', found "
                f"'{shown(line)}'; correct it, or move it away"
            )
    return {path: contents[path] for path in FILES if contents.get(path) is not None}


def _listed(root: Path) -> tuple[str, ...]:
    """The files that lie where the site's own are read; it may keep what it likes beside them, under other names."""
    folders = [*root.glob("*"), *(root / "stack").glob("*"), *(root / "stack/ceph").rglob("*")]
    paths = [path for path in folders if path.suffix in KINDS and path.name[0] != "." and path.is_file()]
    return tuple(sorted(str(path.relative_to(root)) for path in paths))


def own_settings(root: Path) -> dict[str, object]:
    """Return the settings of the site's own layer that may not be served yet."""
    own = own_files(root)
    return merging.merge(dict(own[path]) for path in LAYERS if path in own)


def given(site: Site) -> frozenset[str]:
    """Return the names of the files that the site gave: certificates and passwords."""
    return frozenset(path.name for path in site.given.glob("*") if path.is_file())


def roles(files: Mapping[str, Mapping]) -> dict[str, list[str]]:
    """Return the roles of each minion that is part of the cluster.

    files
        Content by target path (``cluster/ID.sls``, ``stack/default/...``), chosen or served.
    """
    by_minion = {}
    for target, content in files.items():
        folder, _, file = target.partition("/")
        if folder == "cluster" and file.endswith(".sls") and content.get("cluster") != "unassigned":
            listed = content.get("roles")
            by_minion[file.removesuffix(".sls")] = list(map(str, listed)) if isinstance(listed, list) else []
    return by_minion


def osds(files: Mapping[str, Mapping]) -> dict[str, dict[str, Mapping]]:
    """Return the planned OSDs of each minion that has any: ``{minion: {data disk: what}}``; files as for ``roles``."""
    by_minion = {}
    for target, content in files.items():
        planned = _within(content, "ceph", "storage", "osds")
        if (minion := minion_of(target)) and planned:
            by_minion[minion] = {disk: osd if isinstance(osd, Mapping) else {} for disk, osd in planned.items()}
    return by_minion


def networks(files: Mapping[str, Mapping]) -> dict[str, object]:
    """Return ``ceph:network`` of each minion that has one; files as for ``roles``."""
    found = {minion_of(target): assigned_check.of(content) for target, content in files.items()}
    return {minion: network for minion, network in found.items() if minion and network is not None}


def recorded(content: Mapping) -> Mapping[str, Mapping]:
    """Return the size and serial of each disk that a minion's layout names."""
    return _within(content, "ceph", "storage", "disks")


def _within(content: Mapping, *keys: str) -> Mapping:
    """The mapping at some keys; an empty one where there is none."""
    for key in keys:
        inner = content.get(key)
        content = inner if isinstance(inner, Mapping) else {}
    return content
