"""What updates and reboots this host is due, and the reboot itself."""

import os
import re
from pathlib import Path

import halocline
import halocline_packages
from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds one command may take
BOOT_ID, INIT = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/1/stat")
CONTAINER = Path("/run/systemd/container")
FLAGS = (Path("/run/reboot-required"), Path("/run/reboot-needed"))  # Debian's and SUSE's packages leave them
MODULES, BOOT = Path("/lib/modules"), Path("/boot")
VERSION = re.compile(r"[0-9.-]+")  # of a kernel's release; what follows is its flavour
DISTRIBUTION = re.compile(r"^(el[0-9]+(_[0-9]+)?\.|\+?(deb|bpo)[0-9.]*-)+")  # RHEL's minor release, Debian's backports
CEPH, KINDS = Path("/var/lib/ceph"), ("mon", "mgr", "osd", "mds", "radosgw")
KEYRING = Path("/etc/ceph/ceph.client.admin.keyring")


def inspect(refresh: bool = True) -> dict:
    """Return what this host is due and what of Ceph it has, in one answer; nothing is changed.

    ``daemons`` are those that have a folder here, ``units`` what would stop with the host, ``ceph`` Ceph's packages
    among ``pending``: these are ``ceph.stage.upgrade``'s.

    refresh
        Ask the package sources anew.

    CLI Example:

    .. code-block:: bash

        salt 'node1' host_updates.inspect
    """
    if refresh:
        __salt__["daemons_upgrade.sources"]()
    with halocline_packages.new_too():
        pending = sorted(__salt__["pkg.list_upgrades"](refresh=False, dist_upgrade=False))
    return {
        "pending": pending,
        "ceph": sorted(set(pending) & set(__salt__["daemons_upgrade.packages"]())),
        "reboot": reboot_due(),
        "host": __grains__["host"],
        "daemons": sorted(_named(path) for kind in KINDS for path in CEPH.glob(f"{kind}/*")),
        "units": list(__salt__["daemons_maintenance.units"]()),
        "foreign": sorted(path.name for path in CEPH.glob("*-*-*-*-*")),  # cephadm's, by fsid
        "asks": KEYRING.exists(),
    }


def _named(path: Path) -> str:
    """A daemon by its folder: ``osd.3`` for ``osd/ceph-3``."""
    return f"{path.parent.name}.{path.name.partition('-')[2]}"


def reboot_due() -> str:
    """Return why this host is to be rebooted, empty where nothing asks for it.

    CLI Example:

    .. code-block:: bash

        salt 'node1' host_updates.reboot_due
    """
    for flag in FLAGS:
        if flag.exists():
            return f"{flag} is there"
    return "" if CONTAINER.exists() else _newer_kernel() or _restarting()


def _newer_kernel() -> str:
    """A kernel of the running one's flavour that is installed and newer; what is removed may leave its modules."""
    running = os.uname().release
    if not (MODULES / running).is_dir():
        return f"the running kernel {running} is not installed any more"
    flavour = _flavour(running)
    images = [path.name.removeprefix("vmlinuz-") for path in sorted(BOOT.glob("vmlinuz-*"))]
    newer = [name for name in images if _flavour(name) == flavour and __salt__["pkg.version_cmp"](name, running) == 1]
    return f"kernel {newer[-1]} is installed, {running} runs" if newer else ""


def _flavour(release: str) -> str:
    """What tells kernels apart that are beside each other, as ``amd64``, ``rt``: neither version nor distribution."""
    return DISTRIBUTION.sub("", VERSION.sub("", release, count=1))


def _restarting() -> str:
    """What RHEL's yum-utils says, where it is installed."""
    try:
        status = halocline.status(["needs-restarting", "-r"], limit=LIMIT)
    except CommandExecutionError:
        return ""
    return "needs-restarting asks for it" if status == 1 else ""


def boot() -> str:
    """Return what differs after each boot of this host, or container.

    CLI Example:

    .. code-block:: bash

        salt 'node1' host_updates.boot
    """
    started = INIT.read_text().rpartition(")")[2].split()[19]  # proc(5): starttime is field 22
    return f"{BOOT_ID.read_text().strip()} {started}"


def reboot(delay: int = 5) -> str:
    """Reboot this host after so many seconds, time to answer; return what ``host_updates.boot`` says before.

    CLI Example:

    .. code-block:: bash

        salt 'node1' host_updates.reboot
    """
    before = boot()
    halocline.run(["systemd-run", f"--on-active={delay}", "--collect", "systemctl", "reboot"], limit=LIMIT)
    return before
