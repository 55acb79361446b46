"""What populate would change: a value that says which files are written, kept, removed, and why.

For each file three contents are compared: what populate wrote last (its hash stands in proposal.json), what
lies there, and what it would write now. An edited file is the admin's: it is written only by force."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff

from proposals import fragments
from proposals.errors import StoreError
from proposals.fragments import digest
from proposals.plan import Plan

PENDING = "pending"  # in proposal.json while populate writes: hashes of what it is about to write
OSD = {"data", "db", "wal", "db_size", "wal_size", "format", "encryption", "uuid", "existing"}  # keys of each OSD
DISK = {"id", "class", "size", "role", "reason"}
DIFF_LINES = 40  # of one file's difference


@dataclass(frozen=True, slots=True)
class Report:
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


def files(plan: Plan) -> dict[str, str]:
    """Every file of the profile that ``plan`` asks for: path relative to the profile -> text."""
    return {path: text for texts in fragments.profile(plan).values() for path, text in texts.items()}


def decide(plan: Plan, before: Mapping, wanted: Mapping[str, str], present: Mapping[str, str], force: bool) -> Decision:
    """Compare what was written (``before`` is the stored proposal), what is ``wanted`` and what is ``present``."""
    recorded, write, kept, messages, status = dict(before.get("files", {})), {}, [], [], 0
    pending, hashes = before.get(PENDING, {}), {}
    for path, text in wanted.items():
        last, there = recorded.pop(path, None), present.get(path)
        hashes[path] = digest(text)
        if there == text:
            continue
        if there is None or force or digest(there) in (last, pending.get(path)):
            write[path] = text
            continue
        kept.append(path)
        if last == hashes[path]:
            messages.append(f"{path} was edited and is kept")
            continue
        status = 1
        hashes[path] = last or ""
        messages.append(f"{path} was edited and the plan has changed: kept (force=true writes it)")
        messages.append(_diff(there, text))
    remove, outside = [], {}
    covered = {planned.host.id for planned in plan.hosts}
    for path, last in recorded.items():
        if _host(path) not in covered:
            outside[path] = last
        elif path in present and digest(present[path]) != last and not force:
            status, hashes[path] = 1, last
            kept.append(path)
            messages.append(f"{path} was edited and is no longer planned: kept; remove it by hand, or with force=true")
        elif path in present:
            remove.append(path)
    proposal = fragments.stored(plan, {**hashes, **outside}, _kept_hosts(before, covered, outside))
    return Decision(write, tuple(sorted(remove)), tuple(kept), tuple(messages), status, proposal)


def announced(before: Mapping, plan: Plan, write: Mapping[str, str]) -> str:
    """The proposal before, with what is about to be written: a populate that is killed edited nothing."""
    old = before or {"name": plan.arguments.name, "arguments": {}, "hosts": {}, "files": {}}
    return json.dumps({**old, PENDING: {path: digest(text) for path, text in write.items()}}) + "\n"


def check_stored(found: object, path: object) -> dict:
    """``found`` where it has the form of a proposal.json. Raises StoreError."""
    hosts = found.get("hosts") if isinstance(found, dict) else None
    good = isinstance(hosts, dict) and isinstance(found.get("arguments"), dict) and "name" in found
    good = good and all(isinstance(found.get(key, {}), dict) for key in ("files", PENDING))
    for host in hosts.values() if good else ():
        osds, disks = (host.get(key) for key in ("osds", "disks")) if isinstance(host, dict) else (None, None)
        good = good and isinstance(osds, list) and isinstance(disks, list)
        good = good and all(isinstance(one, dict) and set(one) >= OSD for one in osds)
        good = good and all(isinstance(one, dict) and set(one) >= DISK for one in disks)
    if not good:
        raise StoreError(f"{path} is not a stored proposal: restore it, or move its folder away and populate again")
    return found


def _host(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _kept_hosts(before: Mapping, covered: set[str], outside: Mapping[str, str]) -> dict[str, dict]:
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


def differing(path: str, there: object, wanted: object) -> list[str]:
    """What a config fragment says otherwise than discovery would write it."""
    there = there if isinstance(there, dict) else {}
    return [
        f"{path}: {key} is {there.get(key)!r}, discovery found {value!r}: kept as it is"
        for key, value in (wanted or {}).items()
        if there.get(key) != value
    ]


def report(decided: Decision, more: list[str]) -> Report:
    """The report of a decision that was carried out."""
    messages = (*decided.messages, *more)
    return Report(decided.status, tuple(sorted(decided.write)), decided.kept, decided.remove, messages)
