"""What is wrong with an installation of the product: a row and a function each, and the command that mends it.

It needs none of the pinned libraries: one that is missing is among what it tells.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from proposals.stages import masters
from proposals.text.errors import InventoryError
from proposals.text.names import is_minion_id, printable, shown
from proposals.text.notes import FEW, several
from proposals.validation import master_load
from proposals.validation.master_load import Load

LEAST = 256 << 20  # bytes free: a log, a cache and a generation fit
NAMED = 3  # parts that one line names
MEET = "salt-key --list-all; ceph_minions says which of them are; salt-run minions.invite brings a host up"
REFUSE = "ls -b /etc/salt/pki/master/minions_pre /etc/salt/pki/master/minions_denied, and remove its file there by hand"
PREP = "salt-run state.orch ceph.stage.prep"
HOME = "/srv/halocline"
CHECKOUT = "srv/install of the checkout that you installed from, or of a newer one"
RESTART = "systemctl restart salt-master"


@dataclass(frozen=True)
class Host:
    """What a minion has: the product's version, ``{part: hash}``, bytes free by folder; its active masters."""

    version: str
    parts: Mapping[str, str]
    room: Mapping[str, int]
    masters: object = ()


@dataclass(frozen=True)
class Installation:
    """What was seen of a master and its minions; what is empty was well, or was not looked at.

    refused
        Why the master takes no job.
    above
        Whether it is a master of masters: nobody was asked then.
    beside
        Whether the site says that minions may have other masters too.
    older
        The file of its configuration that was written since it began.
    pillar
        Why its own pillar does not hold what Halocline serves.
    cached
        Whether it keeps the pillars that it compiled.
    settings
        Keys of its configuration that lack what the shipped drop-in says.
    backends
        Where the master takes files from, where that is not its file_roots.
    files
        What srv/install wrote and is missing or edited: ``{path: which}``.
    source
        The tree from which srv/install brings them again; empty where none is left but the installed one.
    libraries
        What Salt's Python lacks.
    logs
        The folders of run logs and of the site to which nothing can be written: ``{folder: (why, the user who must)}``.
    room
        Bytes free by folder, on the master.
    load
        The master's means for all of its minions at once.
    waiting, denied
        Minions whose keys are neither accepted nor refused yet; whose keys are not those that were accepted.
    ours
        Minions of ours, of whom ``silent`` and ``failed`` (with why) did not answer, and ``hosts`` did.
    served
        Our parts as the master serves them: ``{part: hash}``.
    """

    refused: str = ""
    above: bool = False
    beside: bool = False
    older: str = ""
    pillar: str = ""
    cached: bool = False
    settings: Sequence[str] = ()
    backends: Sequence[str] | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    libraries: Sequence[str] = ()
    logs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    room: Mapping[str, int] = field(default_factory=dict)
    load: Load | None = None
    waiting: Sequence[str] = ()
    denied: Sequence[str] = ()
    ours: Sequence[str] = ()
    silent: Sequence[str] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, Host] = field(default_factory=dict)
    served: Mapping[str, str] = field(default_factory=dict)


class Wrong(NamedTuple):
    """One thing that is wrong: of which minions (none: of the master), and what mends it, a command first."""

    check: str
    minions: tuple[str, ...]
    message: str
    mend: str


class Check(NamedTuple):
    """A row: what is right in one line, and who looks; it yields minions, message and what mends it."""

    id: str
    about: str
    look: Callable[[Installation], Iterable[tuple[Sequence[str], str, str]]]


def _install(seen: Installation) -> str:
    return f"python3 {shlex.quote(f'{seen.source or HOME}/srv/install')}"


