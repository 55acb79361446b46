"""Whoever types what a message proposes gets what it promises: ways out are read from the text and tried."""

import copy
import re
from random import Random

import lives
import machines

from proposals.disks import arguments, plan
from proposals.inventory.disk import parse
from proposals.text.errors import ProposalError
from proposals.text.sizes import gib

_NAMES = "ratio|db-ratio|db-size|wal-size|journal-size|leftovers|nvme-spinner|standalone|db|data|wal"
WAY = re.compile(rf"\b((?:{_NAMES})=[^\s?:;,)]+)")
MORE = re.compile(r"(\d+) (\w+?)s? of ([\d.]+) GiB more")
GAINS = {  # what a way out is good for: what is told no more then
    "uses all": "data disks? unused",
    "makes them OSDs": "data disks? unused",
    "fits": " idle on (?!.* WALs alone)",
    "puts DBs there": " WALs alone",
    "makes OSDs of the DB devices too": "of their data disks, and Ceph",
}


def answered(raw: dict, typed: dict) -> tuple[dict | None, str]:
    """The answer, or None and the message of the refusal."""
    try:
        return plan.peek(raw, arguments.parse(typed)).as_dict(), ""
    except ProposalError as error:
        return None, str(error)


def typed_too(typed: dict, words: list[str]) -> dict:
    """The arguments with those of a message in place of their like; a forced layout replaces another."""
    pairs = dict(word.split("=", 1) for word in words)
    names = {"db", "journal"} if "db" in pairs else set()
    return {key: value for key, value in typed.items() if key not in names} | pairs


def with_more(raw: dict, typed: dict, names: list[str], answer: dict, more: re.Match) -> dict:
    """``raw`` where each of these hosts has so many disks more of a class and size that it has already.

    Of such disks one is copied that ``exclude`` lets in, where there is one: others in use came before it was typed."""
    raw, exclude = copy.deepcopy(raw), arguments.parse(typed).exclude
    for name in names:
        kinds = {one["id"]: (one["class"], gib(one["size"])) for one in answer["hosts"][name]["disks"]}
        used = {one["id"] for one in answer["hosts"][name]["disks"] if one["role"] in ("db", "wal")}
        disks = raw["hosts"][name]["ceph_disks"]
        alike = [one for one in disks if one["id"] in used and kinds[one["id"]] == (more[2], more[3])]
        like = min(alike, key=lambda each: bool(exclude and exclude.matches(parse(each))))
        for number in range(int(more[1])):
            wwn = f"0x5000c500{names.index(name):03x}{number:05x}"
            device = {"id": f"/dev/disk/by-id/wwn-{wwn}", "wwn": wwn, "serial": wwn, "device": f"/dev/sdy{number}"}
            disks.append({**like, **device, "osds": []})
    return raw


def hosts_of(line: str, answer: dict) -> list[str]:
    """The hosts that a line is about."""
    named = line.partition(": ")[0].split(", ")
    return [name for name in named if name in answer["hosts"]]


def data(answer: dict, name: str) -> int:
    """Data disks of a host."""
    return sum(disk["role"] == "data" for disk in answer["hosts"][name]["disks"])


def line_holds(raw: dict, typed: dict, answer: dict, line: str) -> None:
    """Every way out that a warning or hint tells does what it says."""
    text, _, proposed = line.rpartition("; ")
    gain = next((gain for gain in GAINS if gain in proposed), None)
    if gain is None:
        return
    names = hosts_of(line, answer)
    for way in proposed.rpartition(f" {gain}")[0].split(" or "):
        words, more = WAY.findall(way), MORE.search(way)
        assert words or more, f"not understood: {way}"
        changed = with_more(raw, typed, names, answer, more) if more else raw
        then, refused = answered(changed, typed_too(typed, words))
        assert then, f"{line}\n{way} is refused: {refused}"
        for name in names:
            devices = gain == "uses all" and "data disk" not in text
            kind = re.compile("DB devices? unused" if devices else GAINS[gain])
            left = [one for one in then["warnings"] + then["hints"] if name in hosts_of(one, then) and kind.search(one)]
            waits = [one for one in left if "waiting for a slot" in one]
            assert left == waits, f"{line}\n{way}, and then: {left}"
            if promised := re.search(r"uses all (\d+)", proposed):
                assert data(then, name) >= int(promised[1]), f"{line}\n{way}: {data(then, name)} data disks"
        lost = [name for name in answer["hosts"] if data(then, name) < data(answer, name)]
        assert not lost, f"{line}\n{way}: fewer data disks on {lost}"


def reason_holds(raw: dict, typed: dict, name: str, disk: dict) -> None:
    """What a disk's reason says would use it does."""
    promise = re.search(r"\((leftovers=true|db=class=\w+) (makes it an OSD|takes it in)\)", disk["reason"] or "")
    if not promise:
        return
    then, refused = answered(raw, typed_too(typed, [promise[1]]))
    assert then, f"{disk['reason']}: {refused}"
    now = next(one for one in then["hosts"][name]["disks"] if one["id"] == disk["id"])
    if promise[2] == "makes it an OSD":
        assert now["role"] == "data", f"{disk['reason']}: then {now}"
    else:
        assert "left out" not in (now["reason"] or ""), f"{disk['reason']}: then {now}"


def refusal_holds(raw: dict, typed: dict, refused: str) -> None:
    """What a refusal proposes is not refused again, but for another host or argument."""
    proposed = re.findall(r"(?:mean|:) ((?:[a-z-]+=[^\s?]+ ?)+)(?:fits|\?)", refused)
    ways = [typed_too(typed, words.split()) for words in proposed]
    if said := re.search(r" or say (.*)", refused):
        ways.append(typed_too(typed, said[1].split()))
    if left_out := re.search(r"leave (.*?) out", refused):
        ways.append({key: value for key, value in typed.items() if key not in left_out[1].split(" and ")})
    for way in ways:
        then, again = answered(raw, way)
        assert then or again.partition(": ")[0] != refused.partition(": ")[0], f"{typed}: {refused}\n{way}: {again}"


def case(random: Random) -> bool:
    """One answer and all that it proposes. Returns whether it was made."""
    raw, typed = machines.inventory(random, 3), machines.words(random)
    answer, refused = answered(raw, typed)
    if answer and random.random() < 0.3:
        raw, _ = lives.grown(random, machines.deployed(raw, lives.partly(random, answer)))
        typed = machines.words(random) if random.random() < 0.5 else typed
        answer, refused = answered(raw, typed)
    if answer is None:
        refusal_holds(raw, typed, refused)
        return False
    for line in answer["warnings"] + answer["hints"]:
        line_holds(raw, typed, answer, line)
    for name, host in answer["hosts"].items():
        seen = {(disk["reason"], disk["class"]): disk for disk in host["disks"]}
        for disk in seen.values():
            reason_holds(raw, typed, name, disk)
    return True
