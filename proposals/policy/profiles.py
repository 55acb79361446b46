"""Which profile gave each host its layout, and which hosts of it other arguments planned than the rest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from proposals.disks.history import Stored
from proposals.files.site import minion_of
from proposals.policy import store
from proposals.text.errors import StoreError


@dataclass(frozen=True, slots=True)
class Profile:
    """The hosts whose layout a profile gave; its stored proposal, or why that cannot be read.

    ``stored`` is None too where there is none: a profile that was written by hand."""

    minions: tuple[str, ...]
    stored: Mapping | None = None
    unread: str = ""

    def kept(self) -> dict[str, list[str]]:
        """Those of its hosts that the last populate did not cover and other arguments planned, by these arguments."""
        if not self.stored:
            return {}
        outside = set(self.stored["hosts"]) - set(self.minions)
        return Stored(self.stored, self.stored["arguments"]).kept(outside)


def chosen(contents: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The minions that each profile gives a layout; ``contents``: the sources of each target of policy.cfg."""
    by_profile: dict[str, list[str]] = {}
    for target, sources in contents.items():
        for folder in (source.partition("/")[0] for source in sources):
            if (minion := minion_of(target)) and folder.startswith("profile-"):
                by_profile.setdefault(folder.removeprefix("profile-"), []).append(minion)
    return {name: sorted(by_profile[name]) for name in sorted(by_profile)}


def read(root: str | Path, minions: Mapping[str, Iterable[str]]) -> dict[str, Profile]:
    """The profiles below ``root`` (the folder ``proposals``) that gave ``minions`` their layouts, by name."""
    profiles = {}
    for name, given in minions.items():
        try:
            profiles[name] = Profile(tuple(given), store.stored_proposal(root, name))
        except StoreError as error:  # nothing is deployed from it: that is a finding, no refusal
            profiles[name] = Profile(tuple(given), unread=str(error))
    return profiles
