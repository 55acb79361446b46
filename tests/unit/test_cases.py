"""Every case under fixtures/cases, planned and compared with what it expects."""

import pytest
from planning import CHECKS, cases, inventory, peek

from proposals.text.errors import ProposalError

CASES = list(cases("cases"))


@pytest.mark.parametrize(("name", "case"), CASES, ids=[name for name, _ in CASES])
def test_case(name, case):
    hosts = case.get("hosts") or {"node1": case["disks"]}
    wanted = dict(case["expect"])
    error = wanted.pop("error", None)
    if error:
        with pytest.raises(ProposalError) as caught:
            peek(inventory(**hosts), case.get("arguments", ""))
        assert error in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    answer = peek({**inventory(**hosts), "cluster": case.get("cluster")}, case.get("arguments", ""))
    for key, value in wanted.items():
        assert CHECKS[key](answer, value) == value, key
