"""The policy.cfg that populate proposes where there is none, and the lines that an existing one lacks."""

from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from proposals.disks.plan import DiskPlan
from proposals.files import atomic
from proposals.files.site import minion_file
from proposals.policy import policy, unwritten
from proposals.text.errors import PolicyError

LARGE = 10  # hosts from which five monitors are proposed, else three
# role -> what names of hosts that are meant for it begin with
NAMED = {
    "mds": ("mds",),
    "rgw": ("rgw",),
    "igw": ("igw", "iscsi"),
    "ganesha": ("ganesha", "nfs"),
    "prometheus": ("prometheus", "monitoring"),
    "alertmanager": ("alertmanager", "monitoring"),
    "rbd-mirror": ("rbd-mirror", "rbdmirror"),
}
MASTERS = ("salt", "admin")
WORDS = (*MASTERS, "mon", *(word for words in NAMED.values() for word in words))


def text(root: str | Path, plan: DiskPlan) -> str:
    """The proposed policy.cfg for all hosts that have fragments under ``root``."""
    return "\n".join(["# Chosen by populate, yours to change: one glob a line.", *lines(root, plan)]) + "\n"


def lines(root: str | Path, plan: DiskPlan) -> list[str]:
    """The lines that choose: cluster, roles, config, profile."""
    hosts = _hosts(root)
    storage = {one.host.id for one in plan.hosts if one.plan.osds or one.shape.existing}
    given = roles(hosts, storage)
    chosen = ["cluster-ceph/cluster/*.sls"]
    for role, wanted in given.items():
        chosen += [f"role-{role}/cluster/{name}" for name in _globs(hosts, wanted)]
    chosen += ["config/stack/default/global.yml", "config/stack/default/ceph/cluster.yml"]
    if storage:
        profile = f"profile-{plan.arguments.name}"
        chosen += [f"{profile}/cluster/*.sls", f"{profile}/{minion_file('*')}"]
    return chosen


def lacking(root: str | Path, plan: DiskPlan) -> list[str]:
    """Messages with the cluster, config and profile lines whose files policy.cfg does not choose yet."""
    return missing(root, [line for line in lines(root, plan) if not line.startswith("role-")])


def missing(root: str | Path, wanted: Iterable[str]) -> list[str]:
    """Messages with those of the wanted lines whose files policy.cfg, where there is one, does not choose yet."""
    chosen: set[str] = set()
    path = Path(root) / "policy.cfg"
    for line in policy.parse(atomic.read_text(path)) if path.exists() else ():
        with suppress(PolicyError):  # one that chooses nothing yet: configure tells
            chosen.update(policy.select(root, line))
    left = [line for line in wanted if not chosen.issuperset(unwritten.matching(root, line))]
    sentence = (
        "is yours and stays as it is; it lacks these lines"
        if path.exists()
        else "is not there yet; it will need these lines"
    )
    return [f"policy.cfg {sentence}:", *left] if left else []


def _hosts(root: str | Path) -> list[str]:
    return [
        path.rpartition("/")[2].removesuffix(".sls") for path in unwritten.matching(root, "cluster-ceph/cluster/*.sls")
    ]


def roles(hosts: list[str], storage: set[str]) -> dict[str, list[str]]:
    """The hosts that each role is proposed for; ``storage`` are those that carry OSDs."""
    masters = _beginning(hosts, MASTERS)
    monitors = _monitors(hosts, storage, set(masters))
    given = {"master": masters[:1], "admin": masters, "mon": monitors, "mgr": monitors}
    given |= {role: _beginning(hosts, words) for role, words in NAMED.items()}
    return {role: wanted for role, wanted in given.items() if wanted}


def _monitors(hosts: list[str], storage: set[str], masters: set[str]) -> list[str]:
    """An odd number: the hosts named so, else the first by name, those without OSDs first, never the master."""
    named = [host for host in _beginning(hosts, ("mon",)) if host not in masters and not host.startswith("monitoring")]
    if len(named) >= 3:
        return named[: len(named) - (len(named) + 1) % 2]
    others = sorted((host for host in hosts if host not in masters), key=lambda host: (host in storage, host))
    count = 5 if len(hosts) >= LARGE else 3
    return sorted(others[: count if len(others) >= count else max(1, len(others) - (len(others) + 1) % 2)])


def _beginning(hosts: Iterable[str], words: tuple[str, ...]) -> list[str]:
    return [host for host in hosts if host.startswith(words)]


def _globs(hosts: list[str], wanted: list[str]) -> list[str]:
    """``mon*.sls`` where that matches exactly the wanted hosts, else one file a host."""
    common = wanted[0]
    for host in wanted:
        while not host.startswith(common):
            common = common[:-1]
    stem = common.rstrip("0123456789.-_")
    for start in (*(word for word in WORDS if common.startswith(word)), stem, common):
        if start and [host for host in hosts if fnmatchcase(host, f"{start}*")] == sorted(wanted):
            return [f"{start}*.sls"]
    return [f"{host}.sls" for host in sorted(wanted)]
