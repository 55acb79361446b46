"""What tests of the planner share: disks by kind, hosts in a few words, plans in one call."""

from collections import Counter
from functools import cache
from pathlib import Path

import yaml

from proposals.disks import arguments, plan
from proposals.reference import machines
from proposals.text.sizes import GIB

FIXTURES = Path(__file__).parent.parent / "fixtures"
FSID = "11111111-2222-4333-8444-555555555555"
ASKED = "name=apollo ratio=9 wal=740-770 db=740-770 target=osd* db-size=40g wal-size=5g data=5000-7000"
GUIDE = ASKED.split(" ")  # the guide's command


@cache
def kinds():
    return yaml.load((FIXTURES / "kinds.yaml").read_text(), yaml.CSafeLoader)


def host(disks, **more):
    """A host for ``reference.expand``: groups of disks by kind."""
    return {
        "disks": [
            {**kinds().get(group.get("is"), {}), **{k: v for k, v in group.items() if k != "is"}} for group in disks
        ],
        **more,
    }


def inventory(**hosts):
    """An inventory of hosts, each a list of groups or a mapping with disks and memory."""
    return machines.expand(
        {name: host(**told) if isinstance(told, dict) else host(told) for name, told in hosts.items()}
    )


def apollo():
    return machines.inventory("apollo")


def peek(raw, *pairs, stored=None):
    """The JSON form of a plan; the arguments are words, as on a command line."""
    words = [word for pair in pairs for word in pair.split()]
    return plan.peek(raw, arguments.parse(words), stored).as_dict()


def cases(folder):
    """Every case of a folder of fixtures: (file: name, case)."""
    for path in sorted((FIXTURES / folder).glob("*.yaml")):
        for name, case in yaml.load(path.read_text(), yaml.CSafeLoader).items():
            yield f"{path.stem}: {name}", case


def _osds(answer):
    return [osd for host in answer["hosts"].values() for osd in host["osds"]]


def _disks(answer):
    return [disk for host in answer["hosts"].values() for disk in host["disks"]]


def _counts(answer, role):
    return sorted(Counter(osd[role] for osd in _osds(answer) if osd[role]).values(), reverse=True)


def _found(texts, wanted):
    """Those of the wanted texts that stand in one of ``texts``; all of them, where none is wanted."""
    return [part for part in wanted if any(part in text for text in texts)] if wanted else list(texts)


def _gib(size):
    return size / GIB if size else None


CHECKS = {
    "layout": lambda answer, _: next(host["layout"] for host in answer["hosts"].values()),
    "osds": lambda answer, _: len(_osds(answer)),
    "devices": lambda answer, _: _counts(answer, "db"),
    "wals": lambda answer, _: _counts(answer, "wal"),
    "existing": lambda answer, _: sum(osd["existing"] for osd in _osds(answer)),
    "unused": lambda answer, _: sum(disk["role"] == "unused" for disk in _disks(answer)),
    "slot": lambda answer, _: [_gib(_osds(answer)[0]["db_size"]), _gib(_osds(answer)[0]["wal_size"])],
    "db_sizes": lambda answer, _: sorted({_gib(osd["db_size"]) for osd in _osds(answer)}),
    "data_sizes": lambda answer, _: sorted({disk["size"] for disk in _disks(answer) if disk["role"] == "data"}),
    "encryption": lambda answer, _: _osds(answer)[0]["encryption"],
    "reasons": lambda answer, wanted: _found([disk["reason"] or "" for disk in _disks(answer)], wanted),
    "warnings": lambda answer, wanted: _found(answer["warnings"], wanted),
    "hints": lambda answer, wanted: _found(answer["hints"], wanted),
    "tried": lambda answer, _: {one["layout"]: one["why_not"] for one in answer["hosts"]["node1"]["candidates"]},
    "candidates": lambda answer, _: [one["layout"] for one in answer["hosts"]["node1"]["candidates"]],
}
