"""This host's packages of Ceph, and which of its daemons run from files that newer ones have replaced."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 660  # seconds: rbd-target-api ends what initiators have under way (its unit's TimeoutStopSec is 600)
START = 60  # seconds until one runs by one process: systemd may start it more than once
PROC = Path("/proc")
MONITORS = Path("/var/lib/ceph/mon")  # in each one's folder kv_backend names its store (src/mon/MonitorDBStore.h)
# Name, version, state and source of each package; of rpm the source's file name.
DPKG = ["dpkg-query", "--show", "--showformat", "${Package} ${Version} ${db:Status-Status} ${source:Package}\\n"]
RPM = ["rpm", "--query", "--all", "--queryformat", "%{NAME} %{EVR} installed %{SOURCERPM}\\n"]
SOURCE = re.compile(r"ceph(-\d.*)?")
GONE = ("config-files", "not-installed")  # dpkg's states of a package that was removed
KIND = re.compile(r"ceph-(?P<kind>mon|mgr|osd|mds|radosgw)@(?P<id>.+)\.service")
GATEWAYS = re.compile(r"(nfs-ganesha|rbd-target-api|rbd-target-gw|tcmu-runner|ceph-rbd-mirror@.+)\.service")
TARGETS = ("rbd-target-api.service", "rbd-target-gw.service")
REPLACED = re.compile(r"^\S+ ..x. .* /usr/.* \(deleted\)$", re.M)  # of proc(5)'s maps: a program, or a library


def inspect(refresh: bool = True) -> dict:
    """Return ``{host, packages, daemons, leveldb}``; nothing is changed.

    ``packages`` are those of Ceph, each with the version that is installed (empty: half) and that its sources have;
    ``daemons`` those that run, each with its kind and whether it runs from files that were replaced since; ``leveldb``
    the monitors whose store is one.

    refresh
        Ask the package sources anew.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons_upgrade.inspect
    """
    has = _packages()
    if refresh and has:
        sources()
    found = __salt__["pkg.latest_version"](*has, refresh=False) if has else {}
    newest = found if isinstance(found, dict) else dict.fromkeys(has, found)  # of a single package a text
    return {
        "host": __grains__["host"],
        "packages": {
            name: ["" if half else version, newest.get(name) or version] for name, (version, half) in has.items()
        },
        "daemons": {name: [kind, _older(pid)] for name, kind, pid in _daemons()},
        "leveldb": sorted(_leveldb()),
    }


def packages() -> list[str]:
    """Return the names of Ceph's packages on this host, sorted.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons_upgrade.packages
    """
    return sorted(_packages())


def sources() -> bool:
    """Ask this host's package sources anew; raise where one does not answer: nobody knows what it has newer.

    Salt's own modules go on with what was read before (apt) or with nothing (dnf), as if nothing were newer.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons_upgrade.sources
    """
    try:
        # False is dnf's failure; of zypper's sources, which are told one by one, it says that nothing was new.
        why = "" if __salt__["pkg.refresh_db"](failhard=True) is not False else "'dnf check-update' there says which"
    except CommandExecutionError as err:
        why = str(err)
    if why:
        raise CommandExecutionError(
            f"a package source of this host did not answer: {why}; mend it, or take it out there, then run it again"
        )
    return True


def restart(names: Sequence[str]) -> dict:
    """Restart gateways that are no daemons of Ceph's own, by their units' names; raise where one does not serve then.

    All in one job of systemd's, which stops them in the order in which they need each other: those that take iSCSI's
    target away, so that initiators go to another gateway, before the one that holds the images (ceph-iscsi's units are
    After=tcmu-runner.service). An NFS server that stops asks the others for grace by itself.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' daemons_upgrade.restart '[rbd-target-api]'
    """
    units = [f"{name}.service" for name in names]
    if strange := [unit for unit in units if not GATEWAYS.fullmatch(unit)]:
        raise CommandExecutionError(f"{', '.join(map(ascii, strange))}: no gateway of Ceph's")
    if "tcmu-runner.service" in units:
        units += [unit for unit in TARGETS if unit not in units and _active(unit)]
    __salt__["daemons.forgive"](units)
    halocline.run(["systemctl", "restart", *units], limit=LIMIT)
    if dead := [unit for unit in units if not _active(unit)]:
        raise CommandExecutionError(f"{', '.join(dead)}: restarted, and does not run: see 'systemctl status' there")
    __salt__["daemons_started.steady"](units, START)
    if "nfs-ganesha.service" in units:
        __salt__["ganesha.missing"]([])  # it answers when it has read its exports
    if "rbd-target-api.service" in units and "igw" in __pillar__.get("ceph", {}).get("services", {}):
        __salt__["iscsi.config"]()  # it answers when it has its targets
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


def _leveldb() -> Iterator[str]:
    for path in MONITORS.glob("*-*/kv_backend"):
        if path.read_text(errors="replace").strip() == "leveldb":
            yield f"mon.{path.parent.name.partition('-')[2]}"


def _active(unit: str) -> bool:
    return halocline.status(["systemctl", "--quiet", "is-active", unit]) == 0


def _older(pid: str) -> bool:
    """Whether a process runs from files that were replaced, as a package's update does."""
    try:
        return bool(REPLACED.search((PROC / pid / "maps").read_text(errors="replace")))
    except OSError:
        return False
