"""Arguments as a shell and as Salt's command line hand them over, and disk filters."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from salt.utils.args import yamlify_arg

from proposals.disks import arguments, filters, slots
from proposals.inventory import disk
from proposals.networking import arguments as networking
from proposals.text import argument_readers
from proposals.text.errors import ArgumentError, FilterError
from proposals.text.sizes import GIB, gib
from runners.engine import answer

DISK = disk.parse(
    {
        "device": "/dev/sda",
        "id": "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4",
        "size": 6001175126016,
        "rotational": True,
        "transport": "sas",
        "model": "ST6000NM0115-1YZ",
        "serial": "ZAD0A1B2",
        "path": "pci-0000:3b:00.0-ata-1",
    }
)


@pytest.mark.parametrize(
    ("module", "holds"), [(arguments, arguments.DiskArguments()), (networking, networking.NetworkArguments())]
)
def test_a_default_that_is_told_is_the_one_that_holds(module, holds):
    values = {name: getattr(holds, name.replace("-", "_"), False) for name in module.ARGUMENTS}
    sizes = {"wal-size": slots.WAL_SIZE, "journal-size": slots.JOURNAL_SIZE}
    expected = {
        name: "off" if value is False else str(value) for name, value in values.items() if value not in (None, ())
    }
    expected |= {name: f"{gib(size)} GiB" for name, size in sizes.items() if name in values}
    expected.pop("journal", None)  # another name of db
    assert len(expected) >= len(module.ARGUMENTS) / 2
    assert {name: module.ARGUMENTS[name].default for name in expected} == expected


@pytest.mark.parametrize(
    "said",
    ["images", "00001234", "1.10", "0x12", "5:30", "+5", "yes", "None", "null", "2026-11-26", "a b", "it's", "", "@x"]
    + ["0 $x", "a #b", "[a]", "{a: 1}", "~", " x ", '"x"', "1_000", "---"],
)
def test_a_printed_word_comes_back_as_it_was(said):
    (word,) = shlex.split(argument_readers.typed(said))
    assert yamlify_arg(word) == said


@pytest.mark.parametrize("said", ["0x10", "-0x5", "0b11", "1:30", "1_0:30", "1:30.5", "10:20:30:40:50:10"])
def test_a_word_of_which_yaml_makes_another_number_is_refused(said):
    assert not isinstance(yamlify_arg(said), str)
    for word in (said, f"serial={said}"):
        with pytest.raises(ArgumentError, match="YAML makes another number of it"):
            argument_readers.check_words(["node1", word], ())


@pytest.mark.parametrize("said", ["~", "null", "Null", "NULL", "None"])
def test_a_word_that_would_count_as_not_typed_is_refused(said):
    """``stage.run deploy only=None`` would change all hosts."""
    assert yamlify_arg(said) is None
    for word in (said, f"only={said}"):
        with pytest.raises(ArgumentError, match="it would count as not typed"):
            argument_readers.check_words(["deploy", word], ["only"])
    argument_readers.check_words([f"encryption={said}"], ["first"])


@pytest.mark.parametrize(
    "said",
    ["none", "0x_", "010", "-7", "1.5", "0:30", "00:11:22:33:44:55", "fd00::1", "740-770", "'0x10'", "a=b", "1e3", ""],
)
def test_a_word_that_comes_as_it_was_typed_is_taken(said):
    argument_readers.check_words([said, f"first={said}", f"second={said}"], ())


def test_a_keyword_that_is_given_twice_is_refused():
    """Salt takes the last one alone."""
    with pytest.raises(ArgumentError, match="^test is given twice: once is enough$"):
        argument_readers.check_words(["12", "test=true", "test=false"], ["test"])


def test_typed_arguments_have_one_form():
    asked = arguments.parse(
        ["Ratio=9", "DB_SIZE=40G", "data=Model=ST6*", "leftovers=yes", "name=a", "force=true", "limit-data=745"]
    )
    assert dict(asked.typed) == {
        "data": "model=st6*",
        "db-size": "40g",
        "leftovers": True,
        "limit-data": 745,
        "ratio": 9,
    }
    assert (asked.ratio, asked.db_size, asked.leftovers, asked.force, asked.name) == (9, 40 * GIB, True, True, "a")


# what was typed -> what Salt's YAML makes of it
SAME = [
    ("data=-770", {"data": -770}),
    ("data=745", {"data": 745}),
    ("ratio=9", {"ratio": 9}),
    ("leftovers=on", {"leftovers": True}),
    ("leftovers=0", {"leftovers": 0}),
    ("db-size=40", {"db_size": 40}),
    ("db-size=37.5", {"db_size": 37.5}),
    ("db=740-770", {"db": "740-770"}),
    ("encryption=none", {"encryption": None}),
    ("target=osd*", {"target": "osd*", "__pub_user": "root"}),
]


@pytest.mark.parametrize(("typed", "salt"), SAME)
def test_salts_values_are_turned_back(typed, salt):
    assert arguments.parse([typed]) == arguments.parse(salt)
    assert arguments.parse([typed]).typed == arguments.parse(salt).typed


@pytest.mark.parametrize(
    "salt",
    [{"data": 745.2}, {"name": 2024}, {"name": True}, {"target": ["a"]}, {"data": True}, {"db": None}, {"ratio": 9.0}],
)
def test_what_cannot_be_turned_back_is_to_be_quoted(salt):
    with pytest.raises(ArgumentError, match="quote it"):
        arguments.parse(salt)


@pytest.mark.parametrize(
    "words",
    [
        ["osds-per-device=129"],
        ["ratio"],
        ["ratio=0"],
        ["ratio=-1"],
        ["ratio=nine"],
        ["ratio="],
        ["ratio=9", "ratio=9"],
        ["name=../x"],
        ["name=a/b"],
    ]
    + [
        ["name=.."],
        ["format=zfs"],
        ["encryption=rot13"],
        ["leftovers=maybe"],
        ["osds-per-device=99999999999"],
        ["colour=red"],
    ]
    + [["nvme-ssd-spinner=true", "format=filestore"], ["name=" + "x" * 65]],
)
def test_refused(words):
    with pytest.raises(ArgumentError):
        arguments.parse(words)


MATCHES = [
    ("5000-7000", True),
    ("size=5TB-7TB,model=ST6000*", True),
    ("model=st6000nm0115-1yz", True),
    ("model=ST6000", False),
    ("model=?T6*", True),
    ("model=[s]t6*", False),
    ("model=WD*|ST6*", True),
    ("model=!WD*|ST6*", False),
    ("vendor=ATA", False),
    ("vendor=!ATA", True),
    ("serial=zad0a1b2", True),
    ("rotational=true", True),
    ("rotational=false", False),
    ("rotational=!false", True),
    ("transport=sas|sata", True),
    ("class=hdd", True),
    ("class=!hdd", False),
    ("path=*ata-1*", True),
    ("id=*a1b2c3d4", True),
    ("size=!5000-7000", False),
    ("size=700-800|5000-6000", True),
    ("5000-7000,vendor=SEAGATE", False),
]


@pytest.mark.parametrize(("text", "matches"), MATCHES)
def test_a_filter(text, matches):
    assert filters.parse("data", text).matches(DISK) is matches


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "5000-7000,",
        "modell=x",
        "model=",
        "model=a||b",
        "model=!",
        "rotational=often",
        "class=spinner",
        "x" * 1001,
    ],
)
def test_a_filter_is_refused(text):
    with pytest.raises(FilterError, match=r"data"):
        filters.parse("data", text)


def test_many_stars_do_not_take_long():
    pattern = "*a" * 400 + "b"
    disk = DISK._replace(model="a" * 128)
    assert not filters.parse("data", f"model={pattern}").matches(disk)


@answer.answers
def taking(
    *words: str,
    word: str | None = None,
    number: float = 1,
    listed: Sequence[str] | None = None,
    only_listed: Sequence[str] = (),
    either: str | Sequence[str] | None = None,
    mapped: Mapping[str, Any] | None = None,
    free: Any = None,
) -> dict[str, Any]:
    """A runner that takes each kind of argument."""
    return {"text": "taken"}


@pytest.mark.parametrize(
    ("words", "typed", "says"),
    [
        ([], {"word": ["node1"]}, "word=['node1']: one word was expected"),
        ([], {"word": {"a": 1}}, "word=\\x7b'a': 1\\x7d: one word was expected"),
        ([], {"number": [1]}, "number=[1]: one word was expected"),
        (["a", ["b"]], {}, "words=['b']: one word was expected"),
        ([], {"listed": "node1"}, "listed=node1: a list was expected, such as '[node1, node2]'"),
        ([], {"listed": 5}, "listed=5: a list was expected"),
        ([], {"only_listed": "node1"}, "only_listed=node1: a list was expected"),
        ([], {"either": True}, "either=True: a list was expected"),
        ([], {"mapped": "node1"}, "mapped=node1: a mapping was expected"),
        ([], {"words": "node1"}, "taking: words are typed without 'words=', with blanks between"),
        ([], {"word": 7, "number": 0.5, "listed": ["a"], "only_listed": [], "either": "a"}, None),
        (["a", "b"], {"word": None, "listed": None, "either": ["a"], "mapped": {"a": 1}, "free": [1]}, None),
    ],
)
def test_a_list_is_no_word_and_a_word_is_no_list(words, typed, says):
    done = taking(*words, **typed)
    assert done.get("error", "").startswith(says) and done["retcode"] == 2 if says else done["text"] == "taken"
