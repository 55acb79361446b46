"""The master's backup, from its folders to an archive that was read back."""

import datetime
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import salt.utils.network

from proposals.files import packing, pruning, unpacking
from proposals.files import site as sites
from proposals.files.packing import Looked
from proposals.pillar import backup, key_store
from proposals.text.errors import ArgumentError, ProposalError, StoreError
from runners.engine.asking import minions
from runners.engine.master import age

SUFFIX = ".tar.gz.age"
TIME = f"{'[0-9]' * 8}T{'[0-9]' * 6}"  # as a glob: another master's name may begin with this one's


class Written(NamedTuple):
    """An archive: its path, bytes and hash, and the older ones that went."""

    path: Path
    size: int
    sha256: str
    removed: list[Path]


def here(opts: Mapping) -> backup.Here:
    """Return where this master keeps what a backup holds.

    opts
        The master's options.
    """
    paths = sites.site(opts)
    home = paths.shipped.parent.parent
    roots = map(Path, [*opts["file_roots"]["base"], *opts["pillar_roots"]["base"][1:]])
    own = [root for root in roots if not root.is_relative_to(home)]
    kept = backup.folders(paths, Path(opts["conf_file"]).parent, Path(opts["pki_dir"]), own)
    accepted, ports = Path(opts["pki_dir"]) / "minions", [opts["ret_port"], opts["publish_port"]]
    return backup.Here(opts["id"], kept, str(paths.shipped), accepted, ports)


def look(places: backup.Here) -> Looked:
    """Return what a backup of this master would hold now, without what leads into the product's own tree."""
    found = packing.look(places.folders, [places.product])
    home = Path(places.product).parent.parent
    ours = [path for path in found.left_out if Path(path).is_symlink() and Path(path).readlink().is_relative_to(home)]
    return Looked(found.entries, [path for path in found.left_out if path not in ours])


def folder(path: str, places: backup.Here) -> Path:
    """Return the folder that archives go into. Raises ArgumentError where it is none, or one of those packed."""
    where = Path(path)
    if not where.is_absolute() or not where.is_dir():
        raise ArgumentError(
            f"folder={path} is no folder of the master: make it or mount it, best on another host's disks"
        )
    if packed := [each.path for each in places.folders.values() if where.resolve().is_relative_to(each.path.resolve())]:
        raise ArgumentError(f"folder={path} lies in {packed[0]}, which is packed itself: choose another one")
    return where


def write(opts: Mapping, found: Looked, places: backup.Here, words: list[str], where: Path, keep: int) -> Written:
    """Write an archive, read it back, and remove all but the newest ones. Raises ProposalError: then there is none.

    found
        What ``look`` saw.
    words
        To whom age encrypts.
    where
        The archives' folder.
    keep
        How many of this master's archives are kept.
    """
    now = datetime.datetime.now().astimezone()
    text = json.dumps(
        backup.manifest(places, now.isoformat(timespec="seconds"), cluster(opts, found), own(), found.entries)
    )
    name = f"halocline-{places.master.removesuffix('_master')}-{{}}{SUFFIX}"
    path, any_time = where / name.format(f"{now:%Y%m%dT%H%M%S}"), name.format(TIME)
    draft = path.with_name(f".{path.name}.part")
    for killed in where.glob(f".{any_time}.part"):
        killed.unlink()
    private, once = age.once()
    try:
        with age.encrypted([*words, *once], draft) as stream:
            packing.pack(stream, text, found.entries, places.folders)
        with age.decrypted([], draft, private) as stream:
            unpacking.read(stream, lambda manifest: list(backup.check(manifest, places).entries))
        if _timeless(look(places)) != _timeless(found):
            raise StoreError("the master's files changed while they were packed: run this again")
        with draft.open("rb") as file:
            size, digest = draft.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()
        draft.replace(path)
    except OSError as err:
        raise StoreError(f"{path} cannot be written: {err.strerror}") from err
    finally:
        draft.unlink(missing_ok=True)
    older = [each for each in where.glob(any_time) if each != path]  # whatever a wrong clock gave them as time
    return Written(path, size, digest, pruning.prune(older, keep - 1))


def cluster(opts: Mapping, found: Looked) -> dict[str, str]:
    """Return the fsid of the cluster that is served, and its monitors as Ceph takes them; empty where there is none.

    Raises ProposalError where the master, or what ``look`` saw, lacks what a restore would ask them with.
    """
    paths = sites.site(opts)
    if not (paths.current / "stack/default/ceph/derived.yml").exists():
        return {"fsid": "", "mon_host": ""}
    told = minions.pillar(opts)  # as ceph.conf has it: the site's own files have the last word
    if not told.get("fsid") or not told["ceph"].get("mon_host"):
        raise ProposalError("the master's pillar names no fsid or no monitor: run ceph.stage.configure, then this")
    if not key_store.kept(paths.keys).get("mon."):
        raise ProposalError(
            f"{paths.keys} has no key of the monitors of cluster {told['fsid']}: such an archive would bring no master "
            "back; put the file back from an older one, as root only, then run this again"
        )
    if not any(entry.path == backup.KEYS for entry in found.entries):
        raise ProposalError(
            f"{paths.keys} lies behind a link, which no archive follows: such an archive would bring no master back; "
            "mount in place of the link what it leads to ('mount --bind'), then run this again"
        )
    return {"fsid": str(told["fsid"]), "mon_host": str(told["ceph"]["mon_host"])}


def own() -> list[str]:
    """Return this host's addresses, by which another master asks whether this one still answers."""
    return sorted({*salt.utils.network.ip_addrs(), *salt.utils.network.ip_addrs6()})


def _timeless(looked: Looked) -> list:
    return [entry.timeless() for entry in looked.entries]
