"""What is validated: who has which role, the site's settings, and what the hosts answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from proposals.files.site import minion_of
from proposals.networking import assigned_check
from proposals.settings import reader
from proposals.settings.reader import SiteSettings
from proposals.text import addresses
from proposals.validation.facts import Facts


@dataclass(frozen=True)
class Subject:
    """``roles`` and ``osds`` (how many are planned) by minion; ``failed`` says why a host has no facts.

    files
        What the master's file roots hold below ``ceph/``: each file's place, by its path there.
    generation
        The one that the master serves.
    hostnames
        The host names that discovery saw; daemons are named after them.
    links
        Addresses, with prefix length, that a chosen network proposal gives each minion.
    salt
        The master's version of Salt.
    took
        Seconds from the reference to the last answer.
    """

    roles: Mapping[str, list[str]]
    settings: Mapping[str, object]
    osds: Mapping[str, int]
    generation: str | None = None
    hosts: Mapping[str, Facts] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    hostnames: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, list[str]] = field(default_factory=dict)
    salt: str = ""
    took: float = 0.0
    files: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def site(self) -> SiteSettings:
        """The settings, read: with defaults, and what is wrong with them."""
        return reader.read(self.settings)

    def members(self, *roles: str) -> list[str]:
        """The minions that have any of these roles, sorted."""
        return sorted(minion for minion, has in self.roles.items() if set(has) & set(roles))

    def network(self, key: str) -> addresses.Network | None:
        """A network of the settings; None where it is absent or not one (a check of its own says so)."""
        return addresses.network(self.settings.get(key))

    def hosts_needed(self) -> int:
        """How many storage hosts the redundancy needs: one for each of N replicas, or of K+M parts."""
        return sum(int(part) for part in self.site["redundancy"].split("+"))


def chosen(files: Mapping[str, Mapping], settings: Mapping[str, object] | None = None) -> Subject:
    """Return the subject that a choice makes, without any host's facts.

    files
        Content by target path (``cluster/ID.sls``, ``stack/default/...``), chosen or served.
    settings
        The site's settings where they are known merged; without, those of the files.
    """
    roles, osds, links = {}, {}, {}
    for path, content in files.items():
        folder, _, file = path.partition("/")
        if folder == "cluster" and content.get("cluster") != "unassigned":
            given = content.get("roles") or []
            roles[file.removesuffix(".sls")] = [str(role) for role in given] if isinstance(given, list) else []
        elif minion := minion_of(path):
            osds[minion], links[minion] = _planned(content), assigned_check.addresses(content)
    if settings is None:
        layers = ("stack/default/global.yml", "stack/default/ceph/cluster.yml")
        settings = {key: value for layer in layers for key, value in files.get(layer, {}).items()}
    return Subject(roles, settings, {minion: count for minion, count in osds.items() if count}, links=links)


def _planned(content: Mapping) -> int:
    """How many OSDs a minion's layout names; DeepSea's short form has no uuids."""
    place: object = content
    for key in ("ceph", "storage", "osds"):
        place = place.get(key) if isinstance(place, Mapping) else None
    osds = place.values() if isinstance(place, Mapping) else ()
    return sum(len(osd.get("uuids") or [None]) if isinstance(osd, Mapping) else 1 for osd in osds)
