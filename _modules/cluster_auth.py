"""The keys that the cluster knows, brought in line with those that the master made."""

import configparser
import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import halocline
import halocline_monitors
from salt.exceptions import CommandExecutionError

CLAUSE = re.compile(r"\s*[,;]\s*")  # between two capabilities
NAMED = re.compile(r"\b(?:pool|fsname|data)=([^\s,;]+)")  # what of the cluster a capability opens
RECORD = ("iscsi", "gateway.conf")  # pool and object in which iSCSI gateways keep what they serve
OLD = "AQ"  # how keys of the cipher aes begin: with its number (src/auth/Crypto.cc of Ceph)
BEGUN = "halocline/key/"  # before an OSD's name, in the monitors: its key is being rotated
ABSENT = "(2) No such file or directory"  # of either, in the words of rados


def missing() -> dict[str, str]:
    """Return what the cluster lacks of this host's ``register`` keyring, by entity: ``new``, a ``fresh key`` or other
    ``capabilities``.

    Raises where such a key is none that the master made: keys are never replaced unasked.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_auth.missing
    """
    return {name: what for name, (what, _, _) in _lacking().items()}


def register() -> bool:
    """Give the cluster what it lacks of this host's ``register`` keyring; keys by standard input.

    Capabilities that a site wrote itself (``ceph_keys``) are given by commands that refuse what Ceph does not
    understand, in its own words; ``auth import`` takes any.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_auth.register
    """
    imported, own = "", __pillar__.get("ceph_keys") or {}
    for name, (what, key, caps) in _lacking().items():
        words = [name, *(word for pair in sorted(caps.items()) for word in pair)]
        if what == "new" and name in own:
            __salt__["cluster_cli.tell"](["auth", "add", *words, "-i", "-"], stdin=_section(name, key, {}))
        elif what == "capabilities" or name in own:
            __salt__["cluster_cli.tell"](["auth", "caps", *words])
        if what == "fresh key" or (what == "new" and name not in own):
            imported += _section(name, key, caps)
    if imported:
        __salt__["cluster_cli.tell"](["auth", "import", "-i", "-"], stdin=imported)
    return True


def replace(entity: str) -> bool:
    """Give the cluster the key that this host's pillar has for an entity it knows; what that may do stays as it is.
    Until ``replaced``, ``older`` names it: who uses the key may not have it yet.

    CLI Example: for ``salt-run secret.rotate osd.3``.
    """
    known = {entry["entity"]: entry["caps"] for entry in __salt__["cluster_cli.ask"](["auth", "ls"])["auth_dump"]}
    key = __pillar__.get("ceph_secrets", {}).get(entity)
    if not key or entity not in known:
        who = "the cluster" if key else "this host's pillar"
        raise CommandExecutionError(f"{who} has no key of {entity}: nothing was changed")
    __salt__["cluster_cli.tell"](["config-key", "set", f"{BEGUN}{entity}", "begun"])
    __salt__["cluster_cli.tell"](["auth", "import", "-i", "-"], stdin=_section(entity, key, known[entity]))
    return True


def replaced(entity: str) -> bool:
    """Note that who uses the key which ``replace`` gave the cluster runs with it.

    CLI Example: for ``salt-run secret.rotate osd.3``.
    """
    __salt__["cluster_cli.tell"](["config-key", "rm", f"{BEGUN}{entity}"])
    return True


def older() -> dict[str, list[str]]:
    """Return the entities whose key is of the cipher from before AES-256, and those of which a rotation was begun and
    did not end; no key leaves this host.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_auth.older
    """
    known, begun = __salt__["cluster_cli.ask_all"]([["auth", "ls"], ["config-key", "dump", BEGUN]])
    names = {entry["entity"] for entry in known["auth_dump"] if entry["key"].startswith(OLD)}
    return halocline.packed({"older": sorted(names | {key.removeprefix(BEGUN) for key in begun or {}})})


def remove(names: Sequence[str]) -> dict[str, list[str]]:
    """Take keys out of the cluster that no daemon or client of ours has any more; return which went.

    Refused for those that the master still registers, and those by which a cluster is known.

    names
        Entities, such as ``[mds.node4]``.

    CLI Example: for ``ceph.stage.removal``.
    """
    kept = {name for name, _, _ in _sections(_keyring())}
    if wrong := [name for name in names if name in kept or name.startswith(("mon.", "client.admin", "client.boot"))]:
        raise CommandExecutionError(f"{', '.join(wrong)}: still needed: no key was removed")
    known = {entry["entity"] for entry in __salt__["cluster_cli.ask"](["auth", "ls"])["auth_dump"]}
    gone = [name for name in names if name in known]
    for name in gone:
        __salt__["cluster_cli.tell"](["auth", "rm", name])
    return {"removed": gone}


def admin_differs() -> bool:
    """Return whether the cluster has another key for ``client.admin`` than this monitor's host has in pillar.

    Raises as ``missing`` does.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' cluster_auth.admin_differs
    """
    keys = {name: key for name, key, _ in _sections(__pillar__["ceph_secrets"]["mon"])}
    asker = halocline_monitors.monitor(__grains__["host"])
    key = halocline_monitors.ask([["auth", "get-key", "client.admin"]], asker)[0]["key"]
    differs = key != keys["client.admin"]
    _refuse(["client.admin"] if differs and not _earlier("client.admin", key) else [])
    return differs


