"""What minions return to a job becomes answers and problems; one way to wait."""

from pathlib import Path

import pytest
import yaml

from proposals.stages import replies
from proposals.stages.replies import Problem, Question
from proposals.text.errors import ProposalError
from runners.engine import waiting

CASES = yaml.load((Path(__file__).parent.parent / "fixtures" / "replies.yaml").read_text(), yaml.CSafeLoader)


def judged(returned, **kind):
    return replies.judged(returned, [Question("odd.asked", **kind)], returned)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_reply_is_an_answer_or_a_problem(case):
    answered = judged({"node1": case["returned"]})
    if "answer" in case:
        assert answered == ({"node1": {"odd.asked": case["answer"]}}, [])
        assert answered.whole() == answered.answers
        return
    assert answered == ({}, [Problem("node1", case["problem"], case.get("silent", False))])
    assert (answered.silent, answered.failed) == ((["node1"], []) if case.get("silent") else ([], answered.problems))
    with pytest.raises(ProposalError) as raised:
        answered.whole()
    assert str(raised.value) == f"node1: {case['problem']}"


def test_a_text_is_an_answer_where_a_text_was_asked_for():
    good, bad = ({"ret": {"odd.asked": "words"}, "retcode": {"odd.asked": status}} for status in (0, 1))
    assert judged({"a": good, "b": bad}, kind=str) == ({"a": {"odd.asked": "words"}}, [Problem("b", "words")])
    nothing = {"ret": {"odd.asked": None}, "retcode": {"odd.asked": 0}}
    assert judged({"a": nothing}, kind=str | None).answers == {"a": {"odd.asked": None}}
    assert "expected str: run" in judged({"a": nothing}, kind=str).problems[0].text


def test_each_function_that_failed_is_named_and_equal_problems_share_a_line():
    reply = {"ret": {"a.b": {}, "a.c": 1, "a.d": None}, "retcode": {"a.b": 0, "a.c": 0, "a.d": 0}}
    questions = [Question("a.b"), Question("a.c", kind=list), Question("a.d")]
    found = replies.judged(["y", "x", "z"], questions, {"x": reply, "y": reply})
    assert [problem.minion for problem in found.problems] == ["x", "y", "z"]
    odd, silent = replies.lines(found.problems)
    assert odd.startswith("x, y: a.c answered 1, expected list") and "; a.d answered None, expected dict" in odd
    assert silent == f"z: {replies.SILENT}"


@pytest.mark.parametrize("told", ["'a.c' is not available.", 1, None])
def test_an_optional_question_costs_a_minion_nothing(told):
    """A minion before its first prep has none of our functions: its other answers count."""
    questions = [Question("a.b", kind=list), Question("a.c", kind=list, optional=True)]
    reply = {"ret": {"a.b": [], "a.c": told}, "retcode": {"a.b": 0, "a.c": 0}}
    assert replies.judged(["x"], questions, {"x": reply}) == ({"x": {"a.b": [], "a.c": None}}, [])
    assert replies.judged(["x"], questions, {"x": {"ret": "busy", "retcode": 1}}).problems == [Problem("x", "busy")]


def test_waiting_ends_when_nothing_is_left_or_at_its_limit():
    left = [["a", "b"], ["b"], []]
    assert waiting.until_none(lambda: left.pop(0), 60, 0) == [] and left == []
    assert waiting.until_none(lambda: "still", 0, 60) == "still"


def test_problems_are_warnings_of_a_stage():
    """Of those that answered falsely: a run would end in ``nothing changed`` with no word of them."""
    odd = [Problem("b", "no form"), Problem("a", "no form"), Problem("c", "x")]
    first, second = replies.findings(odd, "it stays")
    assert first == {
        "check": "answers", "severity": "warning", "hosts": ["b", "a"], "message": "no form", "fix": "it stays"
    }  # fmt: skip
    assert (second["hosts"], replies.findings([], "it stays")) == (["c"], [])


def test_a_minion_that_answers_nonsense_to_several_questions_is_told_once_what_to_do() -> None:
    questions = [replies.Question("disks.inspect"), replies.Question("host_nics.inspect", kind=list)]
    nonsense = {"disks.inspect": [1, {"a": None}], "host_nics.inspect": "x" * 500}
    returned = {"a": {"ret": nonsense, "retcode": dict.fromkeys(nonsense, 0)}}
    (problem,) = replies.judged(["a"], questions, returned).problems
    assert problem.text.count(replies.SYNC) == 1 and problem.text.endswith(replies.SYNC)
    assert "disks.inspect answered [1, {'a': None}], expected dict; host_nics.inspect answered xxx" in problem.text
    assert len(problem.text) < 250


def test_a_thousand_different_problems_are_few_warnings_that_name_every_minion() -> None:
    problems = [replies.Problem(f"n{number:04}", f"said {number}") for number in range(1000)]
    told = replies.findings(problems, "it stays")
    assert len(told) == replies.FEW + 1 and told[-1]["message"] == "990 further problems of this kind"
    assert sorted(name for each in told for name in each["hosts"]) == [problem.minion for problem in problems]
