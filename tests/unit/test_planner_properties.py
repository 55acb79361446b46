"""What holds for every host, argument and history that hypothesis can think of."""

import copy
import json
from collections import Counter

import losing
import promises
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning import FSID

from proposals.disks import arguments, filters, plan
from proposals.disks.slots import OVERHEAD
from proposals.policy import fragments, policy
from proposals.reference import machines
from proposals.text.errors import ProposalError
from proposals.text.sizes import GIB

HDDS = [1000204886016, 4000787030016, 6001175126016]
FLASH = [120034123776, 400088457216, 800166076416, 1920383410176]
few = settings(max_examples=30, deadline=None)  # `tests/fuzz/hostile.py` has more of the same


@st.composite
def groups(draw):
    kind = draw(st.sampled_from(["hdd", "hdd", "ssd", "nvme"]))
    size = draw(st.sampled_from(HDDS if kind == "hdd" else FLASH))
    same = {"rotational": kind == "hdd", "transport": "nvme" if kind == "nvme" else "sata", "size": size}
    if draw(st.integers(0, 7)) == 0:
        same["in_use"] = ["mounted on /"]
    return {**same, "count": draw(st.integers(1, 9)), "model": draw(st.sampled_from(["A", "B"]))}


hosts = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.fixed_dictionaries({"disks": st.lists(groups(), max_size=5)}), min_size=1
)
words = st.fixed_dictionaries(
    {},
    optional={
        "ratio": st.integers(1, 12),
        "db-ratio": st.integers(1, 4),
        "db-size": st.sampled_from(["10g", "40g", "100g", "3GB"]),
        "wal-size": st.sampled_from(["2g", "5g"]),
        "data": st.sampled_from(["500-", "5000-7000", "class=hdd", "class=nvme", "model=a", "rotational=true"]),
        "db": st.sampled_from(["100-800", "740-770", "class=ssd", "class=nvme", "model=b"]),
        "wal": st.sampled_from(["100-800", "class=nvme", "300-400"]),
        "exclude": st.sampled_from(["model=b", "300-400"]),
        "leftovers": st.booleans(),
        "limit-data": st.integers(1, 9),
        "osds-per-device": st.integers(1, 3),
        "layout": st.sampled_from(arguments.LAYOUTS),
        "format": st.sampled_from(["bluestore", "filestore"]),
    },
)


def parse(told):
    told = dict(told)
    layout = told.pop("layout", None)
    return arguments.parse({**told, layout: True} if layout else told)


def peek(raw, told, stored=None):
    """A plan's JSON, or None where the planner refuses with its own error."""
    try:
        return plan.peek(raw, parse(told), stored).as_dict()
    except ProposalError as error:
        assert str(error)
        assert "\n" not in str(error)
        return None


def proves(*strategies, share=0.25):
    """A property over these strategies that returns whether a plan was made; a planner that refuses nearly all of
    them (less than ``share`` are planned) proves nothing."""

    def decorate(holds):
        def test():
            made = Counter()

            @settings(max_examples=60, deadline=None)
            @given(st.tuples(*strategies))
            def example(values):
                made[bool(holds(*values))] += 1

            example()
            assert made[True] > share * made.total(), f"the planner refused {made[False]} of {made.total()} cases"

        return test

    return decorate


@pytest.mark.slow
@proves(hosts, words)
def test_every_plan_keeps_its_promises(told, asked):
    raw = machines.expand(told)
    answer = peek(raw, asked)
    if answer:
        promises.check(answer, raw, parse(asked))
    return answer


@pytest.mark.slow
@proves(hosts, words, st.randoms(use_true_random=False))
def test_any_order_of_disks_and_hosts_gives_the_same_bytes(told, asked, random):
    raw = machines.expand(told)
    shuffled = {"hosts": dict(random.sample(list(raw["hosts"].items()), len(raw["hosts"])))}
    for host in shuffled["hosts"].values():
        host["ceph_disks"] = random.sample(host["ceph_disks"], len(host["ceph_disks"]))
    answer = peek(raw, asked)
    assert json.dumps(answer) == json.dumps(peek(shuffled, asked))
    return answer


@pytest.mark.slow
@proves(hosts, words)
def test_planning_with_the_stored_plan_changes_nothing(told, asked):
    raw = machines.expand(told)
    first = peek(raw, asked)
    assert not first or peek(raw, asked, stored=first) == first
    return first


def grow(raw, more):
    """Give each host a group of disks more."""
    extra = machines.expand({str(place): {"disks": [more]} for place in range(9)})["hosts"]["8"]["ceph_disks"]
    for place, host in enumerate(raw["hosts"].values()):
        for disk in extra:
            changed = {key: f"{disk[key]}{place}" for key in ("id", "wwn", "serial")}
            host["ceph_disks"].append({**disk, **changed, "device": f"{disk['device']}x{place}"})


