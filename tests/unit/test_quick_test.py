"""Placement groups that fit, and a result that reads."""

import pytest

from proposals.cluster import pool_benchmark


@pytest.mark.parametrize(
    ("osds", "used", "size", "wanted", "expected"),
    [
        (36, 3, 3, 1024, 1024),
        (6, 3, 3, 1024, 256),  # (1500 - 3) / 3 = 499
        (3, 0, 3, 1024, 128),  # 250
        (216, 0, 3, 1000, 512),
        (1, 0, 3, 1024, 64),
        (1, 248, 3, 1024, 0),
        (0, 0, 3, 1024, 0),
    ],
)
def test_groups_that_fit(osds, used, size, wanted, expected):
    assert pool_benchmark.pg_num({"osds": osds, "per_osd": 250, "used": used, "size": size}, wanted) == expected


def test_a_result_tells_why_there_are_fewer():
    measured = {
        "write": {"bandwidth": "81.2", "average_iops": "20", "average_latency": "0.5", "total_writes_made": "61"}
    }
    found = {"osds": 6, "per_osd": 250, "used": 3, "size": 3}
    told = pool_benchmark.text(found, 256, 3, measured, 1024)
    assert "256 placement groups (1024 do not fit 6 OSDs of at most 250 each)" in told
    assert "81.2 MB/s" in told and "500.0 ms on average" in told and "61 objects" in told
    assert "do not fit" not in pool_benchmark.text(found, 256, 3, measured, 256)
