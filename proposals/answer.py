"""What a runner answers: data, or one message with an exit status. Nothing of Salt is imported."""

import atexit
import contextlib
import contextvars
import functools
import inspect
import io
import logging
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from proposals.text import names
from proposals.text.argument_readers import Argument, described
from proposals.text.errors import ArgumentError, ProposalError

OUTPUTTER = "answer"  # salt/_output/answer.py: prints the text alone
_INSIDE = contextvars.ContextVar("inside an answering function", default=False)


def bad(message: str, status: int = 2) -> dict:
    """Return a bad answer: salt-run takes ``retcode`` as its exit status and prints the message."""
    return {"retcode": status, "error": message}


def told(text: str, data: Any, output: str | None, status: int = 0) -> Any:
    """Return an answer for whoever asks: text for a person, data where an ``--out`` was named.

    text
        What a person reads.
    data
        The same for a program; a mapping.
    output
        Salt's ``output`` option: None where the admin named none.
    status
        Exit status; 1 is "look at this".
    """
    shown = data if output else {"text": text}
    return {"retcode": status, **shown} if status else shown


def printed(show: Callable, *arguments: Any) -> str:
    """Return what a function of ``tables`` prints: a runner's text goes through Salt's outputter, not past it."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show(*arguments)
    return out.getvalue().rstrip()


def answers(function: Callable) -> Callable:
    """Make a runner function answer, and never raise, what is wrong with its arguments or what planning refuses.

    Salt itself ends with status 0 where an argument is missing or unknown: so it is shown a function that takes
    any, and they are checked here. ``**_`` takes none; Salt's own (``__pub_user`` …) are left out.

    Only the outermost one answers: called by another one of ours, a function returns and raises as it is written.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def answering(*args, **kwargs):
        mine = {key: value for key, value in kwargs.items() if not key.startswith("__")}
        if _INSIDE.get():
            return function(*args, **mine)
        _last_words()
        outside = _INSIDE.set(True)
        try:
            _check(signature, function.__name__.rstrip("_"), args, mine)
            answer = function(*args, **mine)
        except ProposalError as err:
            answer = bad(str(err))
        finally:
            _INSIDE.reset(outside)
        return _shaped(answer, function.__globals__.get("__opts__") or {})

    del answering.__wrapped__  # Salt follows it and would refuse arguments itself
    return answering


def takes(arguments: Mapping[str, Argument]) -> Callable[[Callable], Callable]:
    """Tell what a function's arguments mean where ``salt-run -d`` shows it: in its docstring, before the example."""

    def documented(function: Callable) -> Callable:
        about, example, more = function.__doc__.partition("    CLI Example:")
        function.__doc__ = f"{about}{textwrap.indent(described(arguments), ' ' * 4)}\n\n{example}{more}"
        return function

    return documented


@functools.cache
def _last_words() -> None:
    """Let nothing be logged while Python ends: Salt's leftovers speak then, on the console and in no file."""
    atexit.register(logging.disable)


def _check(signature: inspect.Signature, name: str, args: tuple, kwargs: dict) -> None:
    """Raise ArgumentError where a function cannot be called with these arguments."""
    taken = {key: one.kind for key, one in signature.parameters.items() if key != "_"}
    known = [key for key, kind in taken.items() if kind != inspect.Parameter.VAR_KEYWORD]
    unknown = [key for key in kwargs if key not in known]
    if unknown and len(known) == len(taken):
        near = names.nearest(unknown[0], known) if known else "; it takes none"
        raise ArgumentError(f"{name}: '{names.shown(unknown[0])}' is not an argument{near}")
    try:
        signature.bind(*args, **kwargs)
    except TypeError as err:
        raise ArgumentError(f"{name}: {err}; expected {', '.join(known) or 'no argument'}") from err


def _shaped(answer: Any, opts: Any) -> Any:
    """Name our outputter where there is a text to print and the admin named no other."""
    words = isinstance(answer, dict) and ("error" in answer or "text" in answer)
    return {**answer, "outputter": OUTPUTTER} if words and not opts.get("output") else answer
