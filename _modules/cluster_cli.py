"""Ask the cluster, on a host with the admin's key: one way for every module here that does."""

import base64
import copy
import hashlib
import json
import threading
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import halocline
import halocline_monitors
from salt.exceptions import CommandExecutionError

CLIENT = halocline_monitors.Client(connect=30, limit=60)
# What a dump says of a text with other characters than ASCII's (src/mon/ConfigKeyService.cc, store_dump).
BINARY = "<<< binary blob"
# What functions ask that only look, for those that are asked together; and below which key we keep ours.
TOGETHER = [["status"], ["quorum_status"], ["mgr", "metadata"], ["mds", "metadata"], ["config", "dump"]]
TOGETHER += [["osd", "dump"], ["osd", "tree"], ["osd", "crush", "rule", "dump"], ["osd", "pool", "ls", "detail"]]
TOGETHER += [["config-key", "dump", "halocline/"]]
STARTING = 120  # seconds until managers know a module: they start anew when one comes or goes
SEEN = "cluster_cli.seen"  # in __context__, which all of Salt's loaders share; with the thread that runs the job
LONGEST = 65536  # bytes that the monitors take for a value (mon_config_key_max_entry_size)
PARTS = "halocline-parts"  # a kept text begins so where it names its parts: how many, and below which name they lie
AT_ONCE = 500  # commands by one connection: the monitors may take 0.1 s for each change of a large map


def ask(words: Sequence[str], stdin: str | None = None) -> Any:
    """Return the JSON that a ``ceph`` command answers; ``None`` where it answers nothing.

    words
        The command's words, such as ``[osd, dump]``. No secret may be among them: other users see them.
    stdin
        What it reads from its standard input.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.ask '[osd, tree]'
    """
    known = _known(words)
    if known is not None:
        return known
    if stdin is None:
        return halocline_monitors.ask([words], CLIENT)[0]
    out = tell([*words, "--format", "json"], stdin)
    return json.loads(out) if out.strip() else None


def ask_all(questions: Sequence[Sequence[str]]) -> list[Any]:
    """Return the JSON that each of several ``ceph`` commands answers, in their order, by one connection.

    questions
        Lists of words. They only look, and none begins with ``tell``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.ask_all '[[osd, dump], [osd, tree]]'
    """
    known = [_known(words) for words in questions]
    return known if None not in known else halocline_monitors.ask(questions, CLIENT)


def together(functions: Mapping[str, Sequence], asker: str | None = None) -> dict[str, Any]:
    """Return what functions that only look answer, by name, all of what the cluster was at one moment: what they ask is
    asked by one connection. Raises where one of them does.

    functions
        Each with its arguments.
    asker
        In a job to many hosts: the minion that asks the cluster; every other one answers nothing.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.together '{cluster_health.inspect: [], cluster_osds.states: []}'
    """
    if asker is not None and asker != __opts__["id"]:
        return {}
    here = (SEEN, threading.get_ident())
    __context__[here] = dict(zip(map(tuple, TOGETHER), ask_all(TOGETHER), strict=True))
    try:
        return {name: __salt__[name](*arguments) for name, arguments in functions.items()}
    finally:
        del __context__[here]


def tell(words: Sequence[str], stdin: str | None = None) -> str:
    """Return what a ``ceph`` command prints; raise with its own words where it fails, or where no monitor answers.

    Where its exit status is the answer (``osd safe-to-destroy``, ``osd ok-to-stop``), this is the way to ask: Ceph 16
    exits with 0 whatever the answer where JSON was asked for.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.tell '[osd, out, "3"]'
    """
    return halocline.run(["ceph", *CLIENT.options(), *words], stdin=stdin, limit=CLIENT.limit)


def tell_all(commands: Sequence[Sequence[str]]) -> bool:
    """Run ``ceph`` commands, many by one connection and several at once: their order must not matter.

    All are tried, also where one fails; then the first error is raised, in Ceph's own words.

    commands
        Lists of words. No secret may be among them.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.tell_all '[[osd, crush, reweight, osd.3, "0"]]'
    """
    return _tell_all([(words, "") for words in commands])


