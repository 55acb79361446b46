"""What minions return to one job: answers of the type that was asked for, and one problem for each of the others."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import UnionType
from typing import Any, NamedTuple

from proposals.stages import packed
from proposals.text.errors import InventoryError, ProposalError
from proposals.text.notes import FEW, by_host, several

SILENT = "does not answer: see 'salt-run manage.status', start its salt-minion, then run this again"
TRIED = (
    "is in test mode ('test: True' in its configuration), and changes nothing: take that out, restart its salt-minion"
)
LONGER = "raise max_event_size in the configuration of the master and of this minion, and restart both"
SYNC = "run ceph.stage.prep, which brings its modules up to date"
NO_STATE = re.compile(r"State '(?P<name>[\w.]+)' was not found in SLS ")  # Salt, where a minion lacks a state's module
MISSING = "\nTypeError: 'str' object is not callable"  # Salt, of a job of several functions: there is no such function
HELD_BACK = "One or more requisite failed"  # Salt, of a state behind one that failed
LONGEST = 2000  # characters of one line of what a minion says
OTHER = 60  # characters of an answer of another kind than was asked for
# A traceback: below its last frame, the exception's name and words.
RAISED = re.compile(r'.*\n  File "[^\n]*\n(?: +[^\n]*\n)*(?P<kind>[\w.]+): (?P<words>.*)', re.DOTALL)
# Salt, of any TypeError in a job of one function: that function's docstring is behind it.
MISTYPED = re.compile(r"Passed invalid arguments to [\w.]+: (?P<words>.*)")
# Python, where a function is called with more, fewer or others than it has.
ARGUMENTS = re.compile(r"(?P<name>\w+)\(\) (takes|missing|got an unexpected keyword|got multiple values) .*argument")


class Question(NamedTuple):
    """A function of a minion's with its arguments, and the type of what it answers.

    optional
        A minion that lacks the function, as before its first prep, or fails in it, answers None.
    """

    function: str
    arguments: Sequence[Any] = ()
    kind: type | UnionType = dict
    optional: bool = False


class Problem(NamedTuple):
    """Why there is no answer of a minion, and what to do."""

    minion: str
    text: str
    silent: bool = False


class Replies(NamedTuple):
    """Answers by minion, and the problems; both in the order of the minions' ids, each minion in one of them."""

    answers: dict[str, Any]
    problems: list[Problem]

    @property
    def silent(self) -> list[str]:
        """The minions that did not answer at all."""
        return [problem.minion for problem in self.problems if problem.silent]

    @property
    def failed(self) -> list[Problem]:
        """The problems of minions that answered, but not what was asked."""
        return [problem for problem in self.problems if not problem.silent]

    def of(self, minions: Collection[str]) -> "Replies":
        """Return the replies of some minions alone."""
        some = set(minions)
        answers = {minion: answer for minion, answer in self.answers.items() if minion in some}
        return Replies(answers, [problem for problem in self.problems if problem.minion in some])

    def whole(self) -> dict[str, Any]:
        """Return the answers; ProposalError that names every problem where there is one."""
        if self.problems:
            raise ProposalError("\n".join(lines(self.problems)))
        return self.answers


def lines(problems: Iterable[Problem]) -> list[str]:
    """Return what a person reads of problems; minions with the same one share a line, of many their number is told."""
    minions: dict[str, list[str]] = {}
    for problem in problems:
        minions.setdefault(problem.text, []).append(problem.minion)
    told = [(several(names, most=FEW), text) for text, names in minions.items()]
    return by_host(told)


def read(replied: Replies, reader: Callable[[Any], Any]) -> Replies:
    """Return replies with their answers as a reader has them; one of another form (InventoryError) is a problem."""
    answers, problems = {}, list(replied.problems)
    for minion, answer in replied.answers.items():
        try:
            answers[minion] = reader(answer)
        except InventoryError as err:
            problems.append(Problem(minion, str(err)))
    return Replies(answers, sorted(problems))


