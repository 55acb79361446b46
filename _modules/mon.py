"""This host's monitor: its store made from the planned monitor map, and its place in the quorum.

The steps are those of Ceph's manual deployment (docs.ceph.com, install/manual-deployment).
"""

import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import halocline
import halocline_socket
from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds one command may take
LOOK = 2  # seconds that a monitor may take to say where it listens: a host's facts wait for it
PAUSE = 0.3  # seconds between two looks
STORES = Path("/var/lib/ceph/mon")
FIRST, RELEASES = 16, ("pacific", "quincy", "reef", "squid", "tentacle")
VERSION = re.compile(r"ceph version (?P<release>\d+)\.\S+ \(\w+\) (?P<name>[a-z]+) ")
OLD_KEY = re.compile(r"^\s*key = AQ", re.MULTILINE)  # of the cipher aes: a key's type comes first


def exists() -> bool:
    """Return whether this host has a monitor's store. It is moved into place whole, so a folder is a store.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' mon.exists
    """
    return (_store() / "store.db").is_dir()


def status() -> dict[str, Any]:
    """Return ``{addresses, quorum}`` of this host's monitor: where it is in the monitors' map, and whether it is in a
    quorum; nothing and False where it does not run, or hangs.

    It keeps its addresses, whatever ceph.conf says (docs.ceph.com, rados/operations/add-or-rm-mons).

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' mon.status
    """
    told = halocline_socket.ask(_socket(), "mon_status", LOOK) or {}
    own = [each for each in told.get("monmap", {}).get("mons", ()) if each["name"] == _name()]
    places = [place["addr"] for each in own for place in each["public_addrs"]["addrvec"]]
    listens = sorted({place.rpartition(":")[0].strip("[]") for place in places})
    return {"addresses": listens, "quorum": any(each["rank"] in told["quorum"] for each in own)}


def create() -> bool:
    """Make this host's monitor store for the monitors that the pillar names, beside its place, then move it there.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' mon.create
    """
    work = STORES / f".{_store().name}.new"
    shutil.rmtree(work, ignore_errors=True)
    fresh, keyring, monmap = work / "store", work / "keyring", work / "monmap"
    fresh.mkdir(mode=0o750, parents=True)
    keyring.touch(mode=0o600)
    keyring.write_text(__pillar__["ceph_secrets"]["mon"], encoding="ascii")
    command = ["monmaptool", "--create", "--fsid", __pillar__["fsid"], "--set-min-mon-release", _oldest()]
    if __salt__["host_ceph.cipher"]() == "aes256k" and OLD_KEY.search(__pillar__["ceph_secrets"]["mon"]):
        command += ["--auth-allowed-ciphers", "aes,aes256k"]  # else the monitor takes none of these keys
    for monitor in __pillar__["ceph"]["monitors"]:
        command += ["--addv", monitor["name"], monitor["addrs"]]
    _run([*command, str(monmap)])
    for path in (work, fresh, keyring, monmap):
        shutil.chown(path, "ceph", "ceph")
    command = ["ceph-mon", "--mkfs", "--id", _name(), "--mon-data", str(fresh), "--monmap", str(monmap)]
    out = _run([*command, "--keyring", str(keyring), "--setuser", "ceph", "--setgroup", "ceph"])
    if not (fresh / "store.db" / "CURRENT").exists():  # it exits 0 too where it made nothing
        raise CommandExecutionError(f"ceph-mon --mkfs made no store in {fresh}: {out.strip()}")
    try:
        fresh.rename(_store())
    except OSError as err:  # a folder without a database, or a disk that is mounted there
        raise CommandExecutionError(
            f"{_store()} holds no store, and none can be moved there ({err.strerror}): move what is left of it away; a "
            f"disk of its own is mounted at {STORES}"
        ) from err
    shutil.rmtree(work)
    return True


def retire() -> str:
    """Stop this host's monitor for good and move its store aside; return where that is. Nothing is deleted.

    Refused where this host's pillar still gives it the role mon.

    CLI Example: for ``salt-run mon.remove``.
    """
    if "mon" in __pillar__.get("roles", ()):
        raise CommandExecutionError("this host has the role mon: its monitor was not stopped")
    if not exists():
        return "its host had no store"
    unit = f"ceph-mon@{_name()}"
    if _store().is_mount() and not _store().is_symlink():  # Python before 3.12 looks where a link leads
        raise CommandExecutionError(
            f"{_store()} is a disk of its own, which cannot be moved aside: 'systemctl disable --now {unit}', 'umount "
            f"{_store()}' and take it out of /etc/fstab there, then run this again; nothing was stopped"
        )
    _run(["systemctl", "disable", "--quiet", "--now", unit])
    aside = STORES / f".{_store().name}.removed-{time.strftime('%Y%m%dT%H%M%S')}"
    _store().rename(aside)
    return f"its store lies in {aside}"


def quorum(timeout: int = 60) -> list[str]:
    """Wait until this monitor is in a quorum; return the names in it. Each monitor's host asks for itself, so all of
    them are where all have answered; one that is away holds back none of the others.

    timeout
        Seconds to wait.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' mon.quorum
    """

    def look() -> list[str]:
        names = _quorum()
        if _name() in names:
            return sorted(names)
        others = {monitor["name"] for monitor in __pillar__["ceph"]["monitors"]} - {_name()}
        raise CommandExecutionError(
            f"mon.{_name()} is not in a quorum (with {', '.join(sorted(others)) or 'none'}): "
            f"look at 'journalctl -u ceph-mon@{_name()}' there and here, and at clocks and firewalls"
        )

    return halocline.until(look, timeout, pause=PAUSE)


def joined(timeout: int = 60) -> bool:
    """Wait until this monitor is in a quorum, whoever else is; raise where it is not after the limit.

    timeout
        Seconds to wait.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' mon.joined
    """

    def look() -> bool:
        if _name() in _quorum():
            return True
        raise CommandExecutionError(f"mon.{_name()} is in no quorum: look at 'journalctl -u ceph-mon@{_name()}' there")

    return halocline.until(look, timeout, pause=PAUSE)


def _quorum() -> set[str]:
    """The names in quorum as this monitor sees them, by its admin socket; empty while there is none."""
    status = halocline_socket.ask(_socket(), "mon_status", LIMIT)
    if status is None:
        return set()
    return {monitor["name"] for monitor in status["monmap"]["mons"] if monitor["rank"] in status["quorum"]}


def _socket() -> Path:
    return Path(f"/run/ceph/ceph-mon.{_name()}.asok")


def _name() -> str:
    return __grains__["host"]


def _store() -> Path:
    return STORES / f"ceph-{_name()}"


def _oldest() -> str:
    """The oldest release of monitors that this host's may form a quorum with: two before its own, as far as these are
    known here, else its own (docs.ceph.com/en/latest/releases/general).
    """
    text = _run(["ceph-mon", "--version"])
    if not (found := VERSION.match(text)):
        raise CommandExecutionError(
            f"ceph-mon --version: expected 'ceph version N.N.N (HASH) NAME', found '{text.strip()}'"
        )
    back = max(int(found["release"]) - FIRST - 2, 0)
    return RELEASES[back] if back < len(RELEASES) else found["name"]


def _run(command: Sequence[str]) -> str:
    return halocline.run(command, limit=LIMIT)
