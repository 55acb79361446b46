"""What is validated: who has which role, the site's settings, and what the hosts answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from proposals.files.site import minion_file
from proposals.networking import assigned_check
from proposals.pillar import adopted, chosen
from proposals.pillar.held import Held, Keys
from proposals.policy.profiles import Profile
from proposals.settings import reader
from proposals.settings.hosts import MINIONS, PLACE
from proposals.settings.hosts import SETTINGS as PREP
from proposals.settings.reader import SiteSettings
from proposals.text import addresses
from proposals.validation.facts import HostFacts
from proposals.validation.hardware_facts import Hardware


@dataclass(frozen=True)
class Subject:
    """``roles`` and ``osds`` (how many are planned) by minion; ``failed`` says why a host that answers has
    no facts, ``silent`` names those that do not answer.

    answered
        The facts of all hosts that answer; ``hosts``: of those among them that take part.
    away
        Why hosts take no part: they do not answer, or the running stage leaves them as they are.
    carrying
        The hosts on which discovery saw OSDs of the cluster.
    files
        What the master's file roots hold below ``ceph/``: each file's place, by its path there.
    generation
        The one that the master serves.
    hardware, unknown
        What each host's machine is; why that is not known of hosts that answer.
    hostnames
        The host names that discovery saw; daemons are named after them.
    held, keys, keys_file
        Hashes of the keys that hosts hold, those of the master's, and where these are.
    links
        Addresses, with prefix length, that a chosen network proposal gives each minion.
    monitors
        The address of each monitor, by name, as ceph.conf shall say it.
    own
        The contents of the site's own files, by path below ``<pillar_root>/ceph``.
    profiles
        Which of them gave minions their layouts, by name.
    salt
        The master's version of Salt.
    took
        Of each host, seconds from the reference until it told its facts for certain.
    """

    roles: Mapping[str, list[str]]
    settings: Mapping[str, object]
    osds: Mapping[str, int]
    generation: str | None = None
    answered: Mapping[str, HostFacts] = field(default_factory=dict)
    hosts: Mapping[str, HostFacts] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    hardware: Mapping[str, Hardware] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, Held] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    away: Mapping[str, str] = field(default_factory=dict)
    carrying: Sequence[str] = ()
    hostnames: Mapping[str, str] = field(default_factory=dict)
    keys: Keys = field(default_factory=Keys)
    keys_file: str = ""
    links: Mapping[str, list[str]] = field(default_factory=dict)
    monitors: Mapping[str, str] = field(default_factory=dict)
    salt: str = ""
    took: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Mapping] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)

    @cached_property
    def site(self) -> SiteSettings:
        """The settings, read: with defaults, and what is wrong with them."""
        return reader.read(self.settings)

    def members(self, *roles: str) -> list[str]:
        """The minions that have any of these roles, sorted."""
        return sorted(minion for minion, has in self.roles.items() if set(has) & set(roles))

    @cached_property
    def stores(self) -> list[str]:
        """The hosts, of all that answer, on which a monitor's store is."""
        return sorted(minion for minion, told in self.answered.items() if told.monitor)

    def first(self) -> bool:
        """Whether a deploy would be the first: no host that answers has a monitor's store."""
        return bool(self.hosts) and not self.stores

    def network(self, key: str) -> addresses.Network | None:
        """A network of the settings; None where it is absent or not one (a check of its own says so)."""
        return addresses.network(self.settings.get(key))

    def hosts_needed(self) -> int:
        """How many storage hosts the redundancy needs: one for each of N replicas, or of K+M parts."""
        return sum(int(part) for part in self.site["redundancy"].split("+"))


def of(
    files: Mapping[str, Mapping],
    settings: Mapping[str, object],
    own: Mapping[str, Mapping],
    profiles: Mapping[str, Profile],
) -> Subject:
    """Return the subject that a choice makes, or a generation that is served, without any host's facts.

    files
        Content by target path (``cluster/ID.sls``, ``stack/default/...``), chosen or served.
    settings
        The site's settings, merged.
    own, profiles
        As ``Subject`` takes them.
    """
    osds = {minion: len(told) for minion, told in adopted.osds(files).items()}
    for minion, planned in chosen.osds(files).items():
        osds[minion] = osds.get(minion, 0) + sum(map(_count, planned.values()))
    links = {minion: assigned_check.addresses(files[minion_file(minion)]) for minion in chosen.networks(files)}
    return Subject(chosen.roles(files), settings, osds, links=links, own=own, profiles=profiles)


def of_prep(pillar: Mapping[str, object], own: Mapping[str, Mapping], files: Mapping[str, str]) -> Subject:
    """Return the subject that prep looks at, before anything is configured: settings of its own alone count.

    pillar
        The master's.
    own, files
        As ``Subject`` takes them.
    """
    settings = {row.key: pillar[row.key] for row in PREP if row.key in pillar}
    return Subject({}, settings, {}, files=files, own={path: own[path] for path in (PLACE, MINIONS) if path in own})


def _count(osd: Mapping) -> int:
    """How many OSDs of a disk a layout names; DeepSea's short form, of one, has no uuids."""
    return len(osd.get("uuids") or [None])
