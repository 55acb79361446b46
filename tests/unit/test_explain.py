"""Every case of fixtures/explained.yaml: the steps that one disk's answer tells."""

import pytest
import yaml
from planning import FIXTURES, inventory

from proposals.disks import arguments, explain, plan

CASES = yaml.load((FIXTURES / "explained.yaml").read_text(), yaml.CSafeLoader)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_disk_is_explained(case):
    planned = plan.peek(inventory(node1=case["disks"]), arguments.parse(case.get("arguments", "").split()))
    steps = explain.disk(planned, "node1", case["disk"])["steps"]
    assert [wanted for wanted in case["steps"] if not any(wanted in step for step in steps)] == [], steps
    assert not any(step.startswith(word) for step in steps for word in case.get("without", ()))
