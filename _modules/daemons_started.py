"""Whether daemons that were started came up: systemd calls one active, and its admin socket answers, long before."""

from collections.abc import Sequence
from functools import partial

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds one command may take
STEADY = 10  # seconds between two looks: by then a daemon with a bad option, certificate or port has ended


def serving(names: Sequence[str], limit: float = 300) -> bool:
    """Wait until object gateways take requests; raise where one does not.

    One of our pillar's listens on a TCP port; another may have none, and is to run by one process.

    names
        As ``daemons.running`` gives them.
    limit
        Seconds to wait.

    CLI Example:

    .. code-block:: bash

        salt 'rgw1' daemons_started.serving '[client.rgw.rgw1]'
    """
    told = __pillar__.get("ceph", {}).get("services", {}).get("rgw", {}).get("gateways", ())
    ours = {f"client.{gateway['name']}" for gateway in told}
    for name in names:
        unit = f"ceph-radosgw@{name.removeprefix('client.')}"
        if name in ours:
            halocline.until(partial(_listens, unit), limit)
        else:
            steady([unit], limit)
    return True


def steady(units: Sequence[str], limit: float = 60) -> bool:
    """Wait until units have run by the same main processes for ten seconds; raise where one does not.

    units
        Their names.
    limit
        Seconds to wait; less than ten are not enough.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' daemons_started.steady '[tcmu-runner]'
    """
    before: list[dict[str, str]] = []

    def look() -> bool:
        nonlocal before
        last, before = before, _shown("Id,ActiveState,MainPID", units)
        if ended := [unit["Id"] for unit in before if unit["ActiveState"] != "active" or unit not in last]:
            raise CommandExecutionError(f"{', '.join(ended)}: ended, or began anew: see 'systemctl status' there")
        return True

    return halocline.until(look, limit, pause=STEADY)


def managers() -> dict[str, int]:
    """Return the cluster's managers, each with the number that its process has in the manager map: another after each
    start. On a host with the admin's key.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' daemons_started.managers
    """
    told = __salt__["cluster_cli.ask"](["mgr", "dump"])
    standbys = {standby["name"]: standby["gid"] for standby in told["standbys"]}
    return standbys | ({told["active_name"]: told["active_gid"]} if told["active_name"] else {})


def _listens(unit: str) -> None:
    """Raise where a unit's own process does not listen: another of the same name may, as an older one on its port."""
    (told,) = _shown("MainPID", [unit])
    if f"pid={told['MainPID']}," not in halocline.run(["ss", "-Htlnp"], limit=LIMIT):
        raise CommandExecutionError(f"{unit} listens on no TCP port: see 'journalctl -u {unit}' there")


def _shown(properties: str, units: Sequence[str]) -> list[dict[str, str]]:
    told = halocline.run(["systemctl", "show", "--property", properties, *units], limit=LIMIT).strip()
    return [dict(line.split("=", 1) for line in unit.splitlines()) for unit in told.split("\n\n") if unit]
