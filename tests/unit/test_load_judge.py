"""What is said of a load by its clients' ledgers: cases in tests/fixtures/load.yaml."""

import json
from dataclasses import asdict
from io import StringIO
from typing import Any

import pytest
import yaml
from rich.console import Console

from lab.load.judge import Demand, judge
from lab.load.node.ledger import Entry, parse
from lab.load.shown import shown
from lab.store import CHECKOUT

CASES = yaml.load((CHECKOUT / "tests/fixtures/load.yaml").read_text(), yaml.CSafeLoader)


def lines(text: str) -> str:
    """A ledger's text of the short form in the cases."""
    made = []
    for line in text.splitlines():
        at, what, *words = line.split()
        if what == "error":
            entry = Entry(float(at), what, text=words[0])
        else:
            number, version, digest, *_ = (*words, *"---"[len(words) :])
            numbers = (int(word) if word != "-" else default for word, default in ((number, -1), (version, 0)))
            entry = Entry(float(at), what, *numbers, digest=None if digest == "-" else digest)
        made.append(json.dumps(asdict(entry)) + "\n")
    return "".join(made)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_load_is_judged_by_its_ledgers(case: dict[str, Any]) -> None:
    ledger = parse(lines(case["ledger"]) + case.get("torn", ""))
    report = judge({"rados": ledger}, case.get("until", 5), Demand(**case.get("demand", {})), case.get("faults", ()))
    found = asdict(report.clients["rados"])
    wanted = case.get("figures", {})
    assert {key: list(found[key]) if key == "during" else found[key] for key in wanted} == wanted
    said, begins = list(report.problems), case.get("problems", [])
    assert len(said) == len(begins) and all(map(str.startswith, said, begins)), said


def test_a_load_that_still_runs_is_judged_by_what_it_found_alone() -> None:
    ledger = parse(lines("0 begin\n1 try 0 1 a\n1 written 0 1\n1 read 0 - x\n"))
    assert len(judge({"s3": ledger}, 99).problems) == 1


def test_the_report_is_a_table_with_what_is_wrong_below() -> None:
    report = judge({"s3": parse(lines("0 begin\n1 try 0 1 a\n1 written 0 1\n2 end\n3 checked 0 - -\n"))}, 5, Demand())
    console = Console(file=StringIO(), width=160)
    shown(report, console)
    text = console.file.getvalue()
    assert "s3" in text and "s3 object-0 is lost" in text.splitlines()[-1]
