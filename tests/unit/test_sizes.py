"""Sizes and ranges: the table of what is understood, and what is not."""

import pytest

from proposals.text.errors import ArgumentError, FilterError
from proposals.text.sizes import GIB, both, parse_range, parse_size

TB6, GB800, T1862 = 6001175126016, 800166076416, 1999844147200

HOLDS = [
    ("740-770", GB800, True),
    ("750-850", GB800, False),
    ("745", GB800, True),
    ("746", GB800, False),
    ("745.2", GB800, True),
    ("745.3", GB800, False),
    ("5000-", TB6, True),
    ("-770", GB800, True),
    ("-744", GB800, False),
    ("0-770", GB800, True),
    ("6TB", TB6, True),
    ("-6TB", TB6, True),
    ("5TB-6TB", TB6, True),
    ("5-6TB", TB6, True),
    ("5TB-6", TB6, True),
    ("6.1TB-", TB6, False),
    ("5.4TiB-", TB6, True),
    ("5.45TiB", TB6, True),
    ("800GB", GB800, True),
    ("800gb", GB800, True),
    ("1000-1862", T1862, True),
    ("740g-770G", GB800, True),
    ("740 GiB - 770 GiB", GB800, True),
    ("5t-6t", TB6, True),
    ("740-770", 740 * GIB, True),
    ("740-770", 740 * GIB - 1, False),
    ("740-770", 771 * GIB - 1, True),
    ("740-770", 771 * GIB, False),
]


@pytest.mark.parametrize(("text", "size", "inside"), HOLDS)
def test_a_range_holds(text, size, inside):
    assert (size in parse_range(text)) is inside


@pytest.mark.parametrize(
    "text",
    ["", "-", "0", "0-0", "-0", "770-740", "7TB-5TB", "5TB-7TBgarbage", "5--7", "a", "5XB", "1e3", "5-6-7", "5 6"],
)
def test_a_range_is_refused(text):
    with pytest.raises(FilterError):
        parse_range(text)


SIZES = [
    ("40g", 40 * GIB),
    ("40", 40 * GIB),
    ("40GiB", 40 * GIB),
    ("40G", 40 * GIB),
    ("512M", GIB // 2),
    ("1T", 1024 * GIB),
    ("1.5g", 3 * GIB // 2),
    ("40GB", 40001077248),
    ("1MB", 4 << 20),
]


@pytest.mark.parametrize(("text", "size"), SIZES)
def test_a_size(text, size):
    assert parse_size("db-size", text) == size


@pytest.mark.parametrize("text", ["", "0", "0g", "-5", "40x", "g", "4 0", "40gg"])
def test_a_size_is_refused(text):
    with pytest.raises(ArgumentError, match="db-size="):
        parse_size("db-size", text)


def test_both_ways_people_count():
    assert both(GB800) == "745.2 GiB = 800.2 GB"
    assert both(TB6) == "5589 GiB = 6.00 TB"
