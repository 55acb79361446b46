"""A cluster's daemons and files taken off a host (``salt-run ceph.purge``): those alone that prove to be its.

Which parts the host has the master tells, by the names that it was given once (``daemons_retire``). A folder or file
with keys of which the master has none is another cluster's, whatever its name, and so is what cephadm made. OSDs are
``osd_purge``'s.
"""

import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 660  # seconds, as for daemons_retire
ETC, LIB, UNITS = Path("/etc/ceph"), Path("/var/lib/ceph"), Path("/etc/systemd/system")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DAEMONS = ("mon", "mgr", "mds", "radosgw")
FRONTEND = ("ceph-rgw-haproxy.service", "ceph-rgw-keepalived.service")  # salt/ceph/service/rgw-frontend wrote them


def look(fsid: str, hosts: Mapping[str, Mapping], keys: Collection[str]) -> dict:
    """Return ``{pillar, conf, units, files, others}``: the cluster that this host's pillar and ceph.conf name, the
    units of each part that run or would at the next boot, the files that would go, and what is another's. Only reads.

    fsid
        The cluster's that is taken apart.
    hosts
        What each host was told: ``{node1: {parts: {mds: {daemons: [node1]}}}}``.
    keys
        Hashes of all keys that the master has or had.

    CLI Example: for ``salt-run ceph.purge``.
    """
    own = hosts[__grains__["id"]]["parts"]
    return {
        "pillar": __pillar__.get("fsid"),
        "conf": _conf(),
        "units": {part: units for part, told in own.items() if (units := _running(part, told, keys))},
        "files": [str(path) for path in _files(own, fsid, keys)],
        "others": _others(fsid, keys),
    }


def stop(fsid: str, hosts: Mapping[str, Mapping], keys: Collection[str], parts: Mapping[str, Sequence[str]]) -> list:
    """Stop the daemons of some parts for good; return the units that ran. Done before, there is none. One that is still
    stopping is waited for.

    fsid, hosts, keys
        As for ``look``.
    parts
        Which ones of each host.

    CLI Example: for ``salt-run ceph.purge``.
    """
    _sure(fsid)
    own = hosts[__grains__["id"]]["parts"]
    units = [unit for part in parts[__grains__["id"]] for unit in _running(part, own[part], keys)]
    if units:
        halocline.run(["systemctl", "disable", "--quiet", *units], limit=LIMIT)
        halocline.run(["systemctl", "stop", *units], limit=LIMIT)
    if left := __salt__["daemons_retire.running"](units, boots=False):
        raise CommandExecutionError(f"{', '.join(left)} runs still: look at 'systemctl status {left[0]}' there")
    return units


def remove(fsid: str, hosts: Mapping[str, Mapping], keys: Collection[str]) -> list[str]:
    """Remove folders, keyrings and units of a cluster whose daemons are stopped, ceph.conf last; return what went.

    fsid, hosts, keys
        As for ``look``.

    CLI Example: for ``salt-run ceph.purge``.
    """
    _sure(fsid)
    own = hosts[__grains__["id"]]["parts"]
    if units := [unit for part, told in own.items() for unit in _running(part, told, keys)]:
        raise CommandExecutionError(f"{', '.join(units)} runs again: its files are not removed")
    gone = _files(own, fsid, keys)
    for path in gone:
        _remove(path)
    if any(path.parent == UNITS for path in gone):
        halocline.run(["systemctl", "daemon-reload"], limit=LIMIT)
    return list(map(str, gone))


def _remove(path: Path) -> None:
    """Remove a file or folder; of one that is a mount, what is in it, and of a link itself."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    elif path.is_mount():
        for each in path.iterdir():
            _remove(each)
    else:
        shutil.rmtree(path)


def _sure(fsid: str) -> None:
    """Raise where this host is told of another cluster, or configured for one."""
    for place, told in (("pillar", __pillar__.get("fsid")), ("ceph.conf", _conf())):
        if told not in (None, fsid):
            raise CommandExecutionError(f"its {place} names cluster {told}, not {fsid}: nothing was touched")


def _conf() -> str | None:
    return __salt__["host_ceph.inspect"]()["conf"].get("fsid")


def _running(part: str, told: Mapping, keys: Collection[str]) -> list[str]:
    """The units of a part that have not ended, or would run at the next boot; none where another cluster's key lies
    there.
    """
    paths = [Path(path) for path in __salt__["daemons_retire.paths"](part, told)]
    if any(_strange(path, keys) for path in paths):
        return []
    units: list[str] = __salt__["daemons_retire.running"](__salt__["daemons_retire.units"](part, told))
    return units


def _files(own: Mapping[str, Mapping], fsid: str, keys: Collection[str]) -> list[Path]:
    """What there is of the cluster, but for its OSDs: what the host was told of, and what holds a key of the master's.

    ``ceph.conf`` comes last: by it the rest is told to be of this cluster.
    """
    told = [Path(path) for part, each in own.items() for path in __salt__["daemons_retire.paths"](part, each)]
    found = {path for path in told if path.exists() and not _strange(path, keys)}
    found |= {path for path in (*ETC.glob("*.keyring"), *LIB.glob("bootstrap-*/*.keyring")) if _known(path, keys)}
    found |= {path for kind in DAEMONS for path in (LIB / kind).glob("*") if _known(path, keys)}
    found |= {UNITS / name for name in FRONTEND if "rgw-frontend" in own and (UNITS / name).exists()}
    conf = [ETC / "ceph.conf"] if _conf() == fsid else []
    return [*sorted(found - set(conf)), *conf]


def _others(fsid: str, keys: Collection[str]) -> list[str]:
    """What of Ceph's lies here and is not this cluster's."""
    containers = [path for path in sorted(LIB.glob("*")) if UUID.fullmatch(path.name)]
    stores = [path for kind in DAEMONS for path in sorted((LIB / kind).glob("*")) if _strange(path, keys)]
    keyrings = [path for path in sorted(ETC.glob("*.keyring")) if _strange(path, keys)]
    conf = [ETC / "ceph.conf"] if _conf() not in (None, fsid) else []
    confs = [path for path in sorted(ETC.glob("*.conf")) if path.name not in ("ceph.conf", "rbdmap")]
    return [f"{path} (cephadm's)" for path in containers] + [str(path) for path in (*conf, *confs, *stores, *keyrings)]


def _hashes(path: Path) -> set[str]:
    keyring = path / "keyring" if path.is_dir() else path
    return set(__salt__["host_keys.hashes"](str(keyring)).values())


def _known(path: Path, keys: Collection[str]) -> bool:
    """Whether a keyring, or that of a folder, holds a key of the master's."""
    return bool(_hashes(path) & set(keys))


def _strange(path: Path, keys: Collection[str]) -> bool:
    """Whether a keyring, or that of a folder, holds keys and none of the master's."""
    held = _hashes(path)
    return bool(held) and not held & set(keys)
