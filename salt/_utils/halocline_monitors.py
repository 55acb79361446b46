"""Ask Ceph's monitors: several commands over one connection, or ``ceph`` for what is none of them.

To start ``ceph`` takes 0.4 s of a processor, and each command 0.1 s more: it is compared with all that Ceph knows
(``validate_command`` of Ceph's ceph_argparse.py). The monitors answer most of them in a millisecond. So what we ask
often has its form here, by which the monitors take it as it is (src/mon/MonCommands.h).
"""

import errno
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import halocline
import halocline_rados
from salt.exceptions import CommandExecutionError

# Commands of the monitors themselves (managers' are asked elsewhere): without arguments, or with some, in order.
PLAIN = {
    *("auth ls", "config dump", "config ls", "df", "fs dump", "fs ls", "health", "mds metadata", "mgr dump"),
    *("mgr metadata", "mgr module ls", "mgr services", "mon dump", "osd crush rule dump", "osd crush rule ls"),
    *("osd dump", "osd metadata", "quorum_status", "status", "versions"),
}
TAKING: dict[str, dict[str, Callable[[str], Any]]] = {
    "auth get-key": {"entity": str},
    "config-key dump": {"key": str},
    "config-key rm": {"key": str},
    "config-key set": {"key": str},
    "osd crush reweight": {"name": str, "weight": float},
    "osd crush reweight-subtree": {"name": str, "weight": float},
    "osd new": {"uuid": str, "id": int},
    "osd pool ls": {"detail": str},
    "osd tree": {"states": lambda state: [state]},
}
Question = tuple[Sequence[str], str]  # words, and what the command reads from its standard input
ADMIN = "client.admin"
SHOWN = 10  # commands that an error of all names


class Client(NamedTuple):
    """In whose name the monitors are asked. ``connect`` are seconds to find one, ``limit`` those of all together."""

    name: str = ADMIN
    keyring: str | None = None
    connect: int = 30
    limit: int = 60

    def options(self) -> list[str]:
        """Return the options of ``ceph`` that say so."""
        keyring = ["--keyring", self.keyring] if self.keyring else []
        name = ["--name", self.name] if self.name != ADMIN else []
        return [*name, *keyring, "--connect-timeout", str(self.connect)]


def monitor(host: str, connect: int = 30) -> Client:
    """Return who asks in the name of a host's own monitor, on that host."""
    return Client("mon.", f"/var/lib/ceph/mon/ceph-{host}/keyring", connect)


def ask(questions: Sequence[Sequence[str]], client: Client) -> list[Any]:
    """Return the JSON that commands answer, in their order; ``None`` for one that answers nothing.

    questions
        The words of each. No secret may be among them: where ``ceph`` is started, other users see them.
    client
        Who asks.

    Raises CommandExecutionError with Ceph's words where one fails, or where no monitor answers.
    """
    answers = _together([(words, "") for words in questions], client)
    if answers is None:
        return [_alone(words, "", client) for words in questions]
    for answer in answers:
        if isinstance(answer, CommandExecutionError):
            raise answer
    return answers


def attempt(questions: Sequence[Question], client: Client) -> list[Any]:
    """Return what ``ask`` does, with the error of each command that fails in place of its answer. Raises
    CommandExecutionError where no monitor answers.

    questions
        The words of each, and what it reads, which may be a secret.
    client
        Who asks.
    """
    answers = _together(questions, client)
    return [_attempted(words, given, client) for words, given in questions] if answers is None else answers


def command(words: Sequence[str]) -> dict[str, Any] | None:
    """Return a command as the monitors take it; ``None`` where we do not know its form."""
    if " ".join(words) in PLAIN:
        return {"prefix": " ".join(words)}
    for prefix, takes in TAKING.items():
        begins, given = words[: len(prefix.split())], words[len(prefix.split()) :]
        if " ".join(begins) == prefix and len(given) <= len(takes):
            read = zip(takes.items(), given, strict=False)
            return {"prefix": prefix} | {name: value(word) for (name, value), word in read}
    return None


def _together(questions: Sequence[Question], client: Client) -> list[Any] | None:
    """Answers and errors by one connection; None where that cannot be had: ``ceph`` is to be asked."""
    commands = [command(words) for words, _ in questions]
    python = _python()
    if not python or None in commands:
        return None
    asked = [[{**(each or {}), "format": "json"}, given] for each, (_, given) in zip(commands, questions, strict=True)]
    conf = {"client_mount_timeout": str(client.connect), "rados_mon_op_timeout": str(client.limit)}
    conf |= {"keyring": client.keyring} if client.keyring else {}
    out = halocline.run(
        [*python, halocline_rados.__file__],
        stdin=json.dumps({"name": client.name, "conf": conf, "asked": asked}),
        ok=(0, halocline_rados.NO_BINDING),
        limit=client.connect + client.limit,
        secret=True,
        shown=["ceph", *client.options(), _shown(questions)],
    )
    if not out:
        return None
    answers = zip(questions, json.loads(out), strict=True)
    return [_read(words, given, client, *answer) for (words, given), answer in answers]


def _shown(questions: Sequence[Question]) -> str:
    """What a person would type for questions; of many the first ones."""
    rest = len(questions) - SHOWN
    return ", ".join(" ".join(words) for words, _ in questions[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _attempted(words: Sequence[str], given: str, client: Client) -> Any:
    try:
        return _alone(words, given, client)
    except CommandExecutionError as err:
        if halocline.NO_MONITOR in str(err) or halocline.NO_ANSWER in str(err):
            raise  # the others would be waited for as long
        return err


def _read(words: Sequence[str], given: str, client: Client, status: int, output: str, said: str) -> Any:
    """A command's answer, or its error in the words of ``ceph``."""
    if status:
        name = errno.errorcode.get(-status, str(status))
        said = said.strip().replace(given.strip() or "\0", halocline.HIDDEN)
        return halocline.error(["ceph", *client.options(), *words], f"Error {name}: {said}")
    return _document(output, ["ceph", *client.options(), *words])


def _alone(words: Sequence[str], given: str, client: Client) -> Any:
    """The same by ``ceph``."""
    typed = ["ceph", *client.options(), *words, *(["-i", "-"] if given else []), "--format", "json"]
    return _document(halocline.run(typed, stdin=given or None, limit=client.limit), typed)


def _document(text: str, shown: Sequence[str]) -> Any:
    """The JSON of an answer; None where it is empty."""
    try:
        return json.loads(text) if text.strip() else None
    except ValueError:
        why = f"expected JSON, found '{text.strip()[:200]}': type it there by hand, is this Ceph's own program?"
        raise halocline.error(shown, why) from None


def _python() -> list[str]:
    """The Python that ``ceph`` runs by, with its options; empty where it is none, or not there."""
    program = shutil.which("ceph")
    if not program:
        return []
    with Path(program).open("rb") as file:
        first = file.readline(200)
    words = first.decode(errors="replace").removeprefix("#!").split()
    return words if any("python" in Path(word).name for word in words) else []
