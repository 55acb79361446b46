"""The keys that the cluster knows, brought in line with those that the master made."""

import configparser
import hashlib
from collections.abc import Iterator, Mapping, Sequence

import halocline
import halocline_monitors
from salt.exceptions import CommandExecutionError


def missing() -> dict[str, str]:
    """Return what the cluster lacks of this host's ``register`` keyring, by entity: ``new``, a ``fresh key`` or other
    ``capabilities``.

    Raises where such a key is none that the master made: keys are never replaced unasked.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_auth.missing
    """
    registered = {entry["entity"]: entry for entry in __salt__["cluster_cli.ask"](["auth", "ls"])["auth_dump"]}
    used = any(name.startswith("osd.") for name in registered)
    lacks, strange = {}, []
    for name, key, caps in _sections(_keyring()):
        entry = registered.get(name, {})
        if entry.get("key") != key:
            lacks[name] = "fresh key" if entry else "new"
        elif entry["caps"] != caps:
            lacks[name] = "capabilities"
        # Monitors make bootstrap keys themselves with their store, so until an OSD was made nobody has used them.
        unused = name.startswith("client.bootstrap-") and not used
        if entry and entry["key"] != key and not unused and not _earlier(name, entry["key"]):
            strange.append(name)
    _refuse(strange)
    return lacks


def register() -> bool:
    """Give the cluster what it lacks of this host's ``register`` keyring; keys by standard input.

    Capabilities that a site wrote itself (``ceph_keys``) are given by commands that refuse what Ceph does not
    understand, in its own words; ``auth import`` takes any.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_auth.register
    """
    lacks, imported = missing(), ""
    own = __pillar__.get("ceph_keys") or {}
    for name, key, caps in _sections(_keyring()):
        words = [name, *(word for pair in sorted(caps.items()) for word in pair)]
        if lacks.get(name) == "new" and name in own:
            __salt__["cluster_cli.tell"](["auth", "add", *words, "-i", "-"], stdin=_section(name, key, {}))
        elif lacks.get(name) == "capabilities" or (name in lacks and name in own):
            __salt__["cluster_cli.tell"](["auth", "caps", *words])
        if lacks.get(name) == "fresh key" or (lacks.get(name) == "new" and name not in own):
            imported += _section(name, key, caps)
    if imported:
        __salt__["cluster_cli.tell"](["auth", "import", "-i", "-"], stdin=imported)
    return True


def replace(entity: str) -> bool:
    """Give the cluster the key that this host's pillar has for an entity it knows; what that may do stays as it is.

    CLI Example: for ``salt-run secret.rotate osd.3``.
    """
    known = {entry["entity"]: entry["caps"] for entry in __salt__["cluster_cli.ask"](["auth", "ls"])["auth_dump"]}
    key = __pillar__.get("ceph_secrets", {}).get(entity)
    if not key or entity not in known:
        who = "the cluster" if key else "this host's pillar"
        raise CommandExecutionError(f"{who} has no key of {entity}: nothing was changed")
    __salt__["cluster_cli.tell"](["auth", "import", "-i", "-"], stdin=_section(entity, key, known[entity]))
    return True


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
