"""What the monitors know of this host's OSDs in the making: number and key, given once and never doubled.

A number may be that of a destroyed OSD, which waits on this host for another disk (``salt-run osd.replace``). All by
the bootstrap key, whose profile allows no more than this: ``osd new``, ``osd purge-new`` and reading maps.
"""

import base64
import json
import secrets
import struct
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import halocline
import halocline_monitors
from salt.exceptions import CommandExecutionError

CLIENT = halocline_monitors.Client("client.bootstrap-osd", "/var/lib/ceph/bootstrap-osd/ceph.keyring", 60, 120)
OLD, NEW = (1, 16), (2, 32)  # of a key: its type and its random bytes, of the ciphers aes and aes256k
BLOCK, DATA_DIR = Path("/sys/class/block"), Path("/var/lib/ceph/osd")
KEYS = Path("/var/lib/ceph/bootstrap-osd/new")  # 0700; one file an OSD in the making, its key


def waiting(osds: Sequence[Mapping]) -> dict[str, int]:
    """Return which OSD in the making takes which id of a destroyed OSD: ``{fsid: id}``.

    An id goes to an OSD of the same host and device class (CRUSH keeps both with the id). One that is kept
    (``osd_waiting``) goes to the same OSD again, or to another one on its data disk, and to nobody else. OSDs that the
    cluster knows already keep theirs.

    osds
        Of ``osd.plan``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_register.waiting '[]'
    """
    tree = _asked(["osd", "tree", "destroyed"])["nodes"]
    hosts = [node for node in tree if node["type"] == "host" and node["name"] == __grains__["host"]]
    children = {child for host in hosts for child in host["children"]}
    free: dict[str | None, list[int]] = {}
    for node in tree:
        if node["id"] in children:
            free.setdefault(node.get("device_class"), []).append(node["id"])
    if not free:
        return {}
    registered = {osd["uuid"] for osd in _dump()}
    new = [osd for osd in osds if osd["fsid"] not in registered]
    destroyed = {osd_id for ids in free.values() for osd_id in ids}
    kept = {fsid: place for fsid, place in __salt__["osd_waiting.kept"]().items() if place["id"] in destroyed}
    taken = _again(new, kept)
    others = {place["id"] for place in kept.values()}
    for osd in (osd for osd in new if osd["fsid"] not in taken):
        if ids := set(free.get(_class(osd), ())) - others - set(taken.values()):
            taken[osd["fsid"]] = min(ids)
    return taken


def _again(osds: Sequence[Mapping], kept: Mapping[str, Mapping]) -> dict[str, int]:
    """The numbers that were kept for OSDs: by fsid, else by data disk."""
    taken = {osd["fsid"]: kept[osd["fsid"]]["id"] for osd in osds if osd["fsid"] in kept}
    for osd in (osd for osd in osds if osd["fsid"] not in kept):
        disk = osd["parts"]["data"]["disk"]
        ids = {place["id"] for place in kept.values() if place["data"] == disk} - set(taken.values())
        if ids:
            taken[osd["fsid"]] = min(ids)
    return taken


def new(osds: Sequence[Mapping]) -> dict[str, tuple[int, str] | str]:
    """Give the cluster OSDs and their keys, all at once; return ``{fsid: (id, key)}``, or why one was not given.

    The same fsid gives the same number again, unless that OSD ran: it was made, and its data may be wanted. Where the
    key of an interrupted run is lost, what that run registered is taken back first.

    osds
        Of ``osd.plan``; ``id`` where one takes over the number of a destroyed OSD, else it gets the lowest free one.

    CLI Example: for ``osd.deploy``.
    """
    if not osds:
        return {}
    lost = {osd["fsid"] for osd in osds if not (KEYS / osd["fsid"]).exists()}
    kind = _type() if lost else OLD
    given: dict[str, tuple[int, str] | str] = {}
    if kept := {osd["fsid"] for osd in osds} - lost:  # with its own key the monitors give an OSD again, ran it or not
        given.update({osd["uuid"]: str(_ran(osd["osd"])) for osd in _dump() if osd["uuid"] in kept and _began(osd)})
    todo = [osd for osd in osds if osd["fsid"] not in given]
    keys = {osd["fsid"]: _key(osd["fsid"], kind) for osd in todo}
    questions = [_new(osd, keys[osd["fsid"]]) for osd in todo]
    answers = halocline_monitors.attempt(questions, CLIENT) if questions else []
    for osd, question, answer in zip(todo, questions, answers, strict=True):
        fsid = osd["fsid"]
        try:
            if isinstance(answer, CommandExecutionError) and fsid in lost and forget(fsid):
                (answer,) = halocline_monitors.attempt([question], CLIENT)
            given[fsid] = str(answer) if isinstance(answer, CommandExecutionError) else (answer["osdid"], keys[fsid])
        except CommandExecutionError as err:
            given[fsid] = str(err)
    return given


def _new(osd: Mapping, key: str) -> halocline_monitors.Question:
    """The command that gives the cluster an OSD, and what it reads."""
    words = ["osd", "new", osd["fsid"], *([] if osd.get("id") is None else [str(osd["id"])])]
    told = {"cephx_secret": key, **({"crush_device_class": osd["class"]} if osd["class"] else {})}
    return words, json.dumps(told)


