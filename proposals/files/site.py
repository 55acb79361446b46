"""Where a site keeps its files, read from a Salt master's options (a mapping; Salt is not imported)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from proposals.text.errors import ProposalError

MINIONS = "stack/default/ceph/minions"  # the pillar of each minion: in a proposal, in policy's targets, when served


@dataclass(frozen=True)
class Site:
    """The folders of docs/reference/files.md. ``root`` is ``<pillar_root>/ceph``."""

    root: Path
    shipped: Path  # pillar/ceph of this product, where stack.cfg comes from

    @property
    def inventory(self) -> Path:
        """What discovery saw: ``ID.json`` a minion."""
        return self.root / "inventory"

    @property
    def proposals(self) -> Path:
        """What populate and discovery write, and ``policy.cfg``."""
        return self.root / "proposals"

    @property
    def generations(self) -> Path:
        """What configure writes: one folder a generation."""
        return self.root / "generations"

    @property
    def current(self) -> Path:
        """The link to the generation that is served."""
        return self.root / "current"

    @property
    def served(self) -> Path:
        """What generations that were served named, and has not left: of it alone anything may be removed."""
        return self.root / "served.json"

    @property
    def purge(self) -> Path:
        """How far a cluster was taken apart; there while that is under way."""
        return self.root / "purge.json"

    @property
    def purged(self) -> Path:
        """What is kept of clusters that were taken apart: a folder each, named by its fsid."""
        return self.root / "purged"

    @property
    def secrets(self) -> Path:
        """What each minion may know: ``ID.yml``, 0600 in 0700."""
        return self.root / "secrets"

    @property
    def keys(self) -> Path:
        """All keys of the cluster, for the master alone."""
        return self.root / "keys" / "keys.json"

    @property
    def earlier(self) -> Path:
        """Hashes of the keys that ``secret.rotate`` replaced: the cluster may hold them still."""
        return self.root / "keys" / "earlier.json"

    @property
    def given(self) -> Path:
        """What the site itself gives and only some minions may know: certificates, passwords, a file each."""
        return self.root / "keys" / "given"


def site(opts: Mapping) -> Site:
    """Return the site of a master: its own pillar root is the first, ours one that holds ``ceph/stack.cfg``.

    Raises ProposalError where the master's configuration lacks either.
    """
    roots = [Path(root) for root in opts.get("pillar_roots", {}).get("base", [])]
    for shipped in roots[1:]:
        if (shipped / "ceph" / "stack.cfg").is_file():
            return Site(roots[0] / "ceph", shipped / "ceph")
    raise ProposalError(
        "the master's pillar_roots do not name this product's pillar folder after the site's own: "
        f"found {[str(root) for root in roots]}; run srv/install again and restart the master"
    )


def minion_file(minion: str) -> str:
    """The path of a minion's pillar below a proposal, or below the generation that is served."""
    return f"{MINIONS}/{minion}.yml"


def minion_of(path: str) -> str | None:
    """The minion whose pillar such a path is, None for any other path."""
    folder, _, name = path.rpartition("/")
    return name.removesuffix(".yml") if folder == MINIONS else None
