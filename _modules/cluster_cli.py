"""Ask the cluster, on a host with the admin's key: one way for every module here that does."""

import json
import shlex
from collections.abc import Sequence
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds one command may take
CONNECT = 30  # of these, seconds to find a monitor
# What a dump says of a text with other characters than ASCII's (src/mon/ConfigKeyService.cc, store_dump).
BINARY = "<<< binary blob"
STARTING = 120  # seconds until managers know a module: they start anew when one comes or goes


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
    out = tell([*words, "--format", "json"], stdin)
    return json.loads(out) if out.strip() else None


def ask_all(questions: Sequence[Sequence[str]]) -> list[Any]:
    """Return the JSON that each of several ``ceph`` commands answers, in their order, of one start of ``ceph``, which
    takes more than its questions.

    Told none, it reads commands from its standard input, a line each (src/ceph.in, new_style_command). There its exit
    status is not theirs: where an answer is missing each is asked alone, and the one that fails raises.

    questions
        Lists of words. They only look, as they may be asked twice, and none begins with ``tell``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.ask_all '[[osd, dump], [osd, tree]]'
    """
    lines = "".join(f"{shlex.join(words)}\n" for words in questions)
    answers = _documents(tell(["--format", "json"], stdin=lines))
    return answers if len(answers) == len(questions) else [ask(words) for words in questions]


def tell(words: Sequence[str], stdin: str | None = None) -> str:
    """Return what a ``ceph`` command prints; raise with its own words where it fails, or where no monitor answers.

    Where its exit status is the answer (``osd safe-to-destroy``, ``osd ok-to-stop``), this is the way to ask: Ceph 16
    exits with 0 whatever the answer where JSON was asked for.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cli.tell '[osd, out, "3"]'
    """
    return halocline.run(["ceph", "--connect-timeout", str(CONNECT), *words], stdin=stdin, limit=LIMIT)


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
    text = (ask(["config-key", "dump", key]) or {}).get(key)  # of all that begin so
    if text is not None and text.startswith(BINARY):
        text = tell(["config-key", "get", key])
    return text if text is None else text.strip()


def _documents(text: str) -> list[Any]:
    """The JSON documents in a text, one after the other; none where anything else is in it."""
    documents = []
    while text := text.lstrip():
        try:
            document, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            return []
        documents.append(document)
        text = text[end:]
    return documents
