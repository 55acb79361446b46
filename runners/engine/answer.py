"""What a runner answers: data, or one message with an exit status. Nothing of Salt is imported."""

import atexit
import contextlib
import functools
import inspect
import io
import json
import logging
import os
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple, get_args, get_origin

from proposals.files import atomic
from proposals.files.site import site
from proposals.text import argument_readers, names
from proposals.text.argument_readers import Argument, described
from proposals.text.errors import ArgumentError, ProposalError

WORDS = {str, int, float, bool}  # kinds of arguments that are one word
OUTPUTTER = "answer"  # salt/_output/answer.py: prints the text alone


class Answer(NamedTuple):
    """An answer for whoever asks: its text for a person, its data where ``--out`` was typed.

    ``status`` is the exit status; 1 is "look at this".
    """

    text: str
    data: Mapping[str, Any]
    status: int = 0


Output = Answer | dict[str, Any]  # of a runner: the latter as Salt takes it: text, changes, or retcode and error


def bad(message: str, status: int = 2) -> dict[str, Any]:
    """Return a bad answer: salt-run takes ``retcode`` as its exit status and prints the message."""
    return {"retcode": status, "error": message}


def answers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a runner function answer, and never raise, what is wrong with its arguments or what planning refuses.

    Salt itself ends with status 0 where an argument is missing or unknown: so it is shown a function that takes
    any, and they are checked here. ``**_`` takes none; Salt's own (``__pub_user`` …) are left out. A runner that asks
    another one for its data says ``__out="json"``, as ``--out json`` is typed. A TypeError of our own it would print as
    a wrong argument, with status 0 as well: it is raised as what it is, a fault.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def answering(*args: Any, **kwargs: Any) -> Any:
        _quiet_exit()
        _any_character()
        typed = {key: value for key, value in kwargs.items() if not key.startswith("__")}
        opts = function.__globals__.get("__opts__") or {}
        _writes(opts)
        try:
            if opts.get("fun") == ".".join([function.__module__.rpartition(".")[2], function.__name__.rstrip("_")]):
                argument_readers.check_words(opts.get("arg") or (), signature.parameters)
            _check(signature, function.__name__.rstrip("_"), args, typed)
            answer = function(*args, **typed)
        except ProposalError as err:
            answer = bad(str(err))
        except TypeError as err:
            raise RuntimeError(f"{function.__module__}.{function.__name__}: {err}") from err
        return _shaped(answer, kwargs.get("__out") or opts.get("output"))

    del answering.__wrapped__  # Salt follows it and would refuse arguments itself
    return answering


def tell(opts: Mapping, line: str) -> None:
    """Say a step as it begins, or a result as it comes; a program that named its ``--out`` gets the answer alone.

    Whoever reads it may go, as ``head`` does, and the disk below it may be full: what is being done goes on.

    opts
        A runner's ``__opts__``.
    line
        What to print.
    """
    if not opts.get("output"):
        try:
            print(line, flush=True)
        except OSError:
            unread()


def unread() -> None:
    """Let what is printed from here on go nowhere: nobody reads it any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def user() -> str:
    """Who asks for the function that runs, as Salt authenticated them: it tells the globals of what it calls."""
    return str(globals().get("__user__", "UNKNOWN"))


def takes(arguments: Mapping[str, Argument]) -> Callable[[Callable], Callable]:
    """Tell what a function's arguments mean where ``salt-run -d`` shows it: in its docstring, before the example."""

    def documented(function: Callable) -> Callable:
        about, example, more = (function.__doc__ or "").partition("    CLI Example:")
        function.__doc__ = f"{about}{textwrap.indent(described(arguments), ' ' * 4)}\n\n{example}{more}"
        return function

    return documented


@functools.cache
def _quiet_exit() -> None:
    """Disable logging at interpreter exit: Salt prints "unclosed ..." to the console there."""
    atexit.register(logging.disable)