def marked(fsid: str) -> bool:
    """Return whether a run of ours began to make an OSD on this host and did not end.

    CLI Example: for ``osd_lvm.make``.
    """
    return (KEYS / f"{fsid}.begun").exists()


def begin(fsid: str) -> None:
    """Mark that a run begins to make an OSD on this host.

    CLI Example: for ``osd_lvm.make``.
    """
    KEYS.mkdir(mode=0o700, parents=True, exist_ok=True)
    (KEYS / f"{fsid}.begun").touch(mode=0o600)


def made(fsid: str, osd_id: int, data: str) -> None:
    """Note that an OSD is made: what was kept for the next run goes, and the place that waited for it.

    CLI Example: for ``osd_raw.make``.
    """
    for name in (fsid, f"{fsid}.begun"):
        (KEYS / name).unlink(missing_ok=True)
    __salt__["osd_waiting.release"](osd_id, fsid, data)


def known(fsid: str) -> bool:
    """Return whether the monitors know an OSD by its fsid; one that was destroyed has none any more.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_register.known 6b0c1f2e-0000-4000-8000-000000000000
    """
    return not unknown([fsid])


def unknown(fsids: Sequence[str]) -> list[str]:
    """Return those of some OSDs that the monitors do not know: never registered, destroyed or purged.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_register.unknown '[6b0c1f2e-0000-4000-8000-000000000000]'
    """
    registered = {osd["uuid"] for osd in _dump()}
    return [fsid for fsid in fsids if fsid not in registered]


def forget(fsid: str) -> bool:
    """Take back what an interrupted run registered: number and keys, and what it mounted on the number's folder before
    another OSD may have that. Return whether there was anything.

    ``osd purge-new`` refuses an OSD that was ever started: its data may be wanted. Such a one was made, whatever an
    interrupted run left as its mark.

    CLI Example: for ``osd_lvm.make``.
    """
    known = next((osd for osd in _dump() if osd["uuid"] == fsid), None)
    if known is None:
        return False
    if _began(known):
        (KEYS / f"{fsid}.begun").unlink(missing_ok=True)
        raise _ran(known["osd"])
    folder = DATA_DIR / f"ceph-{known['osd']}"
    if folder.is_mount():
        __salt__["osd_record.vacate"](folder)
    words = ["ceph", *CLIENT.options(), "osd", "purge-new", str(known["osd"]), "--yes-i-really-mean-it"]
    halocline.run(words, limit=CLIENT.limit)
    return True


def _began(osd: Mapping) -> bool:
    """Whether an OSD of the monitors' map was ever started."""
    return "new" not in osd["state"]


def _ran(osd_id: int) -> CommandExecutionError:
    """Why an OSD that was started is not made anew."""
    return CommandExecutionError(
        f"osd.{osd_id} ran already and is not whole on its disks: look at what became of them; "
        f"'salt-run osd.replace {osd_id}' destroys it and keeps its number for the next disk"
    )


def _class(osd: Mapping) -> str:
    """The device class that is planned, or that Ceph will see in the data disk (src/blk/kernel/KernelDevice.cc)."""
    if osd.get("class"):
        return osd["class"]
    disk = str(Path(osd["parts"]["data"]["disk"]).resolve())
    block = BLOCK / disk.removeprefix("/dev/").replace("/", "!")  # as disks_kernel finds it
    if (block / "queue/rotational").read_text().strip() == "1":
        return "hdd"
    return "nvme" if block.name.startswith("nvme") else "ssd"


def _key(fsid: str, kind: tuple[int, int]) -> str:
    """The key of an OSD in the making, kept until it is made: ``osd new`` answers only the same one again."""
    KEYS.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = KEYS / fsid
    if not kept.exists():
        fresh = KEYS / f"{fsid}.new"
        fresh.unlink(missing_ok=True)
        fresh.touch(mode=0o600)
        fresh.write_text(_new_key(*kind), encoding="ascii")
        fresh.rename(kept)
    return kept.read_text(encoding="ascii")


def _type() -> tuple[int, int]:
    """Of fresh keys: that of AES-256 where this host's Ceph and the monitors know it. Monitors from before 19.2.6 and
    20.2.4, which name no ciphers, do not.
    """
    if __salt__["host_ceph.cipher"]() != "aes256k":
        return OLD
    taken = _asked(["mon", "dump"]).get("auth_allowed_ciphers", ())
    return NEW if any(each["name"] == "aes256k" for each in taken) else OLD


def _new_key(kind: int, length: int) -> str:
    """A fresh cephx key: type, creation time, random bytes, in base64 (src/auth/Crypto.cc of Ceph)."""
    header = struct.pack("<HIIH", kind, int(time.time()), 0, length)
    return base64.b64encode(header + secrets.token_bytes(length)).decode("ascii")


def _dump() -> list[dict]:
    return _asked(["osd", "dump"])["osds"]


def _asked(words: Sequence[str]) -> Any:
    return halocline_monitors.ask([words], CLIENT)[0]
