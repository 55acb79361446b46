"""``salt-run stage.*``: run a stage and see how it goes. The stages themselves are ``salt/ceph/stage/*.sls``."""

import os
import tempfile
import time
from pathlib import Path

from proposals import answer
from proposals.files import site as sites
from proposals.policy import policy
from proposals.text import names
from proposals.text.errors import ProposalError

NEEDS = ("all", "answering", "policy")
WAIT = 600  # seconds for jobs that an interrupted run left on its minions
RECENT = 20  # run logs that stage.stop looks into for jobs that may still run
INTERRUPTED = (
    "stage {}: interrupted; what its minions do goes on: 'salt-run stage.stop' ends it, running the stage again waits "
    "for it"
)


@answer.answers
def begin(stage, needs="all", members=None, wait=WAIT, test=False):
    """Begin a stage, as its first step: take the lock, see who answers, wait for what an interrupted run left.

    stage
        The stage's name.
    needs
        ``all``: every minion has to answer; ``policy``: those that policy.cfg gives a role; ``answering``: one.
    members
        The minions that it addresses; without it, every minion of ours.
    wait
        Seconds to wait for jobs of an interrupted run.
    test
        Only look (test mode): no run log.

    CLI Example:

    .. code-block:: bash

        salt-run stage.begin prep
    """
    job = __salt__["stage_lock.take"](stage)
    if job and "holder" in job:
        return answer.bad(_held(job["holder"], stage))
    log = None
    if job and not test:
        log = __salt__["stage_log.begin"](job)
        job = __salt__["stage_lock.note"]({**job, "log": log})
        __salt__["stage_child.guard"](stage, INTERRUPTED.format(stage))
    expected = _expected(stage, members)
    answered = __salt__["stage_jobs.running"](expected)
    silent = sorted(set(expected) - set(answered))
    if job:
        __salt__["stage_lock.note"]({**job, "silent": silent})
    missing = sorted(_needed(needs, expected) & set(silent)) if answered else silent
    if missing:
        return answer.bad(_missing(stage, missing, expected))
    left = __salt__["stage_jobs.wait"](answered, wait, lambda jobs: _waits(stage, jobs, wait, log))
    if left:
        return answer.bad(
            f"stage {stage}: after {wait} s these jobs of an interrupted run still run: "
            f"{__salt__['stage_jobs.words'](left)}; end them with 'salt-run stage.stop' and run the stage again"
        )
    named = "".join(f"\n{minion}: does not answer; the stage goes on without it" for minion in silent)
    return {"text": f"{len(answered)} minions answer{named}"}


@answer.answers
def run(name):
    """Run a stage with live progress; its exit status is the stage's.

    CLI Example:

    .. code-block:: bash

        salt-run stage.run prep
    """
    stage = _known(name)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = __salt__["stage_child.start"](stage, out, err)
        try:
            log = __salt__["stage_child.log"](child)
            quiet = bool(__opts__.get("output"))
            end = __salt__["stage_show.follow"](log, lambda: child.poll() is not None, quiet) if log else None
            child.wait()
        except (KeyboardInterrupt, SystemExit):  # Ctrl-C, or salt-run told to end
            child.terminate()
            return answer.bad(INTERRUPTED.format(stage), 1)
        said = __salt__["stage_child.said"](out, err) if end is None or end["result"] == "interrupted" else ""
    # as a shell has it: a process ended by a signal has a negative status here
    status = child.returncode if child.returncode >= 0 else 128 - child.returncode
    if end is None:
        return answer.bad(said or f"stage {stage} ended with status {status}", status or 1)
    return _told(stage, log, end, status, said)


@answer.answers
def plan(name):
    """Show what a stage would do: its checks, then Salt's test mode. Touches nothing.

    CLI Example:

    .. code-block:: bash

        salt-run stage.plan deploy
    """
    stage = _known(name)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = __salt__["stage_child.start"](stage, out, err, "test=True")
        child.wait()
        states = __salt__["stage_child.states"](out)
        if states is None:
            return answer.bad(
                __salt__["stage_child.said"](out, err) or f"stage {stage} cannot be planned", child.returncode or 1
            )
    steps = [__salt__["stage_plan.step"](state) for state in states if not __salt__["stage_plan.skipped"](state)]
    lines = [line for step in steps for line in __salt__["stage_plan.lines"](step)]
    if not any(step["minions"] for step in steps) and not child.returncode:
        lines.append(f"stage {stage} would change nothing on the minions")
    return answer.told("\n".join(lines), {"stage": stage, "steps": steps}, __opts__.get("output"), child.returncode)


@answer.answers
def watch():
    """Show the stage that runs, from its beginning, then each that is run; Ctrl-C ends it.

    CLI Example:

    .. code-block:: bash

        salt-run stage.watch
    """
    seen = None
    try:
        while True:
            job = __salt__["stage_lock.holder"]()
            if job and job.get("log") and job["log"] != seen:
                seen = job["log"]
                end = __salt__["stage_show.follow"](seen, lambda job=job: not _runs(job))
                print(f"{job['stage']}: {__salt__['stage_show.line'](end)}" if end else job["stage"], flush=True)
            time.sleep(0.2)
    except (KeyboardInterrupt, SystemExit):
        return {"text": ""}