def _writes(opts: Mapping) -> None:
    """Let a file that is refused say whose its folder has to be, where the master runs as another user than root."""
    if (user := str(opts.get("user") or "root").removeprefix("sudo_")) != "root":
        with contextlib.suppress(ProposalError):  # whoever needs the site says what it lacks
            atomic.writes(user, [site(opts).root])
        atomic.writes(user, filter(None, [opts.get("halocline_log_dir"), opts.get("cachedir")]))


def _any_character() -> None:
    """Print by its number what the locale's encoding has not, as ``halocline`` does: else one such character would end
    what is shown, and the stage behind it would go on unwatched."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _check(signature: inspect.Signature, name: str, args: tuple, kwargs: Mapping[str, Any]) -> None:
    """Raise ArgumentError where a function cannot be called with these arguments, a switch is neither true nor false,
    or a list is given for a word or a word for a list.
    """
    kinds = {key: parameter.kind for key, parameter in signature.parameters.items() if key != "_"}
    named = [key for key, kind in kinds.items() if kind != inspect.Parameter.VAR_KEYWORD]
    several = [key for key, kind in kinds.items() if kind == inspect.Parameter.VAR_POSITIONAL]
    if key := next((key for key in several if key in kwargs), None):
        raise ArgumentError(f"{name}: {key} are typed without '{key}=', with blanks between")
    unknown = [key for key in kwargs if key not in named]
    if unknown and len(named) == len(kinds):
        near = names.nearest(unknown[0], named) if named else "; it takes none"
        raise ArgumentError(f"{name}: '{names.shown(unknown[0])}' is not an argument{near}")
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as err:
        expected = [*named, *(["KEY=VALUE"] if len(named) < len(kinds) else [])]
        raise ArgumentError(f"{name}: {err}; expected {', '.join(expected) or 'no argument'}") from err
    for key, value in given.items():
        if signature.parameters[key].annotation is bool and type(value) is not bool:  # any word would count as true
            raise ArgumentError(f"{key}={names.shown(value)}: expected true or false")
        for each in value if key in several else [value]:
            _check_kind(key, each, signature.parameters[key].annotation)


def _check_kind(key: str, value: Any, hint: Any) -> None:
    """Raise ArgumentError for a list or a mapping where a word was expected, for a word where a list was, which would
    be taken for the list of its letters, and for what is no mapping where one was."""
    kinds = {hint} if get_origin(hint) in (Sequence, Mapping) else set(get_args(hint) or (hint,)) - {NoneType}
    if kinds <= WORDS and isinstance(value, list | tuple | Mapping):
        raise ArgumentError(f"{key}={names.shown(value)}: one word was expected")
    if all(get_origin(kind) is Mapping for kind in kinds) and not isinstance(value, Mapping | None):
        raise ArgumentError(f"{key}={names.shown(value)}: a mapping was expected, such as '{{node1: true}}'")
    listed = any(get_origin(kind) is Sequence for kind in kinds)
    if listed and isinstance(value, str | int | float) and not (isinstance(value, str) and str in kinds):
        raise ArgumentError(f"{key}={names.shown(value)}: a list was expected, such as '[node1, node2]'")


def _shaped(answer: Any, output: str | None) -> Any:
    """Choose text or data; name our outputter where there is a text to print and the admin named no other."""
    if isinstance(answer, Answer):
        shown = dict(answer.data) if output else {"text": answer.text}
        answer = {"retcode": answer.status, **shown} if answer.status else shown
    words = isinstance(answer, dict) and ("error" in answer or "text" in answer)
    return _packable({**answer, "outputter": OUTPUTTER} if words and not output else answer)


def _packable(answer: Any) -> Any:
    """An answer with bytes that are no UTF-8, which files and their names may hold, escaped: Salt can pack no lone
    surrogate, and whoever asked would wait for ever.
    """
    try:
        json.dumps(answer, ensure_ascii=False, default=str, skipkeys=True).encode()
    except UnicodeEncodeError:
        return _escaped(answer)
    return answer


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, Mapping):
        return {_escaped(key): _escaped(inner) for key, inner in value.items()}
    return [_escaped(each) for each in value] if isinstance(value, list | tuple) else value