def refused(words: Sequence[str]) -> str:
    """Return Ceph's own words where it says no to a command, by its exit status; an empty text where it says yes.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.refused '[osd, ok-to-stop, "3"]'
    """
    try:
        tell(words)
    except CommandExecutionError as err:
        return str(err)
    return ""


def tell_mgr(words: Sequence[str], stdin: str | None = None) -> str:
    """The same for a command of a manager's module, which the managers do not know while they are starting.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.tell_mgr '[dashboard, ac-user-show]'
    """
    return halocline.until(lambda: tell(words, stdin), STARTING)


def kept(key: str) -> str | None:
    """Return a text that the monitors keep (``ceph config-key``); ``None`` where they keep none under that key.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.kept halocline/config
    """
    found = ask(["config-key", "dump", key]) or {}  # of all that begin so
    text = found.get(key)
    if text is not None and text.startswith(BINARY):
        text = tell(["config-key", "get", key])
    if text is not None and text.startswith(f"{PARTS} "):
        return _whole(key, text, found)
    return text if text is None else text.strip()


def keep(key: str, text: str) -> bool:
    """Keep a text in the monitors (``ceph config-key``), in place of the one before.

    One that is longer than they take is packed and lies in parts, which the text under the key names. They are written
    first, and those of the text before go last: whatever interrupts it, ``kept`` answers either text whole.

    key
        Such as ``halocline/removal``; what begins with it and a slash is its parts.
    text
        Of any length; no secret.

    CLI Example: for ``ceph.stage.removal``.
    """
    parts: dict[str, str] = {}
    if len(text.encode()) > LONGEST:
        pieces = halocline.pieces(text.encode(), LONGEST)
        name = _name("".join(pieces))
        parts = {f"{key}/{name}/{number}": piece for number, piece in enumerate(pieces)}
        text = f"{PARTS} {len(parts)} {name}"
    _tell_all([(["config-key", "set", part], piece) for part, piece in parts.items()])
    _tell_all([(["config-key", "set", key], text)])
    return _clean(key, parts)


def forget(key: str) -> bool:
    """Keep nothing under a key any more, nor parts of what was kept there.

    CLI Example: for ``salt-run removal.cancel``.
    """
    if key in (ask(["config-key", "dump", key]) or {}):
        _tell_all([(["config-key", "rm", key], "")])
    return _clean(key, ())


def _whole(key: str, head: str, found: Mapping[str, str]) -> str:
    """The text whose parts a head names."""
    _, count, name = head.split()
    packed = "".join(found.get(f"{key}/{name}/{number}", "") for number in range(int(count)))
    if _name(packed) != name:
        raise CommandExecutionError(
            f"the monitors keep at {key} the names of {count} parts, and not all of these are there: look at 'ceph "
            f"config-key ls', put back what is missing below {key}/{name}, or remove {key} by 'ceph config-key rm'"
        )
    return zlib.decompress(base64.b64decode(packed)).decode()


def _name(packed: str) -> str:
    """What parts are called, by what is in them: those of one text never take the place of another one's."""
    return hashlib.sha256(packed.encode()).hexdigest()[:16]


def _clean(key: str, needed: Collection[str]) -> bool:
    """Remove parts that no head names."""
    stale = [part for part in ask(["config-key", "dump", f"{key}/"]) or {} if part not in needed]
    return _tell_all([(["config-key", "rm", part], "") for part in stale])


def _tell_all(commands: Sequence[halocline_monitors.Question]) -> bool:
    for at in range(0, len(commands), AT_ONCE):
        for answer in halocline_monitors.attempt(commands[at : at + AT_ONCE], CLIENT):
            if isinstance(answer, CommandExecutionError):
                raise answer
    return True


def _known(words: Sequence[str]) -> Any:
    """What was answered already to one of the questions that are asked together; ``None`` where nothing was."""
    answers = __context__.get((SEEN, threading.get_ident()), {})
    *dump, key = words
    kept = answers.get((*dump, "halocline/")) if key.startswith("halocline/") else None
    if kept is not None:  # of all that begin so
        return {each: text for each, text in kept.items() if each.startswith(key)}
    return copy.deepcopy(answers.get(tuple(words)))