@answer.answers
def last(stage=None):
    """Show how the last run went; exit status 1 where it did not end well.

    stage
        Of this stage; without it, of any.

    CLI Example:

    .. code-block:: bash

        salt-run stage.last
    """
    logs = __salt__["stage_log.paths"]()
    if stage is not None:
        logs = [path for path in logs if Path(path).name.rpartition("-")[0] == _known(stage)]
    if not logs:
        return {"text": "no stage has run yet" if stage is None else f"stage {_known(stage)} has not run yet"}
    records = __salt__["stage_log.read"](logs[-1])
    lines = [line for record in records if (line := __salt__["stage_show.line"](record))]
    status = 0 if records[-1].get("result") == "done" else 1
    shown = {"log": logs[-1], "records": records}
    return answer.told("\n".join([*lines, f"({logs[-1]})"]), shown, __opts__.get("output"), status)


@answer.answers
def stop():
    """End the running stage and its jobs on the minions; say where they stopped. Ends an interrupted run's too.

    CLI Example:

    .. code-block:: bash

        salt-run stage.stop
    """
    job = __salt__["stage_lock.holder"]()
    said = []
    if job:
        if job.get("log"):
            user = os.environ.get("SUDO_USER") or str(__opts__.get("user"))
            __salt__["stage_log.add"](job["log"], "stop", user=user)
        __salt__["stage_child.end"](job)
        said.append(f"stage {job['stage']} is stopped")
    steps = {}
    for log in __salt__["stage_log.paths"]()[-RECENT:]:
        records = __salt__["stage_log.read"](log)
        steps.update({record["job"]: record for record in records if record["event"] == "job"})
    minions = sorted({minion for record in steps.values() for minion in record["minions"]})
    ended = __salt__["stage_jobs.end"](list(steps), minions)
    said += [f"{minion}: stopped in step {steps[jid]['step']}" for minion, jid in sorted(ended.items())]
    return {"text": "\n".join(said) or "no stage is running, nor anything that one left on its minions"}


def _expected(stage, members):
    """The minions that a stage addresses; ProposalError where there are none."""
    if members is not None and not members:
        raise ProposalError(f"stage {stage}: nothing is configured yet: run 'salt-run state.orch ceph.stage.configure'")
    expected = sorted(members) if members else __salt__["minions.ours"]()
    if not expected:
        raise ProposalError(
            f"stage {stage}: no minion is ours: accept keys (salt-key), or look at ceph_minions in "
            "<pillar_root>/ceph/minions.sls"
        )
    return expected


def _needed(needs, expected):
    """The minions that have to answer."""
    if needs not in NEEDS:
        raise ProposalError(f"needs={names.shown(needs)}: expected one of {', '.join(NEEDS)}")
    if needs != "policy":
        return set(expected) if needs == "all" else set()
    targets = policy.resolve(sites.site(__opts__).proposals).targets
    chosen = {minion: targets.get(f"cluster/{minion}.sls", ()) for minion in expected}
    return {minion for minion, files in chosen.items() if any(not file.startswith("cluster-") for file in files)}


def _held(holder, stage):
    if not holder:
        return f"stage {stage}: another stage begins just now: see 'salt-run stage.watch'"
    return (
        f"stage {stage}: stage {holder['stage']} is running, started by {holder['user']} at {holder['since']} "
        f"(job {holder['jid']}, process {holder['pid']}): wait for it ('salt-run stage.watch' shows it) or end it "
        "with 'salt-run stage.stop'"
    )


def _missing(stage, missing, expected):
    if missing == expected:
        return f"stage {stage}: no minion answers, of {len(expected)}: is salt-master running? Is their salt-minion?"
    return (
        f"stage {stage}: {len(missing)} of {len(expected)} minions do not answer: {', '.join(missing)}; "
        "start their salt-minion, or take them out of policy.cfg (or ceph_minions), and run the stage again"
    )


def _waits(stage, jobs, limit, log):
    """Say what a stage waits for; a program that named its ``--out`` gets the answer alone."""
    if log:
        __salt__["stage_log.add"](log, "waits", jobs=jobs, limit=limit)
    if not __opts__.get("output"):
        print(f"stage {stage}: waits up to {limit} s for jobs of an interrupted run: {jobs}", flush=True)


def _known(name):
    """The stage's own name for what was typed (``0``, ``prep``, ``ceph.stage.prep``); ProposalError otherwise."""
    word = str(name).removeprefix("ceph.stage.")
    found = {}
    for root in reversed(__opts__["file_roots"]["base"]):
        found.update({path.stem: path for path in Path(root, "ceph", "stage").glob("*.sls")})
    if word not in found:
        raise ProposalError(f"there is no stage '{names.shown(word)}'{names.nearest(word, found)}")
    return found[word].resolve().stem  # the numbers are links to the names


def _told(stage, log, end, status, said):
    """The answer of a run whose steps were shown already."""
    lines = [said] if said else []
    lines.append(f"stage {stage}: {__salt__['stage_show.line'](end)}")
    lines += [f"when the cause is gone: salt-run stage.run {stage}", f"({log})"] if status else []
    shown = {"stage": stage, "log": log, "records": __salt__["stage_log.read"](log)}
    return answer.told("\n".join(lines), shown, __opts__.get("output"), status)


def _runs(job):
    return __salt__["stage_lock.born"](job["pid"]) == job["born"]
