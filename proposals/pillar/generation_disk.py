"""A generation on disk: written beside the one that is served, then served by swapping one link.

``<pillar_root>/ceph/current`` is that link; Salt's ``stack`` reads through it (srv/master.d). Files are written by
``files.atomic``; here are only links and their order.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from proposals.files import atomic, pruning, tree
from proposals.files.site import Site
from proposals.pillar import key_store, secrets
from proposals.pillar.chosen import given
from proposals.pillar.generation import Generation, dump_secrets
from proposals.policy import merging
from proposals.text.errors import StoreError

KEPT, FEWEST = 20, 1  # generations, beside the one that is served
FILES = 1000  # of those; Salt lists every file below a pillar root for each pillar it compiles (fileclient.py)
LINKS = ("secrets", "stack/ceph", "site")  # of a generation, to folders with a file for each host
ANY_KEY: Mapping[str, str] = defaultdict(str)  # to ask who is told something at all


def obstacles(site: Site) -> list[str]:
    """Return what lies where links to the served generation belong, a line each: what DeepSea left there, say."""
    there = [link for link in _places(site) if link.exists() and not link.is_symlink()]
    return [
        f"{path} is no link of ours, but what another tool left: move it aside (mv {path} {path}.old)" for path in there
    ]


def _places(site: Site) -> dict[Path, Path]:
    """The links that are served, and where each leads; two of them are what DeepSea's users look for, at its place."""
    return {
        site.root / "cluster": site.current / "cluster",
        site.root / "stack" / "default": site.current / "stack" / "default",
    }


def prepare(site: Site, generation: Generation) -> Path:
    """Write a generation beside the others, with the links that make it whole; return its folder.

    Written before, it is left as it is: its name is its content's (``mend``).
    """
    folder = site.generations / generation.name
    if not folder.is_dir():
        atomic.write_tree(folder, generation.files)
    for name in ("assignment.cfg", "stack.cfg"):
        _link(folder / name, site.shipped / name)
    # The last is for the site's own global.yml, which may come and go.
    for name, target in zip(LINKS, (site.secrets, site.root / "stack" / "ceph", site.root / "stack"), strict=True):
        _link(folder / name, target)
    return folder


def mend(folder: Path, generation: Generation) -> list[str]:
    """Write anew each file of a prepared generation that is not as it says: a dying disk, or somebody, changed it.

    Return their paths.
    """
    changed = odd(folder, generation)
    atomic.write_many(folder, {path: generation.files[path] for path in changed})
    return changed


def odd(folder: Path, generation: Generation) -> list[str]:
    """Return the paths of the files of a prepared generation that are not as it says."""
    return sorted(path for path, text in generation.files.items() if not _holds(folder / path, text))


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and atomic.read_text(path) == text


def serve(site: Site, folder: Path) -> bool:
    """Serve a prepared generation; True where another one was served until now. Raises StoreError."""
    for link, target in _places(site).items():  # first: where one is refused, what was served still is
        _link(link, target)
    return _link(site.current, folder)


