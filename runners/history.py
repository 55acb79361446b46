"""``salt-run history.*``: who ran what."""

from typing import Any

from proposals.stages import history
from proposals.text.errors import ArgumentError
from runners.engine import answer
from runners.engine.runs import stage_lock, stage_log

MOST = 20


@answer.answers
def show(most: int = MOST, **_: Any) -> answer.Answer:
    """Show who ran which stage, and which command that changes OSDs, disks, pools, keys or hosts, when, and the result.

    A user is whom Salt names: behind sudo ``sudo_NAME``, of a command the name behind sudo. Of an inline pillar the
    keys alone are kept.

    most
        How many, the newest last.

    CLI Example:

    .. code-block:: bash

        salt-run history.show
        salt-run history.show most=100
    """
    if type(most) is not int or most < 1:
        raise ArgumentError(f"most={most}: a whole number from 1 on was expected")
    job = stage_lock.holder(__opts__) or {}
    ends = {str(path): stage_log.ends(path) for path in stage_log.paths(__opts__)}
    entries = [history.of_stage(*both, runs=job.get("log") == path) for path, both in ends.items() if both]
    entries += [history.of_command(*noted) for noted in stage_log.noted(__opts__)]
    entries = history.newest(entries, most)
    return answer.Answer("\n".join(history.lines(entries) or ["nothing has run yet"]), {"entries": entries})
