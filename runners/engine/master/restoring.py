"""A backup restored onto this master: what is asked before, then one move for each part."""

import json
import os
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from proposals.files import placing, unpacking
from proposals.files.site import Site
from proposals.pillar import backup, held, key_store, secrets
from proposals.pillar.backup import Backup, Here, Judged
from proposals.text.errors import ArgumentError, PolicyError, ProposalError, StoreError
from proposals.text.names import shown
from runners.engine.master import age, backing_up

LIMIT = 20  # seconds for monitors to answer
CONNECT = 3  # seconds for the old master to take a connection
DENIED = "[errno 13]"  # librados: the monitors do not take the key


class Opened(NamedTuple):
    """An archive that was read whole: what it is, its keys, what would be put in place."""

    backup: Backup
    keys: Mapping[str, str]
    earlier: Mapping[str, Sequence[str]]
    wanted: list[str]

    @property
    def hashes(self) -> held.Keys:
        """Its keys, by hash."""
        known = {name: secrets.digest(key) for name, key in self.keys.items() if secrets.is_entity(name)}
        return held.Keys(known, self.earlier)


def opened(archive: str, words: list[str], places: Here) -> Opened:
    """Read an archive whole, and write nothing. Raises ProposalError where it is not to be restored here.

    archive
        Its path.
    words
        By which age decrypts it.
    places
        This master's.
    """
    path = Path(archive)
    if not path.is_file():
        raise ArgumentError(f"{shown(archive, 200)} is no file: expected an archive that master.backup made")
    checked: list[Backup] = []

    def judged(manifest: Any) -> list:
        checked.append(backup.check(manifest, places))
        return list(checked[0].entries)

    try:
        with age.decrypted(words, path) as stream:
            texts = unpacking.read(stream, judged, keep=(backup.KEYS, backup.EARLIER))
        known, earlier = (_mapping(texts.get(name)) for name in (backup.KEYS, backup.EARLIER))
    except StoreError as err:
        raise StoreError(f"nothing was restored from {path.name}: {err}") from err
    unpacking.owned(checked[0].entries)
    there = placing.states(checked[0].entries, places.folders, places.links)
    accepted = [key.name for key in places.accepted.iterdir()] if places.accepted.is_dir() else []
    return Opened(checked[0], known, earlier, backup.replaced(there, accepted, checked[0], places))


def old_master(found: Backup) -> None:
    """Raise PolicyError where the master that a backup was made of still takes connections, at any of its addresses."""
    for address in sorted(set(found.addresses) - set(backing_up.own())):
        for port in filter(lambda port: _answers(address, port), found.ports):
            raise PolicyError(
                f"nothing was restored: the old master still answers at {address}, port {port}: two masters with the "
                "same keys would both give orders; stop it for good (systemctl disable --now salt-master), then run "
                "this again"
            )


def stopped(places: Here) -> None:
    """Raise PolicyError where a salt-master runs here: it would go on with the keys that it has read."""
    if any(_answers(address, port) for address in ("localhost", *backing_up.own()) for port in places.ports):
        raise PolicyError(
            "nothing was restored: salt-master runs here, and would go on with its own keys: 'systemctl stop "
            "salt-master salt-minion', then run this again"
        )


def judged(found: Opened, silent: bool) -> Judged:
    """Return what monitors say of an archive. Raises PolicyError where they differ from it, or none answers.

    silent
        The admin says that none can: an archive may be restored then though nobody compared its keys.
    """
    if not found.backup.fsid and not silent:
        raise PolicyError(
            "nothing was restored: the archive is of a master that had no cluster yet, so nobody can say whose it is; "
            "add silent=true where you know"
        )
    told = _monitors(found, silent) if found.backup.fsid else None
    result = backup.judge(found.backup, found.hashes, told) if told else Judged([], asked=not found.backup.fsid)
    if result.against:
        raise PolicyError("nothing was restored:\n" + "\n".join(result.against))
    return result


def restore(archive: Path, words: list[str], places: Here, found: Opened, revoked: Sequence[str]) -> list[Path]:
    """Put in place what an archive holds; return what was moved aside for it.

    revoked
        The entities that the cluster has forgotten since: nobody gets these keys back.
    """

    def same(manifest: Any) -> list:
        if backup.check(manifest, places) != found.backup:
            raise StoreError("nothing was restored: the archive is another one than a moment ago")
        return list(found.backup.entries)

    with placing.staged(places.folders, found.wanted) as staged:
        with age.decrypted(words, archive) as stream:
            unpacking.read(stream, same, place=staged.place)
        if backup.PILLAR in staged.beside:
            paths = Site(staged.beside[backup.PILLAR] / "ceph", Path(places.product))
            for name in revoked:
                key_store.revoke(paths, name)
        return staged.move()


def _answers(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), CONNECT).close()
    except OSError:
        return False
    return True


def _monitors(found: Opened, silent: bool) -> dict[str, Any] | None:
    """What monitors hold, asked with the archive's own key of theirs, which no rotation replaces."""
    key = found.keys.get("mon.")
    if not key:
        raise PolicyError("nothing was restored: the archive has no key of the monitors: it is not whole")
    try:
        fsid = _ceph(found.backup.mon_host, key, "fsid")["fsid"]
        dump = _ceph(found.backup.mon_host, key, "auth", "ls")["auth_dump"]
        return {"fsid": fsid, "keys": {each["entity"]: secrets.digest(each["key"]) for each in dump}}
    except (KeyError, TypeError, ValueError) as err:
        raise ProposalError("nothing was restored: the monitors' answer is not of the form expected") from err
    except TimeoutError as err:
        if silent:
            return None
        raise PolicyError(
            f"nothing was restored: no monitor at {found.backup.mon_host} answered ({err}), so nobody can say whether "
            "the archive's keys are the cluster's: start the monitors, or see to the network; where they cannot run "
            "before this master does, add silent=true"
        ) from err


def _ceph(mon_host: str, key: str, *words: str) -> dict[str, Any]:
    """What Ceph answers a program; the key is in a file of memory alone. Raises TimeoutError where nobody answers."""
    ring = os.memfd_create("keyring")
    try:
        os.write(ring, f"[mon.]\n\tkey = {key}\n".encode())
        command = ["ceph", "--conf", "/dev/null", "--mon-host", mon_host, "--name", "mon."]
        command += ["--keyring", f"/proc/self/fd/{ring}", "--connect-timeout", str(LIMIT), "--format", "json", *words]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, pass_fds=[ring], timeout=3 * LIMIT, cwd="/"
        )
    except FileNotFoundError as err:
        raise ProposalError(
            "nothing was restored: 'ceph' is not installed here, with which the monitors are asked whose keys the "
            "archive has: install ceph-common, then run this again"
        ) from err
    except subprocess.TimeoutExpired as err:
        raise TimeoutError(f"no answer within {3 * LIMIT} s") from err
    finally:
        os.close(ring)
    if done.returncode == 0:
        return json.loads(done.stdout)
    said = shown(next(reversed(done.stderr.strip().splitlines()), "no word").replace(key, "KEY"), 200)
    if DENIED in said:
        raise PolicyError(
            f"nothing was restored: the monitors at {mon_host} do not take the archive's key ({said}): they are of "
            "another cluster, or the archive is"
        )
    raise TimeoutError(said)


def _mapping(text: str | None) -> dict[str, Any]:
    try:
        known = json.loads(text or "{}")
    except ValueError:
        known = None
    if not isinstance(known, dict):
        raise StoreError("its keys cannot be read: take another archive")
    return known