def kept(generation: Generation) -> int:
    """How many generations are kept beside one: fewer where they have many files."""
    return max(FEWEST, min(KEPT, FILES // max(1, len(generation.files))))


def prune(site: Site, keep: int = KEPT) -> list[str]:
    """Remove the oldest generations but never the one that is served; return the names of those that went. What killed
    runs left half written goes too: no other one may run.

    Those that stay lose the links by which Salt would list each host's secrets once more; ``prepare`` makes them anew.
    """
    served = site.current.resolve()
    old = [folder for folder in site.generations.glob("[!.]*") if folder.resolve() != served]
    for folder in old:  # first: by that, the one that was served last has changed last
        for name in LINKS:
            atomic.remove(folder / name)
    pruning.prune(site.generations.glob(".*"), 0)
    return [folder.name for folder in pruning.prune(old, keep)]


def _link(link: Path, target: Path) -> bool:
    """Point a link at its target; True where it did not already."""
    if link.is_symlink() and link.readlink() == target:
        return False
    atomic.swap_link(link, target)
    return True


def tell(site: Site, generation: Generation, hosts: Collection[str] | None = None) -> list[str]:
    """Make the keys that are missing, write each minion's own; return the files that changed. What is known stays, also
    what the generation that is served may use alone: ``forget`` takes that away.

    hosts
        The minions that are told anything new; None for all.
    """
    for folder in (site.keys.parent, site.given, site.secrets):
        atomic.close_folder(folder)
    existing = key_store.kept(site.keys)
    passwords = generation.services.whole.passwords - given(site)
    keys = secrets.keys(existing, generation.entities, passwords, generation.cipher)
    if keys != existing:
        atomic.write(site.keys, json.dumps(keys, indent=1), mode=0o600)
    written = []
    for name, content in _told(site, generation, hosts).items():
        path = site.secrets / name
        uses = merging.merge([tree.mapping(path).get("ceph_secrets") or {}, content["ceph_secrets"]])
        both = {**content, "ceph_secrets": uses}
        if _differs(path, content) and _differs(path, both):
            atomic.write(path, dump_secrets(both), mode=0o600)
            written.append(name)
    return written


class _Texts(dict[str, str]):
    """Keys and the site's own files by name. One that is no UTF-8 raises StoreError where a host is to know it: Salt
    could not read that host's pillar."""

    def __init__(self, site: Site) -> None:
        """Files are without a trailing newline."""
        super().__init__(key_store.kept(site.keys))
        self.folder = site.given
        self.update({name: atomic.read_text(site.given / name).rstrip("\n") for name in given(site)})

    def __getitem__(self, name: str) -> str:
        text = super().__getitem__(name)
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            path = self.folder / name
            raise StoreError(
                f"{path}: UTF-8 text was expected (of a certificate PEM), and other bytes were found: write it anew, "
                f"such as by 'iconv -f latin1 -t utf-8', or take it away, then run this again; no host's pillar changed"
            )
        return text


def forget(site: Site, generation: Generation, hosts: Collection[str] | None = None) -> list[str]:
    """Take away the secrets that a served generation does not give; return the files that went, or hold less.

    hosts
        As for ``tell``.
    """
    told, gone = _told(site, generation, hosts), []
    for path in site.secrets.glob("*.yml"):
        if path.name in told and _differs(path, told[path.name]):
            atomic.write(path, dump_secrets(told[path.name]), mode=0o600)
        elif path.name not in told and _of(path.name, hosts):
            atomic.remove(path)
        else:
            continue
        gone.append(path.name)
    return gone


def _told(site: Site, generation: Generation, hosts: Collection[str] | None) -> dict[str, dict]:
    """What each of some minions may know, by file."""
    told = _secrets(generation, _Texts(site), key_store.kept(site.earlier))
    return {name: content for name, content in told.items() if _of(name, hosts)}


def _secrets(generation: Generation, keys: Mapping[str, str], earlier: Mapping[str, Sequence[str]]) -> dict[str, dict]:
    """The file of each minion that may know something; who gives the cluster keys learns which ones may be replaced."""
    contents = {}
    for minion in generation.roles:
        uses = generation.secrets(minion, keys)
        gives = {"ceph_earlier_keys": dict(earlier)} if earlier and uses.keys() & {"mon", "register"} else {}
        if uses:
            contents[f"{minion}.yml"] = {"ceph_secrets": uses, **gives}
    return contents


def _of(name: str, hosts: Collection[str] | None) -> bool:
    """Whether a file of secrets is that of one of some minions."""
    return hosts is None or name.removesuffix(".yml") in hosts


def _differs(path: Path, content: Mapping) -> bool:
    return not path.exists() or atomic.read_text(path) != dump_secrets(content)
