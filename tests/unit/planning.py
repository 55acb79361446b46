"""What tests of the planner share: disks by kind, hosts in a few words, plans in one call."""

from functools import cache
from pathlib import Path

import yaml

from proposals.disks import arguments, plan
from proposals.reference import machines

FIXTURES = Path(__file__).parent.parent / "fixtures"
FSID = "11111111-2222-4333-8444-555555555555"
ASKED = "name=apollo ratio=9 wal=740-770 db=740-770 target=osd* db-size=40g wal-size=5g data=5000-7000"
GUIDE = ASKED.split(" ")  # the guide's command


@cache
def kinds():
    return yaml.safe_load((FIXTURES / "kinds.yaml").read_text())


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
        for name, case in yaml.safe_load(path.read_text()).items():
            yield f"{path.stem}: {name}", case
