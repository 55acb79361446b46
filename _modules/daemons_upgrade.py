"""This host's packages of Ceph, and which of its daemons run from files that newer ones have replaced."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 120  # seconds: a gateway ends what it was asked before (rgw_exit_timeout_secs)
PROC = Path("/proc")
# Name, version, state and source of each package; of rpm the source's file name.
DPKG = ["dpkg-query", "--show", "--showformat", "${Package} ${Version} ${db:Status-Status} ${source:Package}\\n"]
RPM = ["rpm", "--query", "--all", "--queryformat", "%{NAME} %{EVR} installed %{SOURCERPM}\\n"]
SOURCE = re.compile(r"ceph(-\d.*)?")
GONE = ("config-files", "not-installed")  # dpkg's states of a package that was removed
KIND = re.compile(r"ceph-(?P<kind>mon|mgr|osd|mds|radosgw)@(?P<id>.+)\.service")
GATEWAYS = re.compile(r"(nfs-ganesha|rbd-target-api|rbd-target-gw|tcmu-runner|ceph-rbd-mirror@.+)\.service")
REPLACED = re.compile(r"^\S+ ..x. .* /usr/.* \(deleted\)$", re.M)  # of proc(5)'s maps: a program, or a library


def inspect(refresh: bool = True) -> dict:
    """Return ``{host, packages, daemons}``; nothing is changed.

    ``packages`` are those of Ceph, each with the version that is installed (empty: half) and that its sources have;
    ``daemons`` those that run, each with its kind and whether it runs from files that were replaced since.

    refresh
        Ask the package sources anew.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons_upgrade.inspect
    """
    has = _packages()
    found = __salt__["pkg.latest_version"](*has, refresh=refresh) if has else {}
    newest = found if isinstance(found, dict) else dict.fromkeys(has, found)  # of a single package a text
    return {
        "host": __grains__["host"],
        "packages": {
            name: ["" if half else version, newest.get(name) or version] for name, (version, half) in has.items()
        },
        "daemons": {name: [kind, _older(pid)] for name, kind, pid in _daemons()},
    }


def restart(names: Sequence[str]) -> dict:
    """Restart gateways that are no daemons of Ceph's own, by their units' names; raise where one does not run then.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' daemons_upgrade.restart '[rbd-target-api]'
    """
    units = [f"{name}.service" for name in names]
    if strange := [unit for unit in units if not GATEWAYS.fullmatch(unit)]:
        raise CommandExecutionError(f"{', '.join(map(ascii, strange))}: no gateway of Ceph's")
    __salt__["daemons.forgive"](units)
    halocline.run(["systemctl", "restart", *units], limit=LIMIT)
    if dead := [unit for unit in units if halocline.status(["systemctl", "--quiet", "is-active", unit])]:
        raise CommandExecutionError(f"{', '.join(dead)}: restarted, and does not run: see 'systemctl status' there")
    return {"restarted": list(names)}


def _packages() -> dict[str, tuple[str, bool]]:
    """Ceph's packages: each one's version, and whether it is installed by half."""
    debian = __grains__["os_family"] == "Debian"
    rows = (line.split() for line in halocline.run(DPKG if debian else RPM).splitlines())
    return {
        name: (version, state != "installed")
        for name, version, state, source in (row for row in rows if len(row) == 4)
        if SOURCE.fullmatch(source) and state not in GONE
    }


def _daemons() -> Iterator[tuple[str, str, str]]:
    """Each daemon that runs: its name, its kind, its process."""
    units = [unit for unit in __salt__["daemons_maintenance.units"]() if KIND.fullmatch(unit) or GATEWAYS.match(unit)]
    if not units:
        return
    shown = halocline.run(["systemctl", "show", "--property", "MainPID", "--value", *units], limit=LIMIT).split()
    for unit, pid in zip(units, shown, strict=True):
        if pid != "0":
            part = KIND.fullmatch(unit)
            kind = part["kind"].replace("radosgw", "client") if part else "gateway"
            yield (f"{kind}.{part['id']}" if part else unit.removesuffix(".service")), kind, pid


def _older(pid: str) -> bool:
    """Whether a process runs from files that were replaced, as a package's update does."""
    try:
        return bool(REPLACED.search((PROC / pid / "maps").read_text(errors="replace")))
    except OSError:
        return False
