"""What a runner answers: data, or one message with an exit status. Nothing of Salt is imported."""

import contextlib
import functools
import io
from collections.abc import Callable
from typing import Any

from proposals.errors import ProposalError


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
    if status:
        return {"retcode": status, **(data if output else {"text": text})}
    return data if output else {"data": text, "outputter": "txt"}


def printed(show: Callable, *arguments: Any) -> str:
    """Return what a function of ``tables`` prints: a runner's text goes through Salt's outputter, not past it."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show(*arguments)
    return out.getvalue().rstrip()


def answers(function: Callable) -> Callable:
    """Make a runner function answer the planner's errors instead of raising them."""

    @functools.wraps(function)
    def answering(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except ProposalError as err:
            return bad(str(err))

    return answering
