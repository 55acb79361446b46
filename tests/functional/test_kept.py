"""What the monitors keep of a change that is under way: as long as it has to be, whole whatever interrupts it."""

import json
import random

import pytest
from played_monitors import monitors  # noqa: F401  a fixture
from salt.exceptions import CommandExecutionError

from proposals.cluster.removal import record
from proposals.cluster.removal.items import Item

KEY = "halocline/removal"
OTHERS = {"halocline/removals": "x", "halocline/noout": "node1"}
LONG = 65536  # bytes that Ceph takes for a value


def text(seed, length):
    """A text that packs badly, as fsids do."""
    return random.Random(seed).randbytes(length // 2).hex()


def fsid(number):
    """The end of an OSD's fsid."""
    return f"{random.Random(number).getrandbits(48):012x}"


@pytest.mark.slow
@pytest.mark.parametrize(("length", "keys"), [(10, 1), (LONG, 1), (LONG + 2, 2), (3 * LONG, 4)])
def test_a_text_is_kept_in_as_many_keys_as_it_needs(modules, monitors, length, keys):  # noqa: F811
    monitors.store({KEY: text(1, 4 * LONG)[:100], **OTHERS})
    assert modules["cluster_cli.keep"](KEY, text(2, length))
    found, _ = monitors.stored()
    assert len(found) == keys + len(OTHERS) and (found[KEY] == text(2, length)) is (keys == 1)
    assert modules["cluster_cli.kept"](KEY) == text(2, length)
    assert modules["cluster_cli.forget"](KEY) and modules["cluster_cli.kept"](KEY) is None
    assert monitors.stored()[0] == OTHERS and monitors.typed() == []


FIRST, SECOND = text(3, 2 * LONG), text(4, 2 * LONG)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [(None, SECOND), ("short", SECOND), (FIRST, SECOND), (FIRST, "short"), (FIRST, None)],
    ids=["first", "longer", "another", "shorter", "forgotten"],
)
def test_interrupted_at_any_moment_one_of_two_texts_is_whole(modules, monitors, old, new):  # noqa: F811
    def change():
        return modules["cluster_cli.forget"](KEY) if new is None else modules["cluster_cli.keep"](KEY, new)

    monitors.store(OTHERS)
    if old is not None:
        modules["cluster_cli.keep"](KEY, old)
    before, _ = monitors.stored()
    change()
    after, left = monitors.stored()
    assert len([each for each in after if each.startswith(f"{KEY}/")]) == (2 if new and len(new) > LONG else 0)
    monitors.store(before, 1 << 20)
    change()
    changes = (1 << 20) - monitors.stored()[1]
    for moment in range(changes):
        monitors.store(before, moment)
        with pytest.raises(CommandExecutionError):
            change()
        monitors.store(monitors.stored()[0])
        assert modules["cluster_cli.kept"](KEY) in (old, new), moment
        change()
        assert monitors.stored()[0] == after, moment


@pytest.mark.slow
def test_a_text_of_which_a_part_is_gone_is_refused(modules, monitors):  # noqa: F811
    monitors.store({})
    modules["cluster_cli.keep"](KEY, text(5, 3 * LONG))
    found, _ = monitors.stored()
    part = next(each for each in found if each.endswith("/1"))
    monitors.store({each: kept for each, kept in found.items() if each != part})
    with pytest.raises(CommandExecutionError, match=f"the names of 3 parts.*put back what is missing below {KEY}/"):
        modules["cluster_cli.kept"](KEY)


@pytest.mark.slow
def test_three_thousand_osds_leave_at_once(modules, monitors):  # noqa: F811
    numbers = [str(number) for number in range(3000)]
    fsids = {number: f"6b0c8f3e-1d7a-4c53-9f2e-{fsid(number)}" for number in numbers}
    listed = [Item("osd", f"osd.{number}", "osdnode1.example.com", fsids[number]) for number in numbers]
    begun = record.begin(listed, dict.fromkeys(numbers, 5.45799), fsids, None)
    assert len(json.dumps(begun.as_list())) > 4 * LONG
    monitors.store({})
    assert modules["cluster_removal.note"](begun.as_list()) is True
    assert record.read(modules["cluster_cli.kept"](KEY)) == begun
    assert modules["cluster_removal.forget"]() is True and monitors.stored()[0] == {}


@pytest.mark.slow
def test_many_commands_are_one_connection_and_all_are_tried(modules, monitors):  # noqa: F811
    words = [["osd", "crush", "reweight", f"osd.{number}", str(number / 2)] for number in range(4)]
    for number in (0, 1, 3):
        monitors.answer({"prefix": "osd crush reweight", "name": f"osd.{number}", "weight": number / 2})
    assert modules["cluster_cli.tell_all"](words[:2]) is True and len(monitors.connected()) == 1
    with pytest.raises(CommandExecutionError, match=r"osd crush reweight osd.2 1.0' on .*Error EINVAL"):
        modules["cluster_cli.tell_all"](words)
    assert len(monitors.connected()) == 1 and monitors.typed() == []
    assert modules["cluster_cli.tell_all"]([]) is True and monitors.connected() == []


@pytest.mark.slow
def test_an_error_of_many_commands_names_the_first_ones(modules, monitors):  # noqa: F811
    monitors.silence()
    with pytest.raises(CommandExecutionError, match=r"osd\.9 0 and 30 more' on ") as caught:
        modules["cluster_cli.tell_all"]([["osd", "crush", "reweight", f"osd.{number}", "0"] for number in range(40)])
    assert len(str(caught.value)) < 1000
