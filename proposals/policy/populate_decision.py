"""What populate would change: a value that says which files are written, kept, removed, and why.

For each file three contents are compared: what populate wrote last (its hash stands in proposal.json), what
lies there, and what it would write now. An edited file is the admin's: it is written only by force. An empty one says
nothing, as after a power failure, and counts as absent."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from typing import Any, NamedTuple

from proposals.disks.plan import DiskPlan
from proposals.inventory.compare import moves_are_told
from proposals.policy import fragments
from proposals.policy.fragments import digest
from proposals.text.errors import StoreError
from proposals.text.names import shown

PENDING = "pending"  # in proposal.json while populate writes: hashes of what it is about to write
KINDS: Mapping[str, Any] = {  # of what stands in those entries; a file that was edited may hold anything
    **dict.fromkeys(("data", "format", "id", "class", "role", "name"), str),
    **dict.fromkeys(("db", "wal", "encryption", "uuid", "reason"), str | None),
    **dict.fromkeys(("db_size", "wal_size"), int | None),
    **dict.fromkeys(("size", "osds", "raw_bytes"), int),
    "existing": bool,
}
LISTS: Mapping[str, set] = {  # of each host of a stored proposal of disks, with the keys of each entry
    "osds": {"data", "db", "wal", "db_size", "wal_size", "format", "encryption", "uuid", "existing"},
    "disks": {"id", "class", "size", "role", "reason"},
}
DEVICES = {"id", "osds", "raw_bytes"}  # keys of each of a host's "devices", where it has them
DIFF_LINES = 40  # of one file's difference


@dataclass(frozen=True, slots=True)
class Populated:
    """How populate went: status 1 asks the admin to look. Paths are relative to the profile."""

    status: int
    written: tuple[str, ...]
    kept: tuple[str, ...]
    removed: tuple[str, ...]
    messages: tuple[str, ...]

    def as_dict(self) -> dict:
        """The report as plain data."""
        lists = {"written": self.written, "kept": self.kept, "removed": self.removed, "messages": self.messages}
        return {"status": self.status, **{key: list(value) for key, value in lists.items()}}


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do: ``write`` path -> text; ``proposal`` is the new proposal.json."""

    write: Mapping[str, str]
    remove: tuple[str, ...]
    kept: tuple[str, ...]
    messages: tuple[str, ...]
    status: int
    proposal: str


class Wanted(NamedTuple):
    """What a plan asks for, of disks or of networks: its name, the hosts it covers, every file by path relative to
    its folder, and ``stored``: from hashes of files and hosts kept of the proposal before to proposal.json's text."""

    name: str
    covered: frozenset[str]
    files: Mapping[str, str]
    stored: Callable[[Mapping[str, str], Mapping[str, Mapping]], str]


def wanted(plan: DiskPlan) -> Wanted:
    """The files that ``plan`` asks for."""
    answer = plan.as_dict()
    texts = fragments.profile(plan, answer)
    files = {path: text for each in texts.values() for path, text in each.items()}
    covered = frozenset(planned.host.id for planned in plan.hosts)
    return Wanted(plan.arguments.name, covered, files, partial(fragments.stored, plan, answer))


class _Comparison:
    """Gathers, file by file, what populate is to do."""

    def __init__(self, before: Mapping, present: Mapping[str, str], force: bool) -> None:
        self.recorded, self.pending = before.get("files", {}), before.get(PENDING, {})
        self.present, self.force = present, force
        self.write: dict[str, str] = {}
        self.hashes: dict[str, str] = {}
        self.remove: list[str] = []
        self.kept: list[str] = []
        self.messages: list[str] = []
        self.status = 0

    def planned(self, path: str, text: str) -> None:
        """A file that the plan asks for."""
        last, there, now = self.recorded.get(path), self.present.get(path), digest(text)
        self.hashes[path] = now
        if there == text:
            return
        known = (last, self.pending.get(path))
        if there is None or not there.strip() or self.force or digest(there) in known:
            self.write[path] = text
            return
        self.kept.append(path)
        if last == now:
            self.messages.append(f"{path} was edited and is kept")
            return
        self.status = 1
        self.hashes[path] = last or ""
        self.messages.append(f"{path} was edited and the plan has changed: kept (force=true writes it)")
        self.messages.append(_diff(there, text))

    def no_longer(self, path: str) -> None:
        """A file of a host of the plan that was written before and is not asked for any more."""
        there, last = self.present.get(path), self.recorded[path]
        if there is None:
            return
        if digest(there) == last or self.force or not there.strip():
            self.remove.append(path)
            return
        self.status, self.hashes[path] = 1, last
        self.kept.append(path)
        self.messages.append(f"{path} was edited and is no longer planned: kept; force=true removes it")


