"""Whether a command can be typed as it is shown: the function exists and takes these arguments. Nothing is run."""

import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr
from functools import cache
from importlib.resources import files
from io import StringIO

from docs.generate.functions import ROOT, Function, modules, runners
from lab import cli as lab
from proposals import cli as planner
from proposals.disks import arguments as disks
from proposals.networking import arguments as networks
from proposals.text.errors import ProposalError

ELLIPSIS = re.compile(r"…|\.\.\.")
SHELL = (">", ">>", "|", "&&", ";")  # what follows is another command's
PAIR = re.compile(r"[A-Za-z][A-Za-z_-]*=")
VIRTUAL = {"pkg", "service", "user", "group"}  # modules of Salt whose file is named after the system's way
WITH_VALUE = {"-l", "--out", "-c", "-b", "--batch", "-t", "--log-level", "--config-dir"}


def problem(text: str, whole: bool = True) -> str | None:
    """What is wrong with a command; None where nothing is, or where it is none of ours.

    whole
        It is to be typed as it stands: what it must have and lacks is wrong too."""
    try:
        words = [word for word in shlex.split(text, comments=True) if not ELLIPSIS.fullmatch(word)]
    except ValueError:  # a quotation that is no command
        return None
    words = words[: next((at for at, word in enumerate(words) if word in SHELL), None)]
    words = words[words[:1] == ["sudo"] :]
    for start, judge in JUDGES.items():
        first = start.split()
        if words[: len(first)] == first or (words and words[0] == f".venv/bin/{first[0]}" and words[1:3] == first[1:]):
            return judge(words[len(first) :], whole)
    return None


def _salt_run(words: list[str], whole: bool) -> str | None:
    words = _without_options(words)
    if not words or "*" in words[0] or words[0].isupper():
        return None
    name, *rest = words
    if name == "state.orch":
        return _orchestrated(rest)
    if function := runners().get(name):
        return _call(function, rest, whole)
    if (ROOT / "runners" / f"{name.partition('.')[0]}.py").is_file():
        return f"there is no function {name} in runners/"
    return None if name in _salts("runners") else f"there is no runner {name}"


def _orchestrated(words: list[str]) -> str | None:
    named = [word for word in words if "=" not in word]
    if not named or not named[0].startswith("ceph."):
        return None
    path = ROOT / "salt" / named[0].replace(".", "/")
    if "*" in named[0] or path.name.isupper() or path.with_suffix(".sls").is_file() or (path / "init.sls").is_file():
        return None
    return f"there is no {named[0]} in salt/"


def _salt(words: list[str], whole: bool) -> str | None:
    return _asked(_without_options(words)[1:], whole)


def _asked(words: list[str], whole: bool) -> str | None:
    words = _without_options(words)
    if not words or "*" in words[0] or words[0].isupper() or "." not in words[0]:
        return None
    name, *rest = words
    noun = name.partition(".")[0]
    if function := modules().get(name):
        return _call(function, rest, whole)
    if (ROOT / "_modules" / f"{noun}.py").is_file():
        return f"there is no function {name} in _modules/"
    return None if noun in VIRTUAL or name in _salts("modules") else f"there is no execution function {name}"


def _call(function: Function, words: list[str], whole: bool) -> str | None:
    """Whether a function can be called with these words, as Salt's command line reads them."""
    keywords = {word.partition("=")[0] for word in words if PAIR.match(word)} - {"key"}
    known = function.keywords | {name.replace("-", "_") for name in function.takes}
    if (unknown := sorted(keywords - known)) and not function.open:
        return f"{function.name} takes no {unknown[0]}; it takes {', '.join(sorted(function.keywords)) or 'nothing'}"
    bind = function.signature.bind if whole and words else function.signature.bind_partial
    try:
        bind(*(word for word in words if not PAIR.match(word)), **dict.fromkeys(keywords))
    except TypeError as error:
        return f"{function.name}: {error}"
    return None


def _planner(words: list[str], whole: bool) -> str | None:
    if not words or words[0].isupper() or "VERB" in words:
        return None
    if "--help" in words:
        return None if words[0] in VERBS else f"there is no verb {words[0]}"
    try:
        options = planner.parse([word.rstrip("…") for word in words])
        read = networks if words[0] in ("networks", "network") else disks
        read.parse([pair for pair in getattr(options, "pairs", ()) if pair != "key=value"])
    except ProposalError as error:
        return str(error) if whole or "are required" not in str(error) else None
    return None


def _lab(words: list[str], whole: bool) -> str | None:
    if not words or "VERB" in words or "--help" in words:
        return None
    before = words[: words.index("--")] if "--" in words else words
    printed = StringIO()
    try:
        with redirect_stderr(printed):
            lab.parser().parse_args(before)
    except SystemExit:
        error = printed.getvalue().strip().rpartition("\n")[2]
        return error if whole or "are required" not in error else None
    return None


def _make(words: list[str], _: bool) -> str | None:
    targets = set(re.findall(r"^([a-z./-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    wrong = [word for word in words if "=" not in word and word not in targets]
    return f"the Makefile has no target {wrong[0]}" if wrong else None


def _without_options(words: list[str]) -> list[str]:
    """Words without the options of Salt's own commands."""
    kept, skip = [], False
    for word in words:
        if skip or word.startswith("-"):
            skip = not skip and word in WITH_VALUE
        else:
            kept.append(word)
    return kept


@cache
def _salts(kind: str) -> frozenset[str]:
    """The functions of Salt's own runners or execution modules."""
    return frozenset(
        f"{path.name.removesuffix('.py').removesuffix('mod')}.{name}"
        for path in files("salt").joinpath(kind).iterdir()
        if path.name.endswith(".py")
        for name in re.findall(r"^(?:async )?def ([a-z]\w*?)_?\(", path.read_text(), re.MULTILINE)
    )


VERBS = ("peek", "populate", "show", "explain", "diff", "export", "policy", "networks", "network", "reference")
JUDGES: Mapping[str, Callable[[list[str], bool], str | None]] = {
    "salt-run": _salt_run,
    "salt-call": _asked,
    "salt": _salt,
    "python -m proposals": _planner,
    "python -m lab": _lab,
    "make": _make,
}
