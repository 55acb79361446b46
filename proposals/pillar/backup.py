"""What a backup of the master holds, and whether one may be restored here. Nothing here opens a file or asks anybody.

A backup is what nobody can make again: keys, what was decided (proposals, policy.cfg, the site's files), what was
served and the keys by which minions and master know each other. Not in it: this product's own tree, what stages make.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from proposals.files import entries
from proposals.files.entries import Entry
from proposals.files.packing import Folder
from proposals.files.placing import State
from proposals.files.site import Site
from proposals.pillar import held
from proposals.text.errors import PolicyError, StoreError
from proposals.text.names import shown

FORMAT = 1
KEY = "halocline_backup"  # of a manifest: its format
PILLAR, PKI, ROOTS = "pillar", "pki", "roots"
SITE = f"{PILLAR}/ceph"
KEYS, EARLIER = f"{SITE}/keys/keys.json", f"{SITE}/keys/earlier.json"
DROP_IN = "zz-halocline.conf"  # the installer's own
BY_HAND = (DROP_IN, "halocline.conf")  # of a master, also where somebody put ours in place as it is shipped
SALT = ("master", "minion", "minion_id", "grains")
TEXTS = {"made": str, "master": str, "fsid": str, "mon_host": str}


@dataclass(frozen=True)
class Here:
    """A master's places: its own id, the folders of a backup by name, the product's, which links may lead into too.

    ``accepted`` is the folder of the minions' keys that it has accepted, ``ports`` where it takes connections.
    """

    master: str
    folders: Mapping[str, Folder]
    product: str
    accepted: Path
    ports: Sequence[int] = ()

    @property
    def links(self) -> list[str]:
        """The folders that a link may lead into."""
        return [*(str(folder.path) for folder in self.folders.values()), self.product]


@dataclass(frozen=True)
class Backup:
    """A manifest that was checked. ``addresses`` and ``ports`` are those where its master answered."""

    made: str
    master: str
    fsid: str
    mon_host: str
    addresses: Sequence[str]
    ports: Sequence[int]
    entries: Sequence[Entry]


@dataclass(frozen=True)
class Judged:
    """What stands against restoring, and what will not be brought back though the archive has it; ``asked``: whether
    a monitor said so."""

    against: Sequence[str]
    revoked: Sequence[str] = ()
    newer: Sequence[str] = ()
    asked: bool = True


def folders(site: Site, config: Path, pki: Path, roots: Sequence[Path]) -> dict[str, Folder]:
    """Return what goes into a backup, in the order in which it is restored: the site's pillar, with the keys, is last.

    site
        The master's.
    config, pki
        Salt's configuration folder, and the master's pki_dir; the same host's minion's and the page's lie beside it.
    roots
        The site's own file roots, and its further pillar roots.
    """

    def drop_ins(*ours: str) -> Callable[[str], bool]:
        return lambda name: name.endswith(".conf") and name not in ours and not name.startswith("_")

    return {
        "salt": Folder(config, SALT.__contains__),
        "master.d": Folder(config / "master.d", drop_ins(*BY_HAND)),
        # Its halocline.conf names the master, where the line of minions.invite made this host a minion.
        "minion.d": Folder(config / "minion.d", drop_ins(DROP_IN)),
        "ceph": Folder(Path("/etc/ceph")),
        **{f"{ROOTS}-{number}": Folder(path) for number, path in enumerate(roots)},
        PKI: Folder(pki.parent, (pki.name, "minion", "page").__contains__),
        PILLAR: Folder(site.root.parent),
    }


def manifest(here: Here, made: str, cluster: Mapping[str, str], addresses: Sequence[str], found: list[Entry]) -> dict:
    """Return the manifest of a backup.

    here
        The master's places.
    made
        When, as text.
    cluster
        Its ``fsid`` and ``mon_host``; both empty where nothing is configured.
    addresses
        The master's.
    found
        What is in it.
    """
    return {
        KEY: FORMAT,
        "made": made,
        "master": here.master,
        **cluster,
        "addresses": list(addresses),
        "ports": list(here.ports),
        "folders": {name: str(folder.path) for name, folder in here.folders.items()},
        "product": here.product,
        "entries": [
            {key: value for key, value in asdict(entry).items() if value or key in ("path", "kind")} for entry in found
        ],
    }


def check(manifest: Any, here: Here) -> Backup:
    """Return a manifest's backup, where it can be restored on this master. Raises StoreError, PolicyError.

    manifest
        As it was read.
    here
        This master's places: an archive does not choose where it is written.
    """
    if not isinstance(manifest, Mapping) or type(manifest.get(KEY)) is not int:
        raise StoreError("it has no manifest of ours: this is no backup that master.backup made")
    if manifest[KEY] > FORMAT:
        raise StoreError(
            f"it is of format {manifest[KEY]}, and this Halocline reads up to {FORMAT}: install the version that made "
            "it, or a newer one"
        )
    lists = (("addresses", str), ("ports", int))
    if not all(type(manifest.get(key)) is kind for key, kind in TEXTS.items()) or not all(
        isinstance(manifest.get(key), list) and all(type(each) is kind for each in manifest[key]) for key, kind in lists
    ):
        raise StoreError("its manifest lacks what every backup has: this is no backup that master.backup made")
    if manifest["master"] != here.master:
        raise PolicyError(
            f"it is of the master {shown(manifest['master'])}, and this one is {here.master}: what is served is named "
            "after it; give this host the old one's name, or set 'id' in Salt's master.d, and run this again"
        )
    own = {name: str(folder.path) for name, folder in here.folders.items()} | {"product": here.product}
    theirs = {**_mapping(manifest.get("folders")), "product": manifest.get("product")}
    if other := sorted(name for name in own.keys() | theirs.keys() if own.get(name) != theirs.get(name)):
        told = "; ".join(
            f"{shown(name)}: {shown(theirs.get(name, 'none'), 200)} there, {own.get(name, 'none')} here"
            for name in other
        )
        raise PolicyError(
            f"the old master kept its files elsewhere ({told}): give this one the same file_roots, pillar_roots and "
            "pki_dir in Salt's master.d, run srv/install again, then this"
        )
    found = entries.check(manifest.get("entries"), own.keys() - {"product"}, here.links)
    return Backup(**{key: manifest[key] for key in (*TEXTS, *dict(lists))}, entries=found)


def replaced(states: Mapping[str, State], accepted: Collection[str], backup: Backup, here: Here) -> list[str]:
    """Return the units that are to be put in place, in order. Raises PolicyError where this master is no fresh one.

    states
        What lies at each unit's place.
    accepted
        The minions whose keys this master has accepted.
    """
    own = [
        unit
        for unit, state in states.items()
        if state is State.OTHER and unit.split("/")[0].startswith((PILLAR, ROOTS))
    ]
    if own:
        paths = [str(here.folders[name].path / first) for name, _, first in (unit.partition("/") for unit in own)]
        raise PolicyError(
            f"this master has its own {', '.join(paths[:5])}, which the archive has otherwise: restore onto a fresh "
            "master, or move them away first"
        )
    prefix = f"{PKI}/{here.accepted.parent.name}/{here.accepted.name}/"
    known = {entry.path.removeprefix(prefix) for entry in backup.entries}
    if strange := sorted(set(accepted) - known):
        raise PolicyError(
            f"this master has accepted {', '.join(strange[:5])}, which the archive does not know: restore onto a fresh "
            "master, or take these keys away first (salt-key -d)"
        )
    # The keys last: without those that were revoked since, they are other ones than the archive's from then on.
    wanted = [unit for unit, state in states.items() if state is not State.SAME]
    return sorted(wanted, key=lambda unit: unit == SITE)


def judge(backup: Backup, keys: held.Keys, told: Mapping[str, Any]) -> Judged:
    """Return what the monitors say of an archive.

    keys
        The archive's, by hash.
    told
        What monitors answered: ``fsid``, and ``keys`` by entity, as hashes.
    """
    if told["fsid"] != backup.fsid:
        return Judged([f"it is of the cluster {backup.fsid}, and the monitors are of {shown(told['fsid'])}"])
    answered = told["keys"]
    strange = held.against(keys, {backup.master: {held.MONITORS: answered}})
    against = [
        f"{each.entity}: the monitors have another key than the archive: it is older than that key, take a newer one"
        if not each.lacks
        else f"{each.entity}: the monitors have its key and the archive has none: it is not whole, take another one"
        for each in strange
    ]
    revoked = sorted(keys.known.keys() - answered.keys() - set(held.CORE))
    others = answered.keys() - keys.known.keys()
    newer = sorted(each for each in others if each.startswith("client.") and not each.startswith(held.BOOTSTRAP))
    return Judged(against, revoked, newer)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