def decide(asked: Wanted, before: Mapping, present: Mapping[str, str], force: bool) -> Decision:
    """Compare what was written (``before`` is the stored proposal), what is asked for and what is ``present``."""
    comparison = _Comparison(before, present, force)
    for path, text in asked.files.items():
        comparison.planned(path, text)
    outside = {
        path: last
        for path, last in comparison.recorded.items()
        if _host(path) not in asked.covered and path not in asked.files
    }
    for path in sorted(comparison.recorded.keys() - asked.files.keys() - outside.keys()):
        comparison.no_longer(path)
    proposal = asked.stored({**comparison.hashes, **outside}, _kept_hosts(before, asked.covered, outside))
    lists = (tuple(comparison.remove), tuple(comparison.kept), tuple(comparison.messages))
    return Decision(comparison.write, *lists, comparison.status, proposal)


def announced(before: Mapping, name: str, write: Mapping[str, str]) -> str:
    """The proposal before, with what is about to be written: a populate that is killed edited nothing."""
    old = before or {"name": name, "arguments": {}, "hosts": {}, "files": {}}
    return json.dumps({**old, PENDING: {path: digest(text) for path, text in write.items()}}) + "\n"


def check_stored(document: Any, path: object, lists: Mapping[str, set] = LISTS) -> dict:
    """``found`` where it has the form of a proposal.json, each host with these lists. Raises StoreError."""
    hosts: Any = document.get("hosts") if isinstance(document, dict) else None
    good = isinstance(hosts, dict) and isinstance(document.get("arguments"), dict) and "name" in document
    good = good and all(isinstance(document.get(key, {}), dict) for key in ("files", PENDING))
    for host in hosts.values() if good else ():
        for key, keys in lists.items():
            listed: Any = host.get(key) if isinstance(host, dict) else None
            good = good and isinstance(listed, list)
            good = good and all(_is_entry(entry, keys) for entry in listed)
        good = good and all(moves_are_told(osd) for osd in host.get("osds", ()))
        devices = host.get("devices", []) if good else None
        good = isinstance(devices, list) and all(_is_entry(entry, DEVICES) for entry in devices)
        good = good and isinstance(host.get("in_place_of", {}), dict)
    if not good:
        raise StoreError(f"{path} is not a stored proposal: restore it, or move its folder away and populate again")
    return document


def _is_entry(entry: Any, keys: set) -> bool:
    return isinstance(entry, dict) and set(entry) >= keys and all(isinstance(entry[key], KINDS[key]) for key in keys)


def _host(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _kept_hosts(before: Mapping, covered: frozenset[str], outside: Mapping[str, str]) -> dict[str, dict]:
    """Hosts of the proposal before that lie outside this plan, with the arguments they were planned with."""
    named = {_host(path) for path in outside}
    return {
        host: {"arguments": before.get("arguments"), **planned}
        for host, planned in before.get("hosts", {}).items()
        if host not in covered and (host in named or planned.get("osds"))
    }


def _diff(there: str, wanted: str) -> str:
    lines = list(unified_diff(there.splitlines(), wanted.splitlines(), "as it is", "as planned", lineterm="", n=1))
    more = [f"... {len(lines) - DIFF_LINES} lines more"] if len(lines) > DIFF_LINES else []
    return "\n".join(lines[:DIFF_LINES] + more)


def differing(path: str, there: Any, wanted: Any) -> list[str]:
    """What a config fragment says otherwise than discovery would write it."""
    there = there if isinstance(there, dict) else {}
    return [
        f"{path}: {key} is {_word(there.get(key))}, discovery found {_word(value)}: kept as it is"
        for key, value in (wanted or {}).items()
        if there.get(key) != value
    ]


def _word(value: Any) -> str:
    return "not set" if value is None else f"'{shown(value)}'"


def report(decided: Decision, more: list[str]) -> Populated:
    """The report of a decision that was carried out."""
    messages = (*decided.messages, *more)
    return Populated(decided.status, tuple(sorted(decided.write)), decided.kept, decided.remove, messages)