@pytest.mark.slow
@proves(hosts, words, groups(), st.booleans())
def test_growing_never_moves(told, asked, more, deploy):
    raw = machines.expand(told)
    first = peek(raw, asked)
    if not first:
        return False
    grown = machines.deployed(raw, first, FSID) if deploy else copy.deepcopy(raw)
    grow(grown, more)
    second = peek(grown, asked, stored=first)
    if second:
        before = {osd["uuid"]: {**osd, "existing": deploy} for host in first["hosts"].values() for osd in host["osds"]}
        after = {osd["uuid"]: osd for host in second["hosts"].values() for osd in host["osds"]}
        kept = ("data", "db", "wal", "db_size", "wal_size", "existing")
        for uuid, osd in before.items():
            assert {key: after[uuid][key] for key in kept} == {key: osd[key] for key in kept}
    return second


@pytest.mark.slow
@proves(hosts, st.integers(1, 9), st.integers(1, 4), words, st.randoms(use_true_random=False), share=0.2)
def test_osds_whose_device_died_wait_for_another_and_nobody_gets_their_places(told, hdds, ssds, asked, random):
    hdd = {"rotational": True, "size": HDDS[2], "model": "A", "count": hdds}
    ssd = {"rotational": False, "size": FLASH[2], "model": "B", "count": ssds}
    raw = machines.expand({**told, "c": {"disks": [hdd, ssd]}})
    first = peek(raw, asked)
    lying = machines.deployed(raw, first, FSID) if first else raw
    carriers = losing.carriers(lying)
    if not carriers:
        return False
    losing.check(lambda raw: peek(raw, asked, stored=first), lying, first, *random.choice(carriers), random)
    return True


@pytest.mark.slow
@proves(hosts, words, words, share=0.15)
def test_arguments_never_touch_what_is_deployed(told, asked, other):
    raw = machines.expand(told)
    first = peek(raw, asked)
    if not first:
        return False
    lying = machines.deployed(raw, first, FSID)
    second = peek(lying, other)
    if second:
        before = {osd["uuid"] for host in first["hosts"].values() for osd in host["osds"]}
        after = {osd["uuid"]: osd for host in second["hosts"].values() for osd in host["osds"]}
        assert before <= set(after)
        for name, host in second["hosts"].items():
            _, taken = promises.devices(host)
            sizes = {disk["id"]: disk["size"] for disk in host["disks"]}
            assert all(size <= sizes[device] - OVERHEAD for device, size in taken.items()), name
            ids = {osd["data"] for osd in host["osds"]}
            assert not ids & set(taken)
    return second


bluestore = words.map(lambda asked: {key: value for key, value in asked.items() if key != "format"})
first_words = st.one_of(*[st.just({"standalone": True})] * 3, st.just({}), st.just({"db-size": "10g"}), bluestore)
move_words = st.fixed_dictionaries(
    {"migrate": st.just(True)},
    optional={
        "ratio": st.integers(1, 12),
        "db-size": st.sampled_from(["10g", "40g"]),
        "wal-size": st.sampled_from(["2g", "5g"]),
        "exclude": st.sampled_from(["model=b", "300-400"]),
        "db": st.sampled_from(["100-800", "class=ssd", "class=nvme"]),
        "wal": st.just("class=nvme"),
        "layout": st.sampled_from(("standalone", "ssd-spinner")),
        "osds-per-device": st.integers(1, 2),
        "limit-data": st.integers(1, 9),
    },
)
flash = st.builds(
    lambda **group: {"rotational": False, "model": "B", **group},
    transport=st.sampled_from(["sata", "nvme"]),
    size=st.sampled_from(FLASH),
    count=st.integers(1, 4),
)
slow = st.builds(
    lambda size, count: {"rotational": True, "size": size, "count": count, "model": "A"},
    st.sampled_from(HDDS),
    st.integers(2, 9),
)
loaded = st.dictionaries(
    st.sampled_from(["a", "b"]),
    st.builds(lambda first, *others: {"disks": [first, *others]}, slow, groups(), st.one_of(groups(), flash)),
    min_size=1,
)


