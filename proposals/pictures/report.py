"""``osd.report`` as a picture: every planned OSD of a host, and what is not as planned."""

from collections.abc import Iterable, Mapping, Sequence

from proposals.cluster import report
from proposals.pictures import drawing
from proposals.pictures.drawing import Box, Picture, Row
from proposals.text.notes import counted

LEGEND = (("good", "+", "as planned"), ("bad", "!", "not as planned: why is beside it"))


def picture(osds: Sequence[Mapping], messages: Sequence[str] = ()) -> Picture:
    """The picture of ``osds``, lines of ``cluster.report.report``; ``messages`` are of hosts that did not answer."""
    by_host: dict[str, list[Mapping]] = {}
    for osd in osds:
        by_host.setdefault(osd["host"], []).append(osd)
    hosts = {name: (name, lambda told=told: (_counted(told), tuple(_rows(told)))) for name, told in by_host.items()}
    groups = drawing.grouped(hosts)
    return Picture("OSDs and their plan", _counted(osds), tuple(messages), drawing.legend(LEGEND), groups)


def _counted(osds: Sequence[Mapping]) -> str:
    good = sum(not osd["problems"] for osd in osds)
    return f"{good} of {counted(len(osds), 'OSD')} as planned"


def _rows(osds: Iterable[Mapping]) -> Iterable[Row]:
    good = tuple(Box("good", "+", report.text(osd)) for osd in osds if not osd["problems"])
    if good:
        yield Row((), good, counted(len(good), "OSD"))
    for osd in osds:
        if osd["problems"]:
            yield Row((), (Box("bad", "!", report.text(osd)),), report.text(osd))
