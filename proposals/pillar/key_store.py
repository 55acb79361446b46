"""The master's keys on disk, changed by name: rotated, taken in, revoked. Configure makes those that are missing.

Whatever is replaced stays known by its hash (``earlier.json``): the cluster may hold it still. The new key is written
before anybody is told of it.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from proposals.files import atomic, documents, tree
from proposals.files.site import Site
from proposals.pillar import chosen, secrets
from proposals.pillar.generation import dump_secrets
from proposals.pillar.held import Keys
from proposals.services.radosgw import users
from proposals.text.errors import ArgumentError, StoreError


def kept(path: Path) -> dict:
    """Return what one of the key store's files holds; nothing where it is not there. Raises StoreError."""
    text = atomic.read_text(path) if path.exists() else "{}"
    try:
        known = documents.parse_json(text, path)
    except StoreError:
        known = None
    if not isinstance(known, dict):
        raise StoreError(
            f"{path} holds no JSON as the master wrote it: put it back, as root only, from a backup of the master"
        )
    return known


def held(site: Site) -> Keys:
    """Return by which hashes the master's keys are known, those from before a rotation too."""
    known = {name: secrets.digest(key) for name, key in kept(site.keys).items() if secrets.is_entity(name)}
    return Keys(known, kept(site.earlier))


def fresh_key(site: Site) -> str:
    """Return a fresh cephx key, of the cipher that hosts which are served know, as discovery saw them."""
    return secrets.new_key(cipher(site))


def cipher(site: Site) -> str:
    """Return the cipher of fresh keys."""
    return secrets.cipher(_served(site).values())


def older_hosts(site: Site) -> list[str]:
    """Return the minions that are served whose Ceph knows the older cipher alone, as far as discovery saw."""
    known = {minion: host.get("ceph_cipher", secrets.OLD) for minion, host in _served(site).items()}
    return sorted(minion for minion, cipher in known.items() if cipher == secrets.OLD)


def _served(site: Site) -> dict[str, Mapping]:
    """The hosts that are served, as far as discovery saw them: a leaked key does not wait for an inventory."""
    served = site.current
    if not served.is_dir():  # where a restore is staged, the link leads to where nothing is yet
        served = site.generations / served.resolve().name
    roles = chosen.roles({f"cluster/{path.name}": tree.mapping(path) for path in served.glob("cluster/*.sls")})
    files = {minion: site.inventory / f"{minion}.json" for minion in roles}
    hosts = {
        minion: documents.parse_json(atomic.read_text(file), file) for minion, file in files.items() if file.exists()
    }
    return {minion: host for minion, host in hosts.items() if isinstance(host, Mapping)}


def check_rotated(site: Site, name: str) -> None:
    """Raise ArgumentError where a key or password cannot be rotated."""
    secrets.rotated(kept(site.keys), name)
    _not_given(site, name)


def rotate(site: Site, name: str) -> None:
    """Make a fresh key for an entity; minions are told by the next configure. Raises ArgumentError."""
    check_rotated(site, name)
    _put(site, name, secrets.rotated(kept(site.keys), name, cipher(site))[name])


def take(site: Site, name: str, keyring: str) -> bool:
    """Take in an entity's key that was made elsewhere, from a keyring's text; False where it is the master's already.

    Raises ArgumentError where the keyring holds none of it.
    """
    _not_given(site, name)
    key = secrets.of_keyring(keyring, name)
    if kept(site.keys).get(name) == key:
        return False
    _put(site, name, key)
    return True


def adopt(site: Site, keys: Mapping[str, str]) -> bool:
    """Take in the keys of a cluster that others made; False where the master has all of them already.

    Raises ArgumentError, with nothing written, where it has one of them otherwise.
    """
    known = kept(site.keys)
    if differ := sorted(name for name, key in keys.items() if known.get(name, key) != key):
        raise ArgumentError(f"{', '.join(differ)}: the master has another key: nothing was written")
    if keys.items() <= known.items():
        return False
    atomic.close_folder(site.keys.parent)
    atomic.write(site.keys, json.dumps({**known, **keys}, indent=1), mode=0o600)
    return True


def revoke(site: Site, name: str) -> bool:
    """Forget an entity's key, on the master and in what minions may know; return whether somebody is told a fresh one.

    Who was told the old key is told a fresh one at once: no stage may give the cluster the old one back. Raises
    ArgumentError.
    """
    check_revoked(site, name)
    told = {path: tree.read_yaml(path) for path in sorted(site.secrets.glob("*.yml"))}
    known = held(site)
    # Interrupted, a run before this one may have told a fresh key to some hosts alone.
    old = {*known.earlier.get(name, ()), known.known.get(name, "")}
    told = {path: content for path, content in told.items() if secrets.tells(content["ceph_secrets"], name, old)}
    _put(site, name, fresh := fresh_key(site) if told else None)
    for path, content in told.items():
        uses = secrets.rekeyed(content["ceph_secrets"], name, old, str(fresh))
        atomic.write(path, dump_secrets({**content, "ceph_secrets": uses}), mode=0o600)
    return bool(told)


def check_revoked(site: Site, name: str) -> None:
    """Raise ArgumentError where an entity's key cannot be revoked because the site itself gave it."""
    _not_given(site, name)


def unasked(site: Site, entities: Collection[str]) -> list[str]:
    """Return the clients whose key the master has, and that are none of some entities."""
    return sorted(name for name in kept(site.keys) if name.startswith("client.") and name not in entities)


def lend(site: Site, minion: str, use: str, secret: str | None) -> None:
    """Tell a minion a secret that configure does not; None takes it back."""
    path = site.secrets / f"{minion}.yml"
    content = tree.read_yaml(path) if path.exists() else {}
    uses = {each: text for each, text in content.get("ceph_secrets", {}).items() if each != use}
    if secret:
        uses[use] = secret
    if uses:
        atomic.write(path, dump_secrets({**content, "ceph_secrets": uses}), mode=0o600)
    elif content:
        atomic.remove(path)


def _put(site: Site, name: str, key: str | None) -> None:
    """Replace an entity's key or a password; None takes it out."""
    known, earlier = kept(site.keys), kept(site.earlier)
    if name in known and (secrets.is_entity(name) or name.startswith(users.secret(""))):  # that gateways may have yet
        earlier[name] = sorted({*earlier.get(name, ()), secrets.digest(known[name])})
        atomic.write(site.earlier, json.dumps(earlier, indent=1), mode=0o600)
    fresh: Mapping[str, str] = {**{each: known[each] for each in known if each != name}, **({name: key} if key else {})}
    if fresh != known:
        atomic.write(site.keys, json.dumps(fresh, indent=1), mode=0o600)


def _not_given(site: Site, name: str) -> None:
    if (path := site.given / name).exists():
        raise ArgumentError(f"{name} is given by the site itself: change {path}, or take it away; nothing was changed")
