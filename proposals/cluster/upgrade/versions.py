"""Which step from one version of Ceph to another may be taken."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from proposals.text.errors import InventoryError
from proposals.text.names import shown
from proposals.text.notes import counted, several

# docs.ceph.com/en/latest/releases/general: from a release to the next or to the one after it.
STEPS = 2
# docs.ceph.com/en/latest/releases: names of releases, which monitors and the OSD map tell in place of numbers.
RELEASES = ("luminous", "mimic", "nautilus", "octopus", "pacific", "quincy", "reef", "squid", "tentacle")
FIRST = 12  # luminous
WITHOUT_FILESTORE = 18  # docs.ceph.com, rados/operations/bluestore-migration: from Reef on Ceph runs no such OSD
WITHOUT_LEVELDB = 17  # docs.ceph.com, releases/quincy: monitors have to be on RocksDB before
CORE = ("mon", "osd")  # what Ceph looks at where a release is to be required (require-osd-release)
PACKAGE = re.compile(r"(?:\d+:)?(?P<numbers>\d+\.\d+\.\d+)")  # an epoch before it, the distribution's own words after
DAEMON = re.compile(r"ceph version (?P<numbers>\d+\.\d+\.\d+)\S*( \(\S*\))? (?P<name>[a-z]+) \(")


class Version(NamedTuple):
    """A version of Ceph: 16.2.15. Its first number is the release's."""

    release: int
    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.release}.{self.major}.{self.minor}"


class Running(NamedTuple):
    """Daemons of one kind that run one version; ``name`` is its release's."""

    kind: str
    version: Version
    name: str
    daemons: int


def of_package(text: str) -> Version:
    """Return the version of Ceph in a package's, such as ``16.2.15+ds-0+deb12u1``. Raises InventoryError."""
    return _version(PACKAGE.match(text), text)


def running(answer: Mapping[str, Mapping[str, int]]) -> list[Running]:
    """Return what runs, of what ``ceph versions`` prints. Raises InventoryError for a version that is none."""
    found = []
    for kind, counts in sorted(answer.items()):
        for text, count in counts.items() if kind != "overall" else ():
            match = DAEMON.match(text)
            found.append(Running(kind, _version(match, text), match["name"] if match else "", count))
    return found


def number(name: str) -> int:
    """Return the number of a release by its name; one that is not known here is newer than all that are."""
    return FIRST + (RELEASES.index(name) if name in RELEASES else len(RELEASES))


def against(runs: Iterable[Running], target: Version, required: str, under_way: bool) -> list[str]:
    """Return what stands against an upgrade, a line each.

    runs
        The daemons that run now.
    target
        The version that the hosts' packages have then.
    required
        The release that the OSD map requires of its OSDs (``require_osd_release``).
    under_way
        Whether an upgrade of ours has begun: then several versions run.
    """
    runs = list(runs)
    newer = [each for each in runs if each.version > target]
    lines = [f"{_said(each)}, newer than {target}: Ceph knows no way back to an older version" for each in newer]
    far = [each for each in runs if each.version.release + STEPS < target.release]
    lines += [
        f"{_said(each)}: to {target} are {target.release - each.version.release} releases, at most {STEPS} at once: "
        f"upgrade to release {each.version.release + STEPS} or before first"
        for each in far
    ]
    if not far and number(required) + STEPS < target.release:
        lines.append(
            f"the OSD map requires {required} (release {number(required)}) only, too old for {target}: where all OSDs "
            "run a newer one, 'ceph osd require-osd-release' with its name first"
        )
    older = sorted({each.version for each in runs if each.version < target})
    if len(older) > 1 and not under_way:
        lines.append(
            f"several versions run: {'; '.join(map(_said, runs))}: bring them to one first: 'salt-run daemon.pending' "
            "tells who waits for a restart"
        )
    return lines


def stores(counts: Mapping[str, int], leveldb: Sequence[str], target: Version) -> list[str]:
    """Return what stands against an upgrade of daemons with the stores that they have, a line each.

    counts
        How many OSDs have which, as ``ceph osd count-metadata osd_objectstore`` prints it.
    leveldb
        The monitors whose store is a LevelDB.
    """
    lines = []
    if (count := counts.get("filestore", 0)) and target.release >= WITHOUT_FILESTORE:
        lines.append(
            f"{counted(count, 'OSD')} of FileStore, which Ceph {target} does not start: see osd_objectstore in 'ceph "
            "osd metadata'; let them leave first ('salt-run osd.remove', then 'salt-run disk.wipe'), and "
            "ceph.stage.deploy makes new ones"
        )
    if leveldb and target.release >= WITHOUT_LEVELDB:
        lines.append(
            f"{several(leveldb, 'more')}: the store is a LevelDB, with which Ceph {target} starts no monitor: make one "
            "after the other anew first (docs.ceph.com, rados/operations/add-or-rm-mons), which gives it a RocksDB"
        )
    return lines


def older(runs: Iterable[Running], target: Version, kinds: Collection[str] = CORE) -> list[str]:
    """Return the daemons of some kinds that run an older release, as a person reads them."""
    return [_said(each) for each in runs if each.kind in kinds and each.version.release < target.release]


def to_require(runs: Sequence[Running], required: str) -> str:
    """Return the release that the OSD map can require now, as all monitors and OSDs run it; empty where it does, or
    cannot.
    """
    names = {each.name for each in runs if each.kind in CORE}
    osds = [each for each in runs if each.kind == "osd"]
    if len(names) != 1 or not osds or osds[0].version.release <= number(required):
        return ""
    return osds[0].name


def _version(match: re.Match[str] | None, text: str) -> Version:
    if match is None:
        raise InventoryError(
            f"'{shown(text)}' is no version of Ceph: expected three numbers such as 16.2.15; look at 'ceph versions' "
            "and at the hosts' package sources"
        )
    return Version(*map(int, match["numbers"].split(".")))


def _said(each: Running) -> str:
    return f"{counted(each.daemons, each.kind)} on {each.version}"
