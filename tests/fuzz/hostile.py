"""Nonsense in an inventory, a stored proposal or an argument: one message, and what is answered can be printed."""

import contextlib
import copy
import io
import json
from random import Random

import lives
import machines

from proposals.disks import arguments, plan
from proposals.inventory import compare
from proposals.policy import fragments, populate_decision
from proposals.text import tables
from proposals.text.errors import ProposalError

ODD = [
    *(None, True, False, 0, -1, 1, 10**30, 0.5, "", " ", "0", "x", "sda\n", "\x1b[31m", "\udcff", "{{ x }}", "../x"),
    *([], {}, [None], [[]], {"a": 1}, "x" * 300, "osd1", "in-use", "/dev/sda", "wwn-0x1", "12345678-9abc"),
]


def spoilt(random: Random, value: object, most: int) -> object:
    """``value`` with some of what it holds, at any depth, replaced by nonsense, left out or doubled."""
    value = copy.deepcopy(value)
    for _ in range(random.randint(1, most)):
        _spoil(random, value)
    return value


def _spoil(random: Random, value: object) -> None:
    """Go down at random and spoil one thing."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = random.choice(keys)
        if isinstance(value[key], dict | list) and value[key] and random.random() < 0.9:
            value = value[key]
            continue
        what = random.random()
        if what < 0.15:
            del value[key]
        elif what < 0.25 and isinstance(value, list):
            value.append(copy.deepcopy(value[key]))
        else:
            value[key] = random.choice(ODD)
        return


def words(random: Random) -> dict[str, object]:
    """Arguments, some of them nonsense."""
    typed = machines.words(random)
    if random.random() < 0.3:
        typed[random.choice([*arguments.ARGUMENTS, "x"])] = random.choice(ODD)
    return typed


def case(random: Random) -> bool:
    """One spoilt inventory with one spoilt stored proposal. Returns whether a plan was made."""
    raw, typed = machines.inventory(random), machines.words(random)
    try:
        made = plan.peek(raw, arguments.parse(typed))
        answer = made.as_dict()
        stored = json.loads(fragments.stored(made, answer, {}, {}))
        if random.random() < 0.5:
            raw = machines.deployed(raw, lives.partly(random, answer))
    except ProposalError:
        stored = None
    if random.random() < 0.8:
        raw = spoilt(random, raw, 6)
    if stored and random.random() < 0.5:
        stored = spoilt(random, stored, 3)
    if random.random() < 0.3:
        typed = words(random)
    try:
        stored = stored and populate_decision.check_stored(stored, "proposal.json")
        made = plan.peek(raw, arguments.parse(typed), stored)
        fragments.profile(made, made.as_dict())
    except ProposalError as error:
        assert str(error) and "\n" not in str(error), "a message of several lines or none"
        return False
    answer = made.as_dict()
    text = json.loads(fragments.stored(made, answer, {}, {}))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        tables.proposal(answer, random.random() < 0.5)
        tables.proposal(text)
    assert all(char.isprintable() or char == "\n" for char in out.getvalue()), "control characters reach the terminal"
    compare.differences(answer, text)
    return True
