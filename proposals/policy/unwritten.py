"""Fragments that no file holds: where hosts are many, one file names hosts and folders in place of a file for each.

Salt lists every file below its pillar roots, also those that a link leads to, for each pillar that it compiles
(salt/fileclient.py: PillarClient.file_list; in 3008.3 ``file_ignore_glob`` does not end that): 20 files a host would
make each of a thousand pillars twice as dear. Lines of policy.cfg match what is named as they match files, and a file
that lies there counts in its place.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from glob import has_magic
from pathlib import Path
from typing import Any

from proposals.files import atomic, tree
from proposals.files.documents import parse_yaml
from proposals.text.errors import PolicyError
from proposals.text.names import check_minion_id, is_minion_id, shown

NAME = "fragments.yml"
MANY = 200  # hosts above which no further file for each is written: pillars then cost a third more
FOLDER = "cluster"  # in a proposal: who is what
ROLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
HEAD = """\
# Hosts are many: each of these hosts has the file cluster/ID.sls in each of these folders, though none lies there.
# Lines of policy.cfg match it as they do files. To say something else of a host, write that file: it counts.
"""


@dataclass(frozen=True)
class Named:
    """The folders and the hosts, each sorted."""

    folders: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()

    @cached_property
    def known(self) -> frozenset[str]:
        """The hosts, to look one up."""
        return frozenset(self.hosts)


def read(root: str | Path) -> Named:
    """What is named under ``root``, the folder ``proposals``. Raises PolicyError where it cannot be understood."""
    path = Path(root) / NAME
    return _parsed(atomic.read_text(path), str(path)) if path.is_file() else Named()


@lru_cache(maxsize=4)
def _parsed(text: str, path: str) -> Named:
    found = parse_yaml(text, path)
    if not isinstance(found, dict) or {key: type(each) for key, each in found.items()} != dict.fromkeys(KINDS, list):
        raise PolicyError(
            f"{path}: 'folders' and 'hosts', a list each, were expected; discovery writes it anew without it"
        )
    for key, is_one in KINDS.items():
        if odd := [each for each in found[key] if not (isinstance(each, str) and is_one(each))]:
            raise PolicyError(f"{path}: {key}: '{shown(odd[0])}' is none (cluster-ceph, role-mon …; ids of minions)")
    return Named(*(tuple(sorted(set(found[key]))) for key in KINDS))


def content(folder: str) -> str | None:
    """The text of each file in such a folder; None where that is no folder of roles or clusters."""
    kind, _, what = folder.partition("-")
    return {"cluster": f"cluster: {what}\n", "role": f"roles:\n- {what}\n"}.get(kind) if ROLE.fullmatch(what) else None


KINDS: Mapping[str, Callable[[str], Any]] = {"folders": content, "hosts": is_minion_id}


def folders(root: str | Path) -> list[str]:
    """Names of the folders in ``root``, also of those that are named alone."""
    return sorted({*tree.folders(root), *read(root).folders})


def matching(root: str | Path, pattern: str) -> list[str]:
    """What the glob ``pattern`` matches in folders of ``root``, files and what is named, as sorted relative paths."""
    return sorted({*tree.matching(root, pattern), *named_matching(read(root), pattern)})


def named_matching(named: Named, pattern: str) -> list[str]:
    """The paths of what is named that a glob matches."""
    parts = pattern.split("/")
    if len(parts) != 3 or not fnmatchcase(FOLDER, parts[1]):
        return []
    folders = [folder for folder in named.folders if fnmatchcase(folder, parts[0])]
    if has_magic(parts[2]):
        hosts = [f"{host}.sls" for host in named.hosts if fnmatchcase(f"{host}.sls", parts[2])] if folders else []
    else:  # one host: a policy.cfg may have a line for each
        hosts = [parts[2]] if parts[2].endswith(".sls") and parts[2].removesuffix(".sls") in named.known else []
    return [f"{folder}/{FOLDER}/{host}" for folder in folders for host in hosts]


def text(root: str | Path, path: str, named: Named) -> str:
    """The text of a path that ``matching`` returned; ``named``: what is named there, read once for all of them.

    Raises StoreError where a file cannot be read."""
    folder = path.partition("/")[0]
    if folder in named.folders and Path(path).stem in named.known and not (Path(root) / path).exists():
        return content(folder) or ""
    return atomic.read_text(Path(root) / path)


def wanted(root: str | Path, hosts: Collection[str]) -> bool:
    """Whether hosts are named rather than written: where they are many, and where some are named already."""
    return len(hosts) > MANY or (Path(root) / NAME).is_file()


def name(root: str | Path, hosts: Collection[str], wanted: Collection[str]) -> None:
    """Name hosts and folders beside those that are named; files that say no more than that go. Raises StoreError.

    CLI: ``salt-run state.orch ceph.stage.discovery``"""
    before = read(root)
    every = Named(
        tuple(sorted({*before.folders, *wanted})), tuple(sorted({*before.hosts, *map(check_minion_id, hosts)}))
    )
    if every != before:
        lists = ((key, [json.dumps(each) for each in getattr(every, key)]) for key in ("folders", "hosts"))
        atomic.write(Path(root) / NAME, HEAD + "".join(f"{key}:\n- " + "\n- ".join(each) + "\n" for key, each in lists))
    for folder in every.folders:
        for path in (Path(root) / folder / FOLDER).glob("*.sls"):
            if path.stem in every.known and atomic.read_text(path) in ("", content(folder)):
                atomic.remove(path)
