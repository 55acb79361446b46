"""What the generation that is served plans."""

from proposals.files import tree
from proposals.files.site import MINIONS, Site
from proposals.pillar import chosen


def osds(paths: Site) -> dict[str, dict]:
    """Return each minion's planned OSDs: ``{minion: {data disk: {uuids, db, ...}}}``; a minion may have other tasks."""
    files = (paths.current / MINIONS).glob("*.yml")
    return chosen.osds({f"{MINIONS}/{path.name}": tree.read_yaml(path) for path in files})
