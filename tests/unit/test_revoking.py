"""Whose key may be revoked, and what is said of it."""

import pytest
import yaml
from planning import FIXTURES

from proposals.cluster import revoking
from proposals.text.errors import ArgumentError

CASES = yaml.load((FIXTURES / "revoking.yaml").read_text(), yaml.CSafeLoader)


def would(case):
    name, days = revoking.entity(case["revoke"]), revoking.days(case.get("days", revoking.DAYS))
    revoking.known(name, case["seen"], case.get("made", False))
    return revoking.would(name, case["seen"], days).splitlines()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_revoking_would_do(case):
    if "wrong" not in case:
        assert would(case) == case["would"]
        return
    with pytest.raises(ArgumentError) as refused:
        would(case)
    assert str(refused.value).startswith(case["wrong"])


def test_what_it_did():
    done = revoking.done("client.a", {"10.0.0.9:0/1": "2026-12-22T16:00:00.000000+0000"}, True).splitlines()
    assert done[1] == "blocked until 2026-12-22T16:00:00.000000+0000: 10.0.0.9:0/1"
    assert "fresh key" in done[-1] and "ceph.stage.services" in done[-1]
    assert revoking.done("client.a", {}, False).splitlines() == [done[0]]
