"""Steps that lie at another path than before: a site's own file at the old one takes no effect any more."""

from collections.abc import Iterable

from proposals.validation.check import FILES, WARNING, Check, Found, Words, at
from proposals.validation.subject import Subject

_STEPS = {
    "service": """
        alertmanager client-cephfs client-radosgw clients dashboard dashboard-access dashboard-mgr ganesha grafana igw
        iscsi-targets mds node-exporter openstack prometheus rbd-mirror rgw rgw-frontend rgw-users
    """,
    "host": "check networks packages repo sync time tunings updates",
    "cluster": "admin keys mgr mon osd",
}
# Folders below the file root, old: new. CHANGELOG.md lists them for people.
MOVED = {
    "ceph/config": "ceph/cluster/central-config",
    **{f"ceph/{step}": f"ceph/{kind}/{step}" for kind, steps in _STEPS.items() for step in steps.split()},
}
# Folders of steps that are none any more.
GONE = dict.fromkeys(
    ("ceph/health", "ceph/cluster/health"), "the cluster's health is judged by the runner health.after"
)


def now(path: str) -> str | None:
    """Return where a file of a step belongs now (``ceph/mds/init.sls``, ``ceph/mds.sls``); None where it stays."""
    for old, new in MOVED.items():
        if path == f"{old}.sls" or path.startswith(f"{old}/"):
            return new + path.removeprefix(old)
    return None


def moved(subject: Subject) -> Iterable[Found]:
    """A site's own file where a step lay before."""
    for path, file in sorted(subject.files.items()):
        if new := now(path):
            yield at(file=file, new=file.removesuffix(path) + new)


def gone(subject: Subject) -> Iterable[Found]:
    """A site's own file of a step that no stage has any more."""
    for path, file in sorted(subject.files.items()):
        for folder, instead in GONE.items():
            if path == f"{folder}.sls" or path.startswith(f"{folder}/"):
                yield at(file=file, instead=Words(instead))


CHECKS = (
    Check(
        "step_moved",
        WARNING,
        FILES,
        "a step that the site replaces is replaced where it lies now",
        "{file} takes no effect any more: this step's files lie elsewhere",
        "compare it with Halocline's own file, which has changed, and move it to {new}",
        moved,
        "CHANGELOG.md",
    ),
    Check(
        "step_gone",
        WARNING,
        FILES,
        "a step that the site replaces is still one of a stage",
        "{file} takes no effect any more: no stage has this step; {instead}",
        "remove it",
        gone,
        "CHANGELOG.md",
    ),
)
