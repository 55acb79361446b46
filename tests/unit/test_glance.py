"""An answer for many hosts is read at a glance: cases of fixtures/glance.yaml, and whole answers of a screen."""

import contextlib
import io

import pytest
import yaml
from planning import FIXTURES, inventory, peek

from proposals.text import glance, tables

CASES = yaml.load((FIXTURES / "glance.yaml").read_text(), yaml.CSafeLoader)
SCREEN = 50  # lines


@pytest.mark.parametrize("case", CASES["lines"], ids=lambda case: case["name"])
def test_lines_that_read_alike_are_one(case):
    assert glance.lines(case["given"], case["hosts"]) == case["shown"]
    assert glance.lines(case["given"], case["hosts"], everything=True) == case["given"]


@pytest.mark.parametrize("case", CASES["rows"], ids=lambda case: case["name"])
def test_rows_that_read_alike_are_one(case):
    listed = [(host, tuple(row)) for host, row in case["given"]]
    assert glance.rows(listed) == [(hosts, tuple(row)) for hosts, row in case["shown"]]
    assert glance.rows(listed, everything=True) == listed


def shown(answer, everything=False):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        tables.proposal(answer, everything)
    return out.getvalue().splitlines()


@pytest.mark.slow
def test_many_hosts_that_all_differ_are_a_screen_and_each_stands_in_all_of_it():
    hosts = {
        f"h{number:03}": [
            {"is": "hdd6", "count": 10 + number % 7, "size": 6001175126016 + number * 512},
            {"is": "ssd800", "count": 1 + number % 3, **({"in_use": ["does not answer"]} if number % 5 == 4 else {})},
        ]
        for number in range(120)
    }
    answer = peek(inventory(**hosts))
    assert len(shown(answer)) <= SCREEN
    everything = "\n".join(shown(answer, everything=True))
    assert all(name in everything for name in hosts)


def test_a_failed_disk_is_counted_and_stands_by_name_in_all_of_it():
    answer = peek(inventory(a=[{"is": "hdd6", "count": 4}, {"is": "hdd6", "count": 2, "in_use": ["does not answer"]}]))
    failed = [disk["id"].rpartition("/")[2] for disk in answer["hosts"]["a"]["disks"] if disk["role"] == "unused"]
    few, everything = "\n".join(shown(answer)), "\n".join(shown(answer, everything=True))
    assert "a: 2 hdds, each: does not answer" in few and glance.ALL in few and not any(name in few for name in failed)
    assert all(name in everything for name in failed) and glance.ALL not in everything
    assert glance.ALL not in "\n".join(shown(peek(inventory(a=[{"is": "hdd6"}]))))


def test_hosts_whose_disks_differ_in_bytes_alone_are_one_line():
    hosts = {f"h{number}": [{"is": "hdd6", "count": 4, "size": 6001175126016 + number * 512}] for number in range(30)}
    (line,) = [line for line in shown(peek(inventory(**hosts))) if line.startswith("h0")]
    assert line.split() == ["h0,", "h1", "and", "28", "more", "hosts", "standalone", "4", "4", "0", "0", "0"]