def findings(problems: Iterable[Problem], fix: str) -> list[dict[str, Any]]:
    """Return problems in the form of a check's warnings (``validation.check``), which a stage's run log tells. Of more
    than ``FEW`` texts the further ones are one warning: its hosts are named, what they said is not.

    fix
        What becomes of it, or what to do.
    """
    minions: dict[str, list[str]] = {}
    for problem in problems:
        minions.setdefault(problem.text, []).append(problem.minion)
    about = {"check": "answers", "severity": "warning", "fix": fix}
    told = [{**about, "hosts": names, "message": text} for text, names in minions.items()]
    rest = sorted(name for each in told[FEW:] for name in each["hosts"])
    more = [{**about, "hosts": rest, "message": f"{len(told) - FEW} further problems of this kind"}] if rest else []
    return [*told[:FEW], *more]


def joined(several: Iterable[Replies]) -> Replies:
    """Return the replies to several jobs, each to other minions, as those to one."""
    answers: dict[str, Any] = {}
    problems: list[Problem] = []
    for replied in several:
        answers |= replied.answers
        problems += replied.problems
    return Replies(dict(sorted(answers.items())), sorted(problems))


def judged(minions: Iterable[str], questions: Sequence[Question], returned: Mapping[str, Any]) -> Replies:
    """Return the replies to a job; each answer is ``{function: answer}``.

    minions
        Who was asked.
    questions
        What was asked, in one job.
    returned
        What Salt's client returns with ``full_return`` of a job of several functions: ``{minion: {ret: {function:
        answer}, retcode: {function: status}, out}}``. A function that raised has a traceback and no status.
    """
    answers, problems = {}, []
    for minion in sorted(minions):
        reply = returned.get(minion)
        if not isinstance(reply, Mapping) or reply.get("out") == "no_return":
            problems.append(Problem(minion, SILENT, silent=True))
            continue
        read_ = {question.function: _read(question, reply) for question in questions}
        wrong = {function: text for function, (_, text) in read_.items() if text}
        if told := [wrong[each.function] for each in questions if each.function in wrong and not each.optional]:
            problems.append(Problem(minion, _together(told)))
        else:
            answers[minion] = {function: answer for function, (answer, _) in read_.items()}
    return Replies(answers, problems)


def together(apart: Mapping[str, Replies], questions: Sequence[Question]) -> Replies:
    """Return the replies to some questions, each by its function, as ``judged`` has them: an answer is ``{function:
    answer}``, and a minion that fails in one of them is a problem."""
    own = [apart[question.function] for question in questions]
    problems: dict[str, list[Problem]] = {}
    for problem in (problem for replies in own for problem in replies.problems):
        problems.setdefault(problem.minion, []).append(problem)
    answers = {
        minion: {question.function: replies.answers[minion] for question, replies in zip(questions, own, strict=True)}
        for minion in sorted(own[0].answers)
        if minion not in problems
    }
    told = {minion: list(dict.fromkeys(each.text for each in wrong)) for minion, wrong in sorted(problems.items())}
    silent = {minion for minion, wrong in problems.items() if any(each.silent for each in wrong)}
    return Replies(answers, [Problem(minion, _together(texts), minion in silent) for minion, texts in told.items()])


def _together(told: Sequence[str]) -> str:
    """Several texts as one; what to do, where more than one says it, once at the end."""
    end = f": {SYNC}"
    if sum(text.endswith(end) for text in told) < 2:
        return "; ".join(told)
    return "; ".join(text.removesuffix(end) for text in told) + end


