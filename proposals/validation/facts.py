"""What one host answered (``host.facts``), read at the edge: a minion is not trusted to keep to the form."""

from collections.abc import Mapping
from dataclasses import dataclass

from proposals.text.errors import InventoryError
from proposals.text.form import has
from proposals.text.names import shown

FORMAT = 1
NUMBER = (int, float)
FORM: Mapping = {
    "hostname": str,
    "nodename": str,
    "salt": str,
    "ceph": {"*": str},
    "generation": (str, type(None)),
    "clock": [NUMBER],
    "synchronised": (bool, type(None)),
    "machine_id": str,
    "serial": str,
    "memory": int,
    "interfaces": {"*": {"mtu": int, "up": bool, "addresses": [str]}},
    "names": {"*": {"expected": str, "addresses": [str], "back": str, "back_addresses": [str]}},
    "space": {"path": str, "free": int, "total": int},
    "blocked": [{"port": int, "network": str, "rule": str, "sure": bool}],
    "listening": [{"port": int, "process": str, "wanted": str}],
    "monitor": bool,
    "monitor_at": [str],
    "monitor_quorum": bool,
    "osds": bool,
}


@dataclass(frozen=True)
class HostFacts:
    """One host. ``nodename`` is its name by the kernel, without domain. Bytes and seconds; ``clock`` is how far ahead
    of the reference it stood, first and last; ``monitor``: whether a monitor's store is there; ``monitor_at``: where it
    listens; ``monitor_quorum``: whether it is in a quorum; ``osds``: whether there are folders of OSDs of this
    cluster."""

    hostname: str
    nodename: str
    salt: str
    ceph: Mapping[str, str]
    generation: str | None
    clock: list[float]
    synchronised: bool | None
    machine_id: str
    serial: str
    memory: int
    interfaces: Mapping[str, Mapping]
    names: Mapping[str, Mapping]
    space: Mapping
    blocked: list[Mapping]
    listening: list[Mapping]
    monitor: bool
    monitor_at: list[str]
    monitor_quorum: bool
    osds: bool


def read(answer: object) -> HostFacts:
    """Return the facts of an answer. Raises InventoryError where it is none."""
    if not isinstance(answer, Mapping):
        raise InventoryError(f"it answered '{shown(answer, 200)}': has ceph.stage.prep given it our modules?")
    if answer.get("format") != FORMAT:
        raise InventoryError(
            f"its facts are of format {shown(answer.get('format'))}, expected {FORMAT}: run prep again"
        )
    wrong = [key for key, form in FORM.items() if not has(answer.get(key), form)]
    if wrong or len(answer["clock"]) != 2:
        raise InventoryError(
            f"its {', '.join(wrong) or 'clock'} is not of the form expected: run ceph.stage.prep again"
        )
    return HostFacts(**{key: answer[key] for key in FORM})
