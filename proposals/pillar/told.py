"""What a host would be told by all layers together, the site's own of a role or minion and templates among them."""

from collections.abc import Mapping

from proposals.pillar import layouts
from proposals.settings import reader
from proposals.settings.kinds import wrong
from proposals.text.names import closest

# Where nothing stands behind the key, Salt's stack puts that in the place of what is planned, or shipped, below it.
PLANNED = ("storage", "network", "tuning")
SHIPPED = ("ceph_os", "ceph_tunings", "ceph_health")
NONE = "none"  # the profile of hosts that get none


def problems(pillar: Mapping) -> list[str]:
    """Return what is wrong with the settings that a host reads as they stand in its pillar, one line each."""
    ceph = pillar["ceph"]
    bare = [f"ceph: {key}" for key in PLANNED if key in ceph and ceph[key] is None]
    bare += [key for key in SHIPPED if key in pillar and pillar[key] is None]
    return [
        *(f"{key} has nothing behind it, and hides what stands there otherwise: take that line out" for key in bare),
        *reader.only("ceph", ceph)[1],
        *(line.lstrip(": ") for line in layouts.of_minion(pillar)),
        *_tuning(ceph.get("tuning"), pillar.get("ceph_tunings")),
        *reader.only("ceph_tunings", pillar.get("ceph_tunings"))[1],
    ]


def _tuning(name: object, table: object) -> list[str]:
    """A profile that there is none of: the host would lose the one that it has."""
    known = [NONE, *table] if isinstance(table, Mapping) else []
    if not isinstance(name, str) or not known or name in known:
        return []
    near = closest(name, known)
    return [wrong("ceph: tuning", name, f"one of {', '.join(known)}") + (f": did you mean '{near}'?" if near else "")]