def set_admin() -> bool:
    """Give the cluster this host's key of ``client.admin``, in the name of its monitor: the old one may be gone.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' cluster_auth.set_admin
    """
    keyring = __pillar__["ceph_secrets"]["mon"]
    asker = halocline_monitors.monitor(__grains__["host"])
    words = ["ceph", *asker.options(), "auth", "import", "-i", "-"]
    halocline.run(words, stdin=keyring[keyring.index("[client.admin]") :], limit=asker.limit)
    return True


def _lacking() -> dict[str, tuple[str, str, Mapping[str, str]]]:
    """What ``missing`` returns, each with its key and with what that is to open."""
    registered = {entry["entity"]: entry for entry in __salt__["cluster_cli.ask"](["auth", "ls"])["auth_dump"]}
    used = any(name.startswith("osd.") for name in registered)
    served = functools.cache(lambda beginning: SERVED[beginning]())  # one question for the keys of all hosts
    lacks, strange = {}, []
    for name, key, planned in _sections(_keyring()):
        entry = registered.get(name, {})
        caps = _kept(name, entry.get("caps", {}), planned, served)
        if entry.get("key") != key:
            lacks[name] = ("fresh key" if entry else "new", key, caps)
        elif entry["caps"] != caps:
            lacks[name] = ("capabilities", key, caps)
        # Monitors make bootstrap keys themselves with their store, so until an OSD was made nobody has used them.
        unused = name.startswith("client.bootstrap-") and not used
        if entry and entry["key"] != key and not unused and not _earlier(name, entry["key"]):
            strange.append(name)
    _refuse(strange)
    return lacks


def _kept(
    name: str, had: Mapping[str, str], planned: Mapping[str, str], served: Callable[[str], set[str]]
) -> Mapping[str, str]:
    """The capabilities of a key, with those that it has for what the settings no longer name and which is there yet: a
    gateway whose record holds an image that it may not open does not start, nor may a host lose a mounted file system.
    """
    beginning = ".".join(name.split(".")[:2])
    if beginning not in SERVED or name in (__pillar__.get("ceph_keys") or {}):
        return planned
    gone = {
        service: [cap for cap in CLAUSE.split(had.get(service, "")) if set(NAMED.findall(cap)) - {*NAMED.findall(caps)}]
        for service, caps in planned.items()
    }
    still = served(beginning) if any(gone.values()) else set()
    return {
        service: ", ".join(
            filter(None, [*(cap for cap in gone[service] if still.issuperset(NAMED.findall(cap))), caps])
        )
        for service, caps in planned.items()
    }


def _file_systems() -> set[str]:
    """The file systems that there are."""
    return {system["mdsmap"]["fs_name"] for system in __salt__["cluster_cli.ask"](["fs", "dump"])["filesystems"]}


def _image_pools() -> set[str]:
    """The pools of all images that iSCSI gateways serve. Their record is read as it is kept: none of them need run."""
    pool, record = RECORD
    try:
        text = halocline.run(["rados", "--pool", pool, "get", record, "-"], limit=60, secret=True)
    except CommandExecutionError as err:
        if ABSENT in str(err):  # no gateway has begun yet
            return set()
        raise
    try:
        return {disk["pool"] for disk in json.loads(text or '{"disks": {}}')["disks"].values()}
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise CommandExecutionError(
            f"{pool}/{record} is no record of iSCSI gateways ({err!r}): what they serve is not known, so no key was "
            "changed; a gateway may write it just now: run it again"
        ) from err


# By the beginning of a key's name, what is served by it whether the settings name it or not. NFS servers serve their
# exports alone, and what a site writes in ceph_keys is its own word.
SERVED: Mapping[str, Callable[[], set[str]]] = {"client.cephfs": _file_systems, "client.igw": _image_pools}


def _earlier(name: str, key: str) -> bool:
    """Whether a key is one that ``secret.rotate`` replaced: the master tells their hashes."""
    return hashlib.sha256(key.encode()).hexdigest() in __pillar__.get("ceph_earlier_keys", {}).get(name, ())


def _refuse(names: Sequence[str]) -> None:
    if names:
        raise CommandExecutionError(
            f"{', '.join(names)}: the cluster has another key than the master, and none that the master made: nothing "
            "was replaced; put the keys of the master that deployed this cluster back, or let it take a key that was "
            "made by hand ('salt-run secret.take NAME FILE'), run ceph.stage.configure, then this again"
        )


def _keyring() -> str:
    return __pillar__["ceph_secrets"]["register"]


def _sections(keyring: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """``(name, key, caps)`` of each section of a keyring (ceph-authtool(8) gives its form)."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(keyring.replace("\t", ""))
    for name in parser.sections():
        section = dict(parser[name])
        caps = {key.split(None, 1)[1]: value.strip('"') for key, value in section.items() if key.startswith("caps ")}
        yield name, section["key"], caps


def _section(name: str, key: str, caps: Mapping[str, str]) -> str:
    """The same of one entity as a keyring has it."""
    lines = [f"[{name}]", f"\tkey = {key}", *(f'\tcaps {service} = "{cap}"' for service, cap in sorted(caps.items()))]
    return "\n".join(lines) + "\n"