@pytest.mark.slow
@proves(loaded, first_words, move_words, flash, st.randoms(use_true_random=False), share=0.08)
def test_osds_move_as_asked_and_both_their_places_are_theirs_until_then(told, asked, other, more, random):
    raw = machines.expand(told)
    first = peek(raw, asked)
    if not first:
        return False
    lying = machines.deployed(raw, first, FSID)
    grow(lying, more)
    planned = peek(lying, other)
    if not planned:
        return False
    moves = promises.moves(planned)
    assert promises.moves(peek(lying, other, stored=planned)) == moves, "a second run plans otherwise"
    was = {osd["uuid"]: osd for host in first["hosts"].values() for osd in host["osds"]}
    for host in planned["hosts"].values():
        promises.both_places(host)
        for osd in host["osds"]:
            assert not osd["existing"] or all(osd[key] == was[osd["uuid"]][key] for key in promises.PLACE)
    some = random.sample(sorted(moves), len(moves) // 2)
    half = machines.migrated(lying, planned, some)
    again = peek(half, other, stored=planned)
    if again:
        left = promises.moves(again)
        assert not set(some) & set(left), "an OSD that has moved moves again"
        assert all(left[uuid] == move for uuid, move in moves.items() if uuid not in some)
        [promises.both_places(host) for host in again["hosts"].values()]
    return moves


@pytest.mark.slow
@proves(hosts, words)
def test_nothing_moves_that_nobody_asked_to(told, asked):
    raw = machines.expand(told)
    first = peek(raw, asked)
    return first and not promises.moves(peek(machines.deployed(raw, first, FSID), asked))


texts = st.one_of(st.text(max_size=40), st.text("0123456789-.gGtTbBiI =,!|*?[]{}%", max_size=20))


@pytest.mark.slow
@given(texts)
def test_filters_raise_nothing_but_their_own_error(text):
    try:
        filters.parse("data", text)
    except ProposalError as error:
        assert "\n" not in str(error)


@pytest.mark.slow
@given(st.one_of(st.text(max_size=60), st.text("role-mn/*?[]:=slicere .#\t\\()+{}1,", max_size=40)))
def test_policies_raise_nothing_but_their_own_error(text):
    try:
        policy.parse(text)
    except ProposalError as error:  # a line for each wrong one, some at once
        assert all(line.startswith(("policy.cfg line ", "what is behind")) for line in str(error).split("\n"))


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from([*arguments.ARGUMENTS, "x"]),
        st.one_of(texts, st.integers(), st.floats(), st.none(), st.booleans()),
    )
)
def test_arguments_raise_nothing_but_their_own_error(told):
    try:
        arguments.parse(told)
    except ProposalError as error:
        assert "\n" not in str(error)


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=12,
)
KEYS = ("device", "id", "size", "rotational", "transport", "vendor", "model", "serial", "wwn", "path", "in_use", "osds")
PARTS = ("id", "fsid", "role", "size", "offset", "cluster", "state")
hostile = st.one_of(
    anything,
    st.dictionaries(st.sampled_from(KEYS), anything),
    st.fixed_dictionaries(
        {"device": st.just("/dev/sda"), "size": st.integers(0, 1 << 50), "rotational": st.booleans()},
        optional={key: st.one_of(texts, anything) for key in ("id", *KEYS[4:-1])}
        | {"osds": st.lists(st.dictionaries(st.sampled_from(PARTS), anything))},
    ),
)


def written(made):
    """The text of every file of a plan's profile."""
    answer = made.as_dict()
    texts = [text for files in fragments.profile(made, answer).values() for text in files.values()]
    return [*texts, fragments.stored(made, answer, {}, {})]


@pytest.mark.slow
@few
@given(st.lists(hostile, max_size=4))
def test_hostile_disks_harm_nothing(listed):
    raw = {"hosts": {"a": {"ceph_disks": listed}}}
    try:
        made = plan.peek(raw, arguments.parse([]))
    except ProposalError:
        return
    texts = written(made)
    for text in texts:
        assert "{{" not in text.replace('{"', "") and "{%" not in text and "{#" not in text
    assert len(made.as_dict()["hosts"]["a"]["disks"]) == len(listed)


@pytest.mark.parametrize(
    "text", ["{{ x }}", "{% x %}", "{# x #}", "../x", "!!python/name:os", "a: {b", "x" * 4096, "\udcff", "a\nb"]
)
def test_hostile_text_is_escaped_and_in_no_file(text):
    disk = {"device": "/dev/sda", "size": 6001175126016, "rotational": True}
    for key in ("model", "serial", "id", "vendor", "wwn", "path"):
        raw = {"hosts": {"a": {"ceph_disks": [{**disk, key: text}, {**disk, "device": "/dev/sdb"}]}}}
        made = plan.peek(raw, arguments.parse([]))
        bad = made.as_dict()["hosts"]["a"]["disks"][0]
        assert bad["role"] == "unused"
        assert key in bad["reason"]
        assert text not in bad["reason"]
        assert all(text not in one for one in written(made))


def test_a_slot_is_never_smaller_than_a_gib_where_nothing_was_typed():
    raw = machines.expand(
        {"a": {"disks": [{"count": 3, "size": HDDS[2], "rotational": True}, {"size": 2 * GIB, "rotational": False}]}}
    )
    assert peek(raw, {})["hosts"]["a"]["layout"] == "standalone"
