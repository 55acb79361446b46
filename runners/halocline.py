"""``salt-run halocline.*``: which version runs where, what is wrong with the installation, what a word means.

Nothing here changes anything, and all of it answers where a pinned library is missing.
"""

import inspect
import platform
from typing import Any

import salt.version

from proposals.stages import replies
from proposals.text import argument_readers, topics
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.names import nearest, shown
from proposals.text.notes import by_host, several
from proposals.validation import installation
from runners.engine import answer
from runners.engine.asking import minions
from runners.engine.looks import installed
from runners.engine.master import documented


@answer.answers
def version(**_: Any) -> answer.Answer:
    """Show the product's version on the master, and whether minions have the parts that the master serves.

    Exit status 1 where a minion has others, or cannot tell.

    CLI Example:

    .. code-block:: bash

        salt-run halocline.version
        salt-run halocline.version --out json
    """
    here = {"halocline": installed.version(), "salt": salt.version.__version__, "python": platform.python_version()}
    lines = [f"master: halocline {here['halocline']}, Salt {here['salt']}, Python {here['python']}"]
    try:
        found, failed, silent = installed.hosts(__opts__, minions.ours(__opts__))
    except ProposalError as err:
        data = {"master": here, "minions": {}, "problems": [str(err)]}
        return answer.Answer("\n".join([*lines, str(err)]), data, 1)
    served = installed.served(__opts__)
    told = {
        minion: {"halocline": host.version, "differing": installation.differing(served, host)}
        for minion, host in sorted(found.items())
    }
    if same := [minion for minion, each in told.items() if not each["differing"]]:
        lines.append(f"{several(same)}: the {len(served)} parts that the master serves")
    lines += by_host(
        (
            minion,
            f"halocline {each['halocline']}, {len(each['differing'])} of {len(served)} parts are not the master's "
            f"({each['differing'][0]} …): {replies.SYNC}",
        )
        for minion, each in told.items()
        if each["differing"]
    )
    wrong = sorted({**failed, **dict.fromkeys(silent, replies.SILENT)}.items())
    problems = [f"{minion}: {why}" for minion, why in wrong]
    status = 1 if problems or len(same) < len(told) else 0
    return answer.Answer(
        "\n".join([*lines, *by_host(wrong)]), {"master": here, "minions": told, "problems": problems}, status
    )


@answer.answers
def doctor(minion: str | None = None, **_: Any) -> answer.Answer:
    """Show what is wrong with this master's installation and its minions', each with the command that mends it.

    Salt that does not run, keys that are not accepted, minions that are silent or have older parts, drop-ins that are
    missing or edited, a pillar that is not served, libraries, logs, full disks, more minions than the master bears at
    once. Exit status 1 where something is wrong. It mends nothing itself. What is wrong with a cluster tells
    ``health.show``, with hosts ``validate.all``.

    minion
        The only minion to be asked; the default is all.

    CLI Example:

    .. code-block:: bash

        salt-run halocline.doctor
        salt-run halocline.doctor minion=osdnode1
    """
    minion = None if minion is None else argument_readers.text("minion", minion)
    seen = installed.look(__opts__, minion)
    known = {*seen.ours, *seen.waiting, *seen.denied}
    if minion is not None and minion not in known:
        raise ArgumentError(f"minion={shown(minion)} is not known to this master{nearest(minion, known)}")
    wrong = installation.run(seen)
    asked = {*seen.hosts, *seen.silent, *seen.failed}
    data = {"wrong": [each._asdict() for each in wrong], "minions": sorted(asked)}
    return answer.Answer(installation.text(wrong, len(asked)), data, 1 if wrong else 0)


@answer.answers
def help_(topic: str | None = None, **_: Any) -> answer.Answer:
    """Show what a word means: a command, a noun of commands, a page, a setting, an argument, a check, a message.

    topic
        The word, or a message that was printed, whole or in part, in quotes; of a word that is misspelt the nearest is
        named. The default lists nouns of commands and pages.

    CLI Example:

    .. code-block:: bash

        salt-run halocline.help
        salt-run halocline.help osd.replace
        salt-run halocline.help ratio
        salt-run halocline.help 'no other manager runs: start one first'
    """
    known = [*documented.commands(), *documented.pages()]
    if topic is None:
        nouns, pages = ([each for each in known if each.kind == kind] for kind in (topics.NOUN, topics.PAGE))
        text = f"salt-run NOUN.VERB, of\n{topics.listed(nouns)}\n\npages\n{topics.listed(pages)}"
        return answer.Answer(text, {"commands": [each.name for each in nouns], "pages": [each.name for each in pages]})
    found = [_whole(each) for each in topics.find(str(topic), known)]
    return answer.Answer("\n\n".join(each.text for each in found), {"topics": [each._asdict() for each in found]})


__func_alias__ = {"help_": "help"}


def _whole(topic: topics.Topic) -> topics.Topic:
    """A command's docstring as Salt's loader has it: with the arguments that it takes from a table."""
    function = __salt__.get(topic.name) if topic.kind == topics.COMMAND else None
    doc = inspect.cleandoc((function and function.__doc__) or topic.text)
    return topic._replace(text=f"salt-run {topic.name}\n\n{doc}") if topic.kind == topics.COMMAND else topic
