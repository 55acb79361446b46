"""What the generation that is served plans, and on which minion an OSD lives."""

from collections.abc import Mapping
from typing import Any

from proposals.files import tree
from proposals.files.site import MINIONS, Site, site
from proposals.pillar import adopted, chosen
from proposals.text.errors import ProposalError
from runners.engine.asking import minions


def osds(paths: Site) -> dict[str, dict]:
    """Return each minion's planned OSDs: ``{minion: {data disk: {uuids, db, ...}}}``; a minion may have other tasks."""
    return chosen.osds(_files(paths))


def adopted_osds(paths: Site) -> dict[str, dict[str, Mapping]]:
    """Return the OSDs of each minion that were adopted: ``{minion: {fsid: {id, form, devices}}}``."""
    return adopted.osds(_files(paths))


def proposed_adopted(paths: Site) -> dict[str, dict[str, Mapping]]:
    """Return the same of what ``ceph.adopt`` wrote, whether it is served or not."""
    folder = paths.proposals / "adopted" / MINIONS
    return adopted.osds({f"{MINIONS}/{path.name}": tree.read_yaml(path) for path in sorted(folder.glob("*.yml"))})


def _files(paths: Site) -> dict[str, Mapping]:
    """What is served of single minions, by target path."""
    return {f"{MINIONS}/{path.name}": tree.read_yaml(path) for path in (paths.current / MINIONS).glob("*.yml")}


def disks(paths: Site, minion: str) -> Mapping[str, Mapping]:
    """Return the size and serial of each disk that a minion's layout names: ``{id: {size, serial}}``."""
    path = paths.current / MINIONS / f"{minion}.yml"
    return chosen.recorded(tree.read_yaml(path)) if path.exists() else {}


def minion_of(opts: Mapping, osd: Mapping[str, Any]) -> str:
    """Return the minion on whose host an OSD of ``cluster_osds.states`` lives, by the host name that discovery saw.

    Of several with that name it is the one that has OSDs. Raises ProposalError where that is not one.
    """
    named = {minion for minion, host in minions.seen(opts)["hosts"].items() if host.get("hostname") == osd["host"]}
    having = named & {*osds(site(opts)), *adopted_osds(site(opts))} or named
    if len(having) != 1:
        raise ProposalError(
            f"osd.{osd['id']} lies below host '{osd['host']}' in the CRUSH map, which is the name of {len(having)} "
            "minions that discovery saw: expected one; run ceph.stage.discovery with that host up"
        )
    return having.pop()
