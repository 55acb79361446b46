"""What was found of a cluster that others made: what its hosts say, and what its monitors say. Nothing here asks them.

``Host`` is read from ``host_adopt.inspect``'s answer, ``Cluster`` from what ``host_sealed.tell`` sealed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proposals.pillar import secrets
from proposals.text import names
from proposals.text.errors import InventoryError

FORMS = ("lvm", "raw", "partitions", "simple")
PREP = "run ceph.stage.prep, then this again"
NOBODY = "00000000-0000-0000-0000-000000000000"  # of a number whose OSD was destroyed (src/mon/OSDMonitor.cc)
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Osd:
    """An OSD of a host, its form, and the device of each of its parts."""

    id: int
    fsid: str
    cluster: str | None
    form: str
    format: str
    encrypted: bool
    devices: Mapping[str, str]


@dataclass(frozen=True)
class Unit:
    """A daemon of a service: whether its unit runs and starts at boot, the hash of the key in its own folder; of a
    gateway what ceph.conf says of its frontend.
    """

    runs: bool = False
    boots: bool = False
    key: str | None = None
    frontend: str | None = None


@dataclass(frozen=True)
class Host:
    """What a minion's host runs and carries. ``conf`` is the hash of its ceph.conf, by which its bytes are known;
    ``fsid`` the cluster that it names, None where it names none.
    """

    minion: str
    hostname: str
    conf: str | None
    admin: bool
    daemons: Mapping[str, Sequence[str]]
    units: Mapping[str, Unit]
    services: Sequence[str]
    foreign: Sequence[str]
    osds: Sequence[Osd]
    fsid: str | None = None

    @property
    def bare(self) -> bool:
        """Whether nothing of any cluster is here."""
        return not (self.conf or self.daemons or self.services or self.foreign or self.osds)


@dataclass(frozen=True)
class Cluster:
    """What the monitors say. ``keys`` and ``caps`` are of those that any cluster has, of metadata servers and gateways;
    ``others`` names alone. ``servers`` are the metadata servers that run.
    """

    fsid: str
    release: str
    monitors: Mapping[str, Sequence[str]]
    managers: Sequence[str]
    osds: Mapping[str, int]
    servers: Sequence[str]
    file_systems: Sequence[str]
    keys: Mapping[str, str] = field(repr=False)
    caps: Mapping[str, Mapping[str, str]]
    others: Sequence[str]
    config: Sequence[Mapping[str, str]]
    conf: str = field(repr=False)


def host(minion: str, answer: Mapping) -> Host:
    """Return what a minion says of its host. Raises InventoryError where it has another form."""
    try:
        osds = tuple(_osd(each) for each in answer["osds"])
        daemons = {str(kind): tuple(map(_word, listed)) for kind, listed in answer["daemons"].items()}
        units = {str(entity): _unit(unit) for entity, unit in answer["units"].items()}
        services, foreign = tuple(map(names.shown, answer["services"])), tuple(map(names.shown, answer["foreign"]))
        conf = answer["conf"]
        if conf is not None and not SHA256.fullmatch(conf):
            raise ValueError("conf")
        name = _word(answer["hostname"])
        fsid = answer["fsid"] if names.UUID.fullmatch(str(answer.get("fsid"))) else None
        return Host(minion, name, conf, answer["admin"] is True, daemons, units, services, foreign, osds, fsid)
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise InventoryError(
            f"{minion}: its answer is not of the form expected (host_adopt.inspect: {names.shown(err)}): {PREP}"
        ) from err


def _unit(told: Mapping) -> Unit:
    key = told["key"]
    if key is not None and not SHA256.fullmatch(key):
        raise ValueError("key")
    frontend = told.get("frontend")
    return Unit(told["runs"] is True, told["boots"] is True, key, None if frontend is None else str(frontend))


def _osd(told: Mapping) -> Osd:
    osd_id, fsid, cluster = told["id"], told["fsid"], told["cluster"]
    devices = {str(role): str(device) for role, device in told["devices"].items()}
    sound = type(osd_id) is int and names.UUID.fullmatch(fsid) and (cluster is None or names.UUID.fullmatch(cluster))
    if not sound or told["form"] not in FORMS or told["format"] not in ("bluestore", "filestore"):
        raise ValueError("osds")
    if not all(names.is_device(device) for device in devices.values()):
        raise ValueError("an OSD's devices")
    return Osd(osd_id, fsid, cluster, told["form"], told["format"], told["encrypted"] is True, devices)


def _word(text: object) -> str:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", text):
        raise ValueError(f"name {names.shown(text)}")
    return text


def cluster(minion: str, told: Mapping) -> Cluster:
    """Return what a monitor's host says of its cluster. Raises InventoryError where it has another form."""
    try:
        monitors = {_word(each["name"]): _addresses(each) for each in told["mons"]["mons"]}
        managers = [told["managers"].get("active_name"), *(each["name"] for each in told["managers"]["standbys"])]
        systems = [system["mdsmap"] for system in told["systems"]["filesystems"]]
        standing = told["systems"]["standbys"]
        servers = [each["name"] for each in (*standing, *(up for fs in systems for up in fs["info"].values()))]
        keys = {str(name): str(entry["key"]) for name, entry in told["keys"].items()}
        caps = {str(name): {str(k): str(v) for k, v in entry["caps"].items()} for name, entry in told["keys"].items()}
        keys["mon."] = secrets.of_keyring(str(told["monitor_keyring"]), "mon.")
        if not all(secrets.CEPHX.fullmatch(key) for key in keys.values()):
            raise ValueError("keys")
        return Cluster(
            fsid=_fsid(told["mons"]["fsid"]),
            release=str(told["osds"].get("require_osd_release", "")),
            monitors=monitors,
            managers=sorted(_word(name) for name in managers if name),
            osds={_fsid(osd["uuid"]): int(osd["osd"]) for osd in told["osds"]["osds"] if osd["uuid"] != NOBODY},
            servers=sorted(map(_word, servers)),
            file_systems=sorted(str(system["fs_name"]) for system in systems),
            keys=keys,
            caps=caps,
            others=sorted(map(str, told["others"])),
            config=tuple(_row(row) for row in told["config"]),
            conf=str(told["conf"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise InventoryError(f"{minion}: what its monitor says is not of the form expected: {PREP}") from err


def _fsid(text: str) -> str:
    if not names.UUID.fullmatch(text):
        raise ValueError("fsid")
    return text


def _addresses(monitor: Mapping) -> tuple[str, ...]:
    """As ``v2:10.0.0.1:3300``, sorted (src/mon/MonMap.cc, src/msg/msg_types.cc of Ceph)."""
    return tuple(sorted(f"{each['type']}:{each['addr']}" for each in monitor["public_addrs"]["addrvec"]))


def _row(row: Mapping) -> dict[str, str]:
    return {key: str(row.get(key) or "") for key in ("section", "mask", "name", "value")}
