"""What the monitors keep of an upgrade that is under way, so that the same command goes on after anything."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from proposals.cluster.health.judge import RUNS, Before
from proposals.text.errors import InventoryError
from proposals.text.names import shown

KEY = "halocline/upgrade"  # in the monitors' key store
# Checks that an upgrade raises until its end, and its own last step ends; and of what newer daemons warn that was so
# before: FileStore (from Quincy on), unused pools without an application (from 18.2.1 on), pools whose number of groups
# is no power of two (from 14.2.5 on). They are no reason to stop.
EXPECTED = {
    "check OSD_UPGRADE_FINISHED": 2,
    "check DAEMON_OLD_VERSION": 2,
    "check OSD_FILESTORE": 1,
    "check POOL_APP_NOT_ENABLED": 1,
    "check POOL_PG_NUM_NOT_POWER_OF_TWO": 1,
}
BEGINNING, NOT_SERVED = "groups beginning", "groups not served"  # of findings: older versions had both as the latter


@dataclass(frozen=True)
class Record:
    """An upgrade that has begun.

    target
        The version of the packages.
    since, user
        When it began, as ISO 8601 has it, and who typed it.
    before
        What was found wrong with the cluster then, and who ran: all that is new since stops it.
    systems
        What file systems had before their active servers were reduced.
    """

    target: str
    since: str
    user: str
    before: Before = field(default_factory=dict)
    systems: Mapping[str, list[int]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """It as the monitors keep it."""
        return {**vars(self), "before": dict(self.before), "systems": dict(self.systems)}

    @property
    def known(self) -> Before:
        """What is no reason to stop."""
        return {BEGINNING: self.before.get(NOT_SERVED, 0), **self.before, **EXPECTED}

    def to(self, target: str) -> "Record":
        """It on its way to other packages of the same release: what was broken is mended by a newer one."""
        return replace(self, target=target)

    def without(self, served: Collection[str]) -> "Record":
        """It without those that ran and are served no more: they were taken out of the cluster since."""
        gone = {key for key in self.before if key.startswith(RUNS) and key.removeprefix(RUNS) not in served}
        return replace(self, before={key: amount for key, amount in self.before.items() if key not in gone})

    def having(self, systems: Mapping[str, list[int]]) -> "Record":
        """It with what file systems had."""
        return replace(self, systems=systems)


def read(text: str | None) -> Record | None:
    """Return what the monitors keep; None where nothing is under way. Raises InventoryError for another form."""
    if text is None:
        return None
    try:
        told = Record(**json.loads(text))
        before = {str(key): int(amount) for key, amount in told.before.items()}
        systems = {str(name): [int(most), int(replay)] for name, (most, replay) in told.systems.items()}
        return Record(str(told.target), str(told.since), str(told.user), before, systems)
    except (TypeError, ValueError, AttributeError) as err:
        raise InventoryError(
            f"the monitors keep at {KEY} what is no upgrade's record ({shown(err)}): look at 'ceph config-key get "
            f"{KEY}', give file systems that it names their max_mds back, and remove it by 'ceph config-key rm {KEY}'"
        ) from err
