"""Every case under fixtures/cases, planned and compared with what it expects."""

from collections import Counter

import pytest
from planning import cases, inventory, peek

from proposals.text.errors import ProposalError
from proposals.text.sizes import GIB

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


def _osds(answer):
    return [osd for host in answer["hosts"].values() for osd in host["osds"]]


def _disks(answer):
    return [disk for host in answer["hosts"].values() for disk in host["disks"]]


def _counts(answer, role):
    return sorted(Counter(osd[role] for osd in _osds(answer) if osd[role]).values(), reverse=True)


def _found(texts, wanted):
    """Those of the wanted texts that stand in one of ``texts``; all of them, where none is wanted."""
    return [part for part in wanted if any(part in text for text in texts)] if wanted else list(texts)


def _gib(size):
    return size / GIB if size else None


CHECKS = {
    "layout": lambda answer, _: next(host["layout"] for host in answer["hosts"].values()),
    "osds": lambda answer, _: len(_osds(answer)),
    "devices": lambda answer, _: _counts(answer, "db"),
    "wals": lambda answer, _: _counts(answer, "wal"),
    "existing": lambda answer, _: sum(osd["existing"] for osd in _osds(answer)),
    "unused": lambda answer, _: sum(disk["role"] == "unused" for disk in _disks(answer)),
    "slot": lambda answer, _: [_gib(_osds(answer)[0]["db_size"]), _gib(_osds(answer)[0]["wal_size"])],
    "db_sizes": lambda answer, _: sorted({_gib(osd["db_size"]) for osd in _osds(answer)}),
    "data_sizes": lambda answer, _: sorted({disk["size"] for disk in _disks(answer) if disk["role"] == "data"}),
    "encryption": lambda answer, _: _osds(answer)[0]["encryption"],
    "reasons": lambda answer, wanted: _found([disk["reason"] or "" for disk in _disks(answer)], wanted),
    "warnings": lambda answer, wanted: _found(answer["warnings"], wanted),
    "hints": lambda answer, wanted: _found(answer["hints"], wanted),
    "candidates": lambda answer, _: [one["layout"] for one in answer["hosts"]["node1"]["candidates"]],
}
