"""OSDs of hosts that are gone for good, by the admin's word: what stands against giving them up."""

from collections.abc import Mapping, Sequence

from proposals.cluster import shared_device
from runners.engine.asking import jobs


def against(opts: Mapping, osd_ids: Sequence[int], states: Sequence[Mapping]) -> list[str]:
    """Return why they must not be given up, a line each: they run, or hold what no other OSD has.

    opts
        The master's options.
    osd_ids
        Their numbers.
    states
        ``cluster_osds.states``'s answer.
    """
    if running := sorted(set(osd_ids) & {osd["id"] for osd in states if osd["up"]}):
        return [f"osd.{osd_id} runs: its host is not gone" for osd_id in running]
    if not osd_ids:
        return []
    return shared_device.lost(jobs.cluster(opts, "cluster_osds.at_risk", [list(osd_ids)], list), osd_ids)
