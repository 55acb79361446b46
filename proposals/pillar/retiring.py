"""A cluster that was taken apart: what the master served and kept of it is laid aside, and another may be made.

What lies below ``<pillar_root>/ceph/purged/FSID`` nobody serves and no key of it is given to anybody. Every move is one
step; interrupted, the next run moves the rest.
"""

from collections.abc import Mapping

from proposals.cluster.purge import record
from proposals.files import atomic, tree
from proposals.files.site import Site

CONFIG = "config/stack/default/ceph/cluster.yml"  # below proposals: discovery wrote its fsid
ADOPTED = "adopted"  # below proposals: what ceph.adopt found of it
RECORD = "purge.json"  # in the folder of a cluster that is gone
LAYER = "stack/ceph/cluster.yml"  # the site's own


def fsids(site: Site) -> set[str]:
    """Return the clusters that were taken apart, and those beside them: none is the next one. Raises StoreError."""
    paths = [site.purged / name / RECORD for name in tree.folders(site.purged)] if site.purged.is_dir() else []
    records = [record.read(atomic.read_text(path), str(path)) for path in paths if path.exists()]
    return {fsid for each in records for fsid in (each.fsid, *each.others)}


def archive(site: Site, fsid: str, fresh: str) -> None:
    """Lay a cluster's generations, secrets, keys and adopted records aside, for root alone, and give the next one
    another fsid.

    site
        The master's.
    fsid
        Of the cluster that is gone.
    fresh
        Of the one that may follow.

    The site's own files stay: policy.cfg, profiles, its layer, what it gives. Raises StoreError.
    """
    folder = site.purged / fsid
    atomic.close_folder(site.purged)
    atomic.close_folder(folder)
    atomic.close_folder(folder / "keys")
    for link in (site.root / "cluster", site.root / "stack" / "default", site.current):
        if link.is_symlink():
            atomic.remove(link)
    moved = {site.generations: "generations", site.secrets: "secrets", site.served: "served.json"}
    moved |= {site.keys: "keys/keys.json", site.earlier: "keys/earlier.json", site.proposals / ADOPTED: ADOPTED}
    for path, name in moved.items():
        atomic.move(path, folder / name)
    config = site.proposals / CONFIG
    if config.exists() and fsid in (text := atomic.read_text(config)):
        atomic.write(config, text.replace(fsid, fresh))


def served_fsid(site: Site, told: Mapping) -> str | None:
    """Return the fsid of the cluster that is served; None where nothing is.

    told
        The master's own pillar.
    """
    return str(told.get("fsid")) if site.current.exists() else None


def kept(site: Site, fsid: str) -> list[str]:
    """Return what the site itself has of a cluster that is gone, and that stands against another one, a line each."""
    layer, lines = site.root / LAYER, []
    if layer.exists() and fsid in atomic.read_text(layer):
        lines += [f"{layer} names the fsid {fsid} still: give the next cluster another one there, or take the line out"]
    if (site.purged / fsid / ADOPTED).is_dir():
        lines += [f"what was adopted of it is laid aside too: take the lines of {ADOPTED}/ out of policy.cfg"]
    return lines
