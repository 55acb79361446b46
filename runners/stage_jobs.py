"""``salt-run stage_jobs.*``: the state runs on minions that stages start, wait for and end."""

import time

from proposals import answer

PATIENCE = 15  # seconds for a minion to answer, then Salt asks once more (gather_job_timeout)


@answer.answers
def running(minions=None):
    """Return ``{minion: [state runs on it]}`` of the minions that answer, asked in one job.

    minions
        A list of minion ids; without it, every minion of ours.

    CLI Example:

    .. code-block:: bash

        salt-run stage_jobs.running
    """
    asked = _ask(minions or __salt__["minions.ours"](), ["saltutil.running"])
    return {minion: _states(given["saltutil.running"]) for minion, given in asked.items()}


def wait(jobs, limit, tell):
    """Wait until no state runs on any minion; return ``{minion: jobs}`` of what still does after the limit.

    jobs
        What ``stage_jobs.running`` answered.
    limit
        Seconds.
    tell
        A function that is called with what is waited for, in words, where that changes.

    CLI Example: for ``stage.begin``; ``salt-run stage_jobs.running`` shows what it would wait for.
    """
    deadline = time.monotonic() + limit
    left = {minion: on_it for minion, on_it in jobs.items() if on_it}
    said = None
    while left and time.monotonic() < deadline:
        if words(left) != said:
            said = words(left)
            tell(said)
        time.sleep(min(2, max(0, deadline - time.monotonic())))
        left = {minion: on_it for minion, on_it in running(sorted(left)).items() if on_it}
    return left


def words(jobs):
    """Return jobs by minion in words.

    CLI Example: for ``stage.begin``; ``salt-run stage_jobs.running`` shows the same as data.
    """
    first = {minion: on_it[0] for minion, on_it in sorted(jobs.items())}
    return ", ".join(f"{minion} ({job['fun']} {job['what']}, job {job['jid']})" for minion, job in first.items())


@answer.answers
def end(jids, minions, patience=10):
    """End jobs on minions, with all their children: term, then kill; return ``{minion: job}`` of those that ran.

    jids
        The jobs, a list.
    minions
        Where they may run, a list.
    patience
        Seconds from term to kill, and for the kill.

    CLI Example:

    .. code-block:: bash

        salt-run stage_jobs.end '["20260101000000000000"]' '[node1]'
    """
    ended = {}
    for function in ("saltutil.term_job", "saltutil.kill_job"):
        left = _ours(jids, minions)
        ended.update(left)
        if left:
            jobs = sorted(set(left.values()))
            _ask(sorted(left), [function] * len(jobs), [[job] for job in jobs])
            deadline = time.monotonic() + patience
            while _ours(jids, sorted(left)) and time.monotonic() < deadline:
                time.sleep(0.5)
    return ended


def _ask(minions, functions, arguments=None):
    return __salt__["minions.ask"](minions, functions, arguments, timeout=PATIENCE)


def _states(jobs):
    """The state runs among what a minion says that runs on it, in short."""
    found = [job for job in jobs if str(job["fun"]).startswith("state.")] if isinstance(jobs, list) else []
    return [{"jid": job["jid"], "fun": job["fun"], "what": " ".join(map(str, job["arg"][:1]))} for job in found]


def _ours(jids, minions):
    found = running(minions) if minions else {}
    return {minion: job["jid"] for minion, on_it in found.items() for job in on_it if job["jid"] in jids}
