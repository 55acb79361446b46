"""What hosts tell of Ceph's packages and of the daemons that run from older ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proposals.text import notes
from proposals.text.errors import InventoryError
from proposals.text.names import shown

MAIN = "ceph-common"  # on every host with anything of Ceph's; all of a host's packages ask for its very version


@dataclass(frozen=True)
class Host:
    """A host with Ceph's packages.

    name
        Its host name, as CRUSH and the monitors have it.
    packages
        By name: the version that is installed, and that its sources have.
    daemons
        By name (``osd.3``, ``client.rgw.node1``, a unit's name for gateways that are no daemons of Ceph's): its kind,
        and whether it runs from files that were replaced since it began.
    leveldb
        Its monitors whose store is a LevelDB.
    """

    name: str
    packages: Mapping[str, tuple[str, str]]
    daemons: Mapping[str, tuple[str, bool]]
    leveldb: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The version that is installed."""
        return self.packages[MAIN][0]

    @property
    def next(self) -> str:
        """The version that its sources have."""
        return self.packages[MAIN][1]

    @property
    def newer(self) -> dict[str, str]:
        """The packages that its sources have newer, with their versions."""
        return {name: then for name, (now, then) in sorted(self.packages.items()) if then != now}

    def waiting(self, kind: str) -> list[str]:
        """Its daemons of a kind that have to begin anew: from older files, or files that are still to be replaced."""
        newer = bool(self.newer)
        return sorted(name for name, (own, older) in self.daemons.items() if own == kind and (older or newer))


def read(answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Host]:
    """Return the hosts with Ceph's packages, of what each minion answers (``daemons_upgrade.inspect``).

    Raises InventoryError for another form.
    """
    hosts = {}
    for minion, told in sorted(answers.items()):
        try:
            packages = {str(name): (str(now), str(then)) for name, (now, then) in told["packages"].items()}
            daemons = {str(name): (str(kind), bool(older)) for name, (kind, older) in told["daemons"].items()}
            host = Host(str(told["host"]), packages, daemons, tuple(map(str, told["leveldb"])))
        except (KeyError, TypeError, ValueError, AttributeError) as err:
            raise InventoryError(
                f"{minion}: what it tells of its packages has not the form expected (daemons_upgrade.inspect: "
                f"{shown(err)}): run ceph.stage.prep, which brings the modules up to date"
            ) from err
        if MAIN in packages:
            hosts[minion] = host
    return hosts


def targets(hosts: Mapping[str, Host]) -> dict[str, list[str]]:
    """Return which version hosts come to, with their minions: one, where all ask the same sources."""
    found: dict[str, list[str]] = {}
    for minion, host in hosts.items():
        found.setdefault(host.next, []).append(minion)
    return found


def several(found: Mapping[str, Sequence[str]]) -> str:
    """Return what is said of hosts whose sources have different versions."""
    each = "; ".join(
        f"{version}: {notes.several(minions, most=notes.FEW)}" for version, minions in sorted(found.items())
    )
    return (
        f"hosts' package sources have different versions of {MAIN} ({each}): give all of them the same, then run again"
    )
