"""A fresh plan keeps its promises, in whatever order hosts and disks are listed."""

import json
from random import Random

import machines
from promises import check

from proposals.disks import arguments, plan
from proposals.text.errors import ProposalError


def peek(raw: dict, typed: dict, stored: dict | None = None) -> dict | None:
    """A plan's JSON, None where the planner refuses with its own error."""
    try:
        return plan.peek(raw, arguments.parse(typed), stored).as_dict()
    except ProposalError as error:
        assert str(error) and "\n" not in str(error)
        return None


def case(random: Random) -> bool:
    """One plan. Returns whether it was made."""
    raw, typed = machines.inventory(random, 3), machines.words(random)
    answer = peek(raw, typed)
    shuffled = {"hosts": dict(random.sample(list(raw["hosts"].items()), len(raw["hosts"])))}
    for name, host in shuffled["hosts"].items():
        shuffled["hosts"][name] = {**host, "ceph_disks": random.sample(host["ceph_disks"], len(host["ceph_disks"]))}
    assert json.dumps(peek(shuffled, typed)) == json.dumps(answer)
    if answer is None:
        return False
    check(answer, raw, arguments.parse(typed))
    return True
