"""What a host that lost its role still has of it: found, and taken away. OSDs and monitors leave by their own modules.

A part's daemons and files are those that ``salt/ceph/service/PART`` made, by the names that the host was told once.
Nothing of a part that the pillar still gives this host is touched.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 660  # seconds: rbd-target-api ends what initiators have under way (its unit's TimeoutStopSec is 600)
ENDED = ("inactive", "failed")  # of systemd's ActiveState: of any other a process may use its key and its files
NAME = re.compile(r"(?!\.)[A-Za-z0-9._-]+")  # of a daemon or an entity: it becomes part of a path
UNITS = {  # by part; {} is the daemon's name
    "mon": ("ceph-mon@{}",),
    "mgr": ("ceph-mgr@{}",),
    "mds": ("ceph-mds@{}",),
    "rgw": ("ceph-radosgw@{}",),
    "rgw-frontend": ("ceph-rgw-keepalived", "ceph-rgw-haproxy"),  # the address goes first
    "ganesha": ("nfs-ganesha",),
    "igw": ("rbd-target-gw", "rbd-target-api", "tcmu-runner"),
    "grafana": ("grafana-server",),
    "crash": ("ceph-crash",),
}
# By part, what its unit starts beside and leaves running: static units, no part of a host that has the package alone.
BESIDE = {"ganesha": ("nfs-ganesha-lock",)}
PACKAGED = ("prometheus", "alertmanager", "node-exporter")  # whose units are called otherwise with each OS family
FILES = {  # {} is the daemon's name; what is secret, and what would let a daemon start
    "mon": ("/var/lib/ceph/mon/ceph-{}",),
    "mgr": ("/var/lib/ceph/mgr/ceph-{}",),
    "mds": ("/var/lib/ceph/mds/ceph-{}",),
    "rgw": ("/var/lib/ceph/radosgw/ceph-{}",),
    "rgw-frontend": ("/etc/ceph/rgw-frontend",),
    "ganesha": ("/etc/ganesha/ganesha.conf", "/etc/ganesha/exports.conf", "/etc/ganesha/exports.read"),
    "igw": ("/etc/ceph/iscsi-gateway.cfg",),
    "client-radosgw": ("/etc/ceph/rgw-users.credentials",),
    "dashboard-access": ("/etc/ceph/dashboard.password",),
    "openstack": ("/etc/ceph/openstack",),
    "alertmanager": ("/etc/prometheus/secrets",),
    "grafana": ("/etc/grafana/grafana.key", "/etc/grafana/admin.password"),
    "bootstrap-osd": ("/var/lib/ceph/bootstrap-osd/ceph.keyring",),
    "crash": ("/etc/ceph/ceph.client.crash.keyring",),
    "admin": ("/etc/ceph/ceph.client.admin.keyring",),
}
KEYRING = "/etc/ceph/ceph.{}.keyring"  # of an entity
KEYRINGS = {**dict.fromkeys(("ganesha", "igw", "rbd-mirror", "client-cephfs"), "keys"), "client-keys": "clients"}
BECAUSE = {  # roles and parts for which a host has a part without naming it
    "admin": {"master"},
    "bootstrap-osd": {"storage"},
    "crash": {"mon", "mgr", "storage", "mds", "rgw", "rbd-mirror"},
}
ROOT = Path("/")


def left(lost: Mapping[str, Mapping]) -> dict:
    """Return ``{generation, parts, osds}``: of which generation this host's pillar is, which of the parts that it lost
    it still has something of, and which of the OSDs, ``{fsid: number}``.

    lost
        Of each host what it was told: ``{node1: {parts: {mds: {daemons: [node1], keys: [mds.node1]}}, osds: []}}``.

    CLI Example:

    .. code-block:: bash

        salt 'node1' daemons_retire.left '{node1: {parts: {mds: {daemons: [node1]}}, osds: []}}'
    """
    own = lost[__grains__["id"]]
    return {
        "generation": __pillar__.get("ceph", {}).get("generation"),
        "parts": sorted(part for part, told in own["parts"].items() if _has(part, told)),
        "osds": __salt__["osd_retire.left"](own["osds"]) if own["osds"] else {},
    }


def retire(part: str, told: Mapping) -> dict[str, list[str]]:
    """Stop a part's daemons for good and remove its files: keys, and what was written for them. Return what went.

    part
        Its name.
    told
        What the host was told of it once: ``{daemons: [node1], keys: [mds.node1]}``.

    Refused where this host's pillar still has the part, and for a monitor, whose store ``mon.retire`` moves aside.
    Logs, packages and what a daemon keeps elsewhere stay; its files too where a daemon has not ended.

    CLI Example: for ``ceph.stage.removal``.
    """
    if part == "mon":
        raise CommandExecutionError("a monitor's store is not removed: mon.retire moves it aside")
    if _planned(part, told):
        raise CommandExecutionError(f"{part} is still planned on this host: nothing was stopped")
    own = _units(part, told)
    units = running(own)
    if units:
        halocline.run(["systemctl", "disable", "--quiet", *units], limit=LIMIT)
        halocline.run(["systemctl", "stop", *units], limit=LIMIT)  # one that stops already is waited for
    for unit in BESIDE.get(part, ()):
        halocline.status(["systemctl", "stop", "--quiet", unit], limit=LIMIT)
    if left := running(own, boots=False):
        raise CommandExecutionError(f"{', '.join(left)} runs still: look at 'systemctl status {left[0]}' there")
    if "grace" in told and any(path.exists() for path in _keyrings(part, told)):
        __salt__["ganesha_grace.leave"](told["daemons"][0], **told["grace"])
    gone = []
    for path in (path for path in _paths(part, told) if path.exists()):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        gone.append(str(path))
    return {"stopped": units, "removed": gone}


def units(part: str, told: Mapping) -> list[str]:
    """Return the units of a part's daemons, in the order in which they stop. Arguments as for ``retire``.

    CLI Example: for ``daemons_purge.look``.
    """
    return _units(part, told)


def running(units: Sequence[str], boots: bool = True) -> list[str]:
    """Return which of some units have not ended, in their order. One that is still stopping has not, be it disabled.

    units
        Their names.
    boots
        With those that would run at the next boot.

    CLI Example: for ``daemons_purge.look``.
    """
    words = ["systemctl", "show", "--property", "ActiveState", "--value"]  # a line for each, empty ones between
    states = halocline.run([*words, *units]).split() if units else []
    return [
        unit
        for unit, state in zip(units, states, strict=True)
        if state not in ENDED or (boots and halocline.status(["systemctl", "--quiet", "is-enabled", unit]) == 0)
    ]


def paths(part: str, told: Mapping) -> list[str]:
    """Return where a part's files are, its key last. Arguments as for ``retire``.

    CLI Example: for ``daemons_purge.look``.
    """
    return list(map(str, _paths(part, told)))


def _has(part: str, told: Mapping) -> bool:
    return not _planned(part, told) and (
        any(path.exists() for path in _paths(part, told)) or bool(running(_units(part, told)))
    )


def _planned(part: str, told: Mapping) -> bool:
    """Whether this host's pillar gives it the part; of gateways and of clients' keyrings, one of these."""
    roles, services = set(__pillar__.get("roles", ())), __pillar__.get("ceph", {}).get("services", {})
    if part == "rgw":
        names = {gateway["name"] for gateway in services.get("rgw", {}).get("gateways", ())}
        return bool(names & set(told.get("daemons", ())))
    if part == "client-keys":
        given = {keyring["path"] for keyring in services.get(part, {}).get("keyrings", ())}
        return bool(given & set(_filled(KEYRING, _names(told, "clients"))))
    parts = {*services, *roles}
    return part in parts or bool(parts & BECAUSE.get(part, set()))


def _units(part: str, told: Mapping) -> list[str]:
    if part in PACKAGED:
        return [__pillar__["ceph_os"][part]["service"]]
    names = _names(told, "daemons")
    if part == "rbd-mirror":
        return [f"ceph-rbd-mirror@{name.removeprefix('client.')}" for name in _names(told, "keys")]
    return [unit for pattern in UNITS.get(part, ()) for unit in _filled(pattern, names)]


def _paths(part: str, told: Mapping) -> list[Path]:
    """Where a part's files are; its key comes last: interrupted before, the cluster can still be told by it."""
    names = _names(told, "daemons")
    found = [path for pattern in FILES.get(part, ()) for path in _filled(pattern, names)]
    return [*(ROOT / path.lstrip("/") for path in found), *_keyrings(part, told)]


def _keyrings(part: str, told: Mapping) -> list[Path]:
    names = _filled(KEYRING, _names(told, KEYRINGS[part])) if part in KEYRINGS else []
    return [ROOT / path.lstrip("/") for path in names]


def _filled(pattern: str, names: Sequence[str]) -> list[str]:
    return [pattern.format(name) for name in names] if "{}" in pattern else [pattern]


def _names(told: Mapping, key: str) -> list[str]:
    """Names that are to become parts of paths and units: refused where they are none."""
    names = [str(name) for name in told.get(key, ())]
    if wrong := [name for name in names if not NAME.fullmatch(name)]:
        raise CommandExecutionError(f"{', '.join(map(ascii, wrong))}: no daemon is called so: nothing was stopped")
    return names