def _read(question: Question, reply: Mapping) -> tuple[Any, str]:
    """An answer, and what is wrong with it: empty where nothing is, and the answer is None where anything is."""
    function = question.function
    answer, status = (_part(reply.get(key), function) for key in ("ret", "retcode"))
    if isinstance(answer, str) and status != 0:
        return None, words(function, answer)
    packs = function.startswith(packed.ASKED)
    if packed.trimmed(answer, 2 if packs else 0):
        return None, f"{function}'s answer is longer than Salt carries: {LONGER}"
    try:
        answer = packed.unpacked(answer) if packs else answer
    except ValueError as err:
        return None, f"{function}'s answer cannot be unpacked ({_shown(str(err))}): run this again"
    wrong = _wrong(question, answer)
    return (None, wrong) if wrong else (answer, "")


def _wrong(question: Question, answer: Any) -> str:
    """What is wrong with an answer of another kind than was asked for; empty where it is of that kind."""
    if isinstance(answer, question.kind):
        return ""
    if isinstance(answer, list) and answer and all(isinstance(line, str) for line in answer):
        # what Salt's compiler says of an SLS that it cannot read
        return "; ".join(_shown(line) for line in answer)
    return f"{question.function} answered {_shown(answer, OTHER)}, expected {_name(question.kind)}: {SYNC}"


def _part(part: Any, function: str) -> Any:
    """What a reply holds for a function; a minion that could not begin the job has words alone."""
    return part.get(function) if isinstance(part, Mapping) else part


def told(state: Mapping[str, Any]) -> tuple[str, str]:
    """Return a state's id and what Salt says of it; where its minion lacks its module, what brings that.

    Such a state has a name and no id (``State.call`` of Salt).
    """
    comment = str(state.get("comment")).strip()
    missing = NO_STATE.match(comment)
    said = f"it has no state {missing['name']}: {SYNC}" if missing else comment
    return str(state.get("__id__") or state.get("name") or ""), said


def failure(state: Mapping[str, Any]) -> str:
    """Return why a state failed, in a line."""
    return ": ".join(filter(None, told(state)))


def tried(states: Any) -> bool:
    """Return whether states, run to change what is to be changed, only said what they would do: their minion's own
    configuration has it so."""
    if not isinstance(states, Mapping):
        return False
    return any(isinstance(state, Mapping) and state.get("result", True) is None for state in states.values())


def failures(states: Mapping[str, Mapping], test: bool = False) -> list[str]:
    """Return why states of a minion failed, a line each: in their order, without those that one of them held back.

    test
        Whether they were run to say what they would do.
    """
    if tried(states) and not test:
        return [TRIED]
    failed = [state for state in states.values() if state.get("result") is False]
    said = map(failure, sorted(failed, key=lambda state: state.get("__run_num__", 0)))
    return [text for text in said if HELD_BACK not in text]


def words(function: str, text: str) -> str:
    """Return what a person reads of the error that a function's answer is.

    Our modules raise Salt's own errors, whose text is meant for a person; of others the exception's name is added."""
    error = text.strip().removeprefix("ERROR: ")
    if error == f"'{function}' is not available." or error.endswith(MISSING):
        return f"it has no {function}: {SYNC}"
    if mistyped := MISTYPED.match(error):
        error = _raised(function, "TypeError", mistyped["words"])
    elif raised := RAISED.fullmatch(error):
        error = _raised(function, raised["kind"], raised["words"].strip())
    return "\n".join(_shown(line) for line in error.splitlines())


def _raised(function: str, kind: str, said: str) -> str:
    """What is said of an exception; of a function of another version, whose arguments are others, what brings ours."""
    taken = ARGUMENTS.match(said) if kind == "TypeError" else None
    if taken and taken["name"] == function.rpartition(".")[2]:
        return f"its {function} is another version's, with other arguments: {SYNC}"
    return said if kind.startswith("salt.exceptions.") else f"{function}: {kind}: {said} (its log has more)"


def _shown(text: object, longest: int = LONGEST) -> str:
    """What a minion says, without what a terminal would take for a command, and not without end."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in str(text)[:longest])


def _name(kind: type | UnionType) -> str:
    return getattr(kind, "__name__", str(kind))