def _master(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    if seen.refused:
        yield (), seen.refused, f"{RESTART}; 'journalctl -u salt-master' says why it ended"


def _above(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    if seen.above:
        yield (), "it is a master of masters ('order_masters: True'), and asks no minion", masters.BELOW


def _beside(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    found = masters.several_active({minion: host.masters for minion, host in seen.hosts.items()})
    for minion, active in () if seen.beside else found.items():
        what = f"it takes jobs from several masters at once: {', '.join(active)}"
        yield (minion,), what, f"{masters.ONE}; {masters.ALLOW}"


def _restart(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    if seen.older:
        yield (), f"the master runs since before {seen.older} was written", RESTART


def _settings(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    if seen.settings:
        lacking = ", ".join(seen.settings)
        yield (), f"the master's configuration lacks what the drop-in says of {lacking}", f"{_install(seen)}; {RESTART}"
    if seen.backends is not None:
        roots = ", ".join([*(each for each in seen.backends if each != "roots"), "roots"])
        what = f"fileserver_backend is {', '.join(seen.backends) or 'empty'}, expected a list with roots"
        mend = f"echo 'fileserver_backend: [{roots}]' >>{master_load.CONFIG}; {RESTART}"
        yield (), f"the master serves no file of its file_roots: {what}", mend


def _files(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    for path, which in seen.files.items():
        first = f"mv '{path}' '{path}.mine'; " if which == "edited" else ""
        again = CHECKOUT if path.startswith(f"{HOME}/") and not seen.source else _install(seen)
        yield (), f"{path}, which srv/install wrote, is {which}", f"{first}{again}; {RESTART}"


def _libraries(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    if seen.libraries:
        yield (), f"Salt's Python lacks {', '.join(seen.libraries)}", _install(seen)


def _pillar(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    if seen.pillar:
        yield (), seen.pillar, f"{_install(seen)}; {RESTART}; what it says of the site's own files is mended there"
    if seen.cached:
        what = "pillar_cache: True hides each change from minions for pillar_cache_ttl, and no stage begins"
        yield (), what, f"echo 'pillar_cache: False' >>{master_load.CONFIG}; {RESTART}"


def _logs(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    for folder, (why, user) in seen.logs.items():
        mend = f"mkdir -p -m 750 '{folder}'; chown -R {user} '{folder}'; where that is refused, remount it for writing"
        yield (), f"nothing can be written to {folder}: {why}", mend


def _room(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    rooms: dict[str, dict[str, int]] = {"": dict(seen.room)}
    rooms |= {minion: dict(host.room) for minion, host in seen.hosts.items()}
    for minion, folders in rooms.items():
        for folder, free in folders.items():
            if free < LEAST:
                what = f"{shown(folder)} has {free >> 20} MiB free, expected {LEAST >> 20} or more"
                mend = f"du -xh --max-depth=2 {shown(folder)} | sort -h | tail: what fills it"
                yield (minion,) if minion else (), what, mend


def _load(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    if seen.load:
        yield from (((), message, mend) for message, mend in master_load.wrong(seen.load, len(seen.ours)))


def _keys(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    for odd in (minion for minion in (*seen.waiting, *seen.denied) if not is_minion_id(minion)):
        # Anybody in the network may offer a key under any name: no command is shown with it, as * would mean all.
        yield (shown(odd),), "a key under an id that no minion of ours may have", REFUSE
    for minion in filter(is_minion_id, seen.waiting):
        same = "once 'salt-key --finger' and 'salt-call --local key.finger' there tell the same"
        yield (minion,), "its key is not accepted", f"salt-key --accept={minion}, {same}"
    for minion in filter(is_minion_id, seen.denied):
        again = f"salt-key --delete={minion}, if the host was made anew; then accept its key again"
        yield (minion,), "its key is another than the one that was accepted", again


def _none(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    if not seen.ours and not seen.pillar:
        yield (), "no minion is managed by Halocline", MEET


def _silent(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    if seen.silent:
        yield seen.silent, "does not answer", "systemctl restart salt-minion, there; then 'salt-run manage.status'"


def _failed(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    for minion, why in seen.failed.items():
        yield (minion,), why, PREP


def _parts(seen: Installation) -> Iterator[tuple[Sequence[str], str, str]]:
    for minion, host in seen.hosts.items():
        if differ := differing(seen.served, host):
            more = f" and {len(differ) - NAMED} more" if len(differ) > NAMED else ""
            which = f"{', '.join(differ[:NAMED])}{more}"
            yield (minion,), f"it has version {host.version}, and other parts than the master serves: {which}", PREP


CHECKS = (
    Check("master", "Salt's master runs and takes jobs", _master),
    Check("above", "the master is the one that its minions know", _above),
    Check("restart", "the master runs by its configuration as it is now", _restart),
    Check("drop-in", "the master's configuration has all that the shipped drop-in says", _settings),
    Check("files", "what srv/install wrote is there, as it was written", _files),
    Check("libraries", "Salt's Python has the pinned libraries", _libraries),
    Check("pillar", "the master's own pillar is Halocline's, and minions are told of each change", _pillar),
    Check("logs", "run logs can be written, and <pillar_root>/ceph", _logs),
    Check("room", f"{LEAST >> 20} MiB are free where Salt and Halocline write", _room),
    Check("load", "the master bears all minions at once: worker_threads, gather_job_timeout", _load),
    Check("keys", "every minion's key is accepted, and the one that it uses", _keys),
    Check("minions", "minions are managed by Halocline", _none),
    Check("silent", "every minion of ours answers", _silent),
    Check("answers", "every minion's answer can be read", _failed),
    Check("masters", "no minion takes jobs from several masters at once", _beside),
    Check("parts", "every minion has the parts that the master serves", _parts),
)


def read(answer: Mapping[str, Any]) -> Host:
    """Return what a minion answered to ``host_parts.look``; InventoryError where it has not that form."""
    parts, room = answer.get("parts"), answer.get("room")
    if not isinstance(parts, Mapping) or not isinstance(room, Mapping):
        raise InventoryError("host_parts.look did not answer {version, parts, room}")
    if not all(isinstance(free, int) for free in room.values()):
        raise InventoryError("host_parts.look: 'room' is not {folder: bytes}")
    parts = {str(part): str(hash_) for part, hash_ in parts.items()}
    return Host(shown(answer.get("version")), parts, dict(room), answer.get("masters"))


def differing(served: Mapping[str, str], host: Host) -> list[str]:
    """Return the parts that the master serves and a minion has not, or has otherwise."""
    return sorted(part for part, hash_ in served.items() if host.parts.get(part) != hash_)


def run(seen: Installation) -> list[Wrong]:
    """Return all that is wrong, in the rows' order; what is said in the same words of several minions is one."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for check in CHECKS:
        for minions, message, mend in check.look(seen):
            found.setdefault((check.id, message, mend), []).extend(minions)
    return [
        Wrong(id_, tuple(sorted(set(minions))), printable(message), mend)
        for (id_, message, mend), minions in found.items()
    ]


def text(wrong: Sequence[Wrong], minions: int) -> str:
    """Return what a person reads; ``minions``: how many were looked at beside the master."""
    rows: dict[str, list[Wrong]] = {}
    for each in wrong:
        rows.setdefault(each.check, []).append(each)
    lines = [line for row in rows.values() for line in _lines(row)]
    counted = f"{len(CHECKS)} checks of the master and {minions} minions"
    return "\n".join([*lines, f"{counted}: {f'{len(wrong)} wrong' if wrong else 'all is well'}"])


def _lines(row: Sequence[Wrong]) -> Iterator[str]:
    """What a check found; of more than ``FEW`` the further ones are counted, as of a thousand keys that wait."""
    for each in row[:FEW]:
        who = several(list(each.minions)) if each.minions else "master"
        yield f"{who}: {each.message}  [{each.check}]"
        yield f"    -> {each.mend}"
    if rest := row[FEW:]:
        yield f"and {len(rest)} more: 'salt-run halocline.doctor --out json' names each  [{rest[0].check}]"
