"""``salt-run stage.*``: run a stage and see how it goes. The stages themselves are ``salt/ceph/stage/*.sls``."""

import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from proposals.stages import lines, orchestrations, plan_steps, progress
from proposals.stages.metrics import ALL, AS_ONE
from proposals.stages.records import Record
from proposals.text import argument_readers, names
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.notes import by_host
from runners.engine import answer, stage_begin
from runners.engine.looks import stage_jobs
from runners.engine.runs import stage_child, stage_lock, stage_log, stage_show

RECENT = 20  # run logs that stage.stop looks into for jobs that may still run


@answer.answers
def begin(
    stage: str,
    needs: str = "all",
    members: Sequence[str] | None = None,
    must: Sequence[str] = (),
    only: str | None = None,
    steps: Sequence[str] = (),
    stages: Sequence[str] = (),
    changes: int = 0,
    look: Mapping[str, Any] | None = None,
    wait: float = stage_begin.WAIT,
    test: bool = False,
) -> answer.Output:
    """Begin a stage, as its first step: take the lock, see who answers, wait for what an interrupted run left.

    stage
        The stage's name.
    needs
        ``all``: every minion has to answer; ``answering``: one.
    members
        The minions that it addresses; without it, every minion of ours.
    must
        Those of them without which nothing can be done: they have to answer too.
    only
        Salt's glob: the minions that this run changes, such as ``osdnode[1-4]*``; without it, all.
    steps
        The names of the run's steps, for its log (``step.begin`` tells them).
    stages
        This stage and those behind it in the same run.
    changes
        How many steps of the run have changed anything: where none has since a stage before asked the same, nobody is
        asked again.
    look
        What a run for all hosts looks at in the same job, as ``step.begin`` tells it.
    wait
        Seconds to wait for jobs of an interrupted run.
    test
        Only look (test mode): no run log.

    CLI Example:

    .. code-block:: bash

        salt-run stage.begin prep
    """
    told = stage_begin.Told(stage, tuple(stages or [stage]), needs, members, must, only, steps, look, changes)
    return stage_begin.begin(__opts__, told, wait, test)


@answer.answers
def run(
    name: str, only: str | None = None, confirm: str | None = None, gone: str | None = None, steps: int | None = None
) -> answer.Output:
    """Run a stage with live progress; its exit status is the stage's.

    name
        The stage's name.
    only
        Salt's glob: change these hosts alone, for a roll-out step by step. For plain ``state.orch`` it is a key of the
        pillar: ``salt-run state.orch ceph.stage.deploy pillar='{"ceph_only": "osdnode[1-4]*"}'``.
    confirm
        Of the stage removal: the hash of the list that ``stage.plan removal`` printed.
    gone
        Of the stage removal: minions whose hosts are gone for good, with commas between.
    steps
        Of the stage removal: in how many steps data leaves OSDs; one movement where it is not said.

    CLI Example:

    .. code-block:: bash

        salt-run stage.run prep
        salt-run stage.run deploy only='osdnode[1-4]*'
        salt-run stage.run removal confirm=bdfhkmpr
    """
    stage = _known(name)
    more = _removals(stage, confirm=confirm, gone=gone, steps=steps)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = stage_child.start(__opts__, stage, out, err, *orchestrations.told(only=only, **more))
        try:
            log = stage_child.log(__opts__, child)
            end = _followed(log, child) if log else None
            child.wait()
        except (KeyboardInterrupt, SystemExit):  # Ctrl-C, or salt-run told to end
            child.terminate()
            return answer.bad(stage_begin.INTERRUPTED.format(stage), 1)
        printed = stage_child.printed(out), stage_child.printed(err)
    records = stage_log.read(log) if log else []
    status = orchestrations.status(child.returncode, records)
    why = orchestrations.failure(*printed) if end is None or end["result"] == "interrupted" else ""
    if log is None or (end is None and status):
        return answer.bad(why or f"stage {stage} ended with status {status}", status or 1)
    text = [*([why] if why else []), f"stage {stage}: {lines.line(lines.done(end, status))}"]
    again = " ".join([stage, *_again(only=only, **more)])
    text += [f"when the cause is gone: salt-run stage.run {again}", f"({log})"] if status else []
    return answer.Answer("\n".join(text), {"stage": stage, "log": log, "records": records}, status)


@answer.answers
def plan(name: str, only: str | None = None, gone: str | None = None, steps: int | None = None) -> answer.Output:
    """Show what a stage would do: its checks, then Salt's test mode. Touches nothing.

    name
        The stage's name.
    only
        Salt's glob: what it would do to these hosts alone.
    gone, steps
        Of the stage removal, as ``stage.run`` takes them.

    CLI Example:

    .. code-block:: bash

        salt-run stage.plan deploy
        salt-run stage.plan deploy only='osdnode[1-4]*'
        salt-run stage.plan removal
    """
    stage = _known(name)
    more = _removals(stage, gone=gone, steps=steps)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = stage_child.start(__opts__, stage, out, err, "test=True", *orchestrations.told(only=only, **more))
        stage_child.wait(child)
        printed = stage_child.printed(out), stage_child.printed(err)
    states = orchestrations.states(printed[0])
    if states is None:
        why = orchestrations.failure(*printed)
        return answer.bad(why or f"stage {stage} cannot be planned", child.returncode or 1)
    tried = [state for state in states if not plan_steps.skipped(state)]
    planned = [step for state in tried for step in plan_steps.steps(state)]
    text = [line for step in planned for line in plan_steps.lines(step)]
    text += [] if child.returncode else plan_steps.end(stage, tried)
    return answer.Answer("\n".join(text), {"stage": stage, "steps": planned}, child.returncode)


@answer.answers
def watch() -> answer.Output:
    """Show the stage that runs, from its beginning, then each that is run; Ctrl-C ends it.

    CLI Example:

    .. code-block:: bash

        salt-run stage.watch
    """
    seen = None
    try:
        while True:
            job = stage_lock.holder(__opts__)
            if job and job.get("log") and job["log"] != seen:
                seen = job["log"]
                end = stage_show.follow(seen, partial(stage_lock.ended, job))
                print(f"{job['stage']}: {lines.line(end)}" if end else job["stage"], flush=True)
            time.sleep(0.2)
    except BrokenPipeError:  # whoever read it has gone, as after ``| head``
        answer.unread()
        return {"text": ""}
    except (KeyboardInterrupt, SystemExit):
        return {"text": ""}


@answer.answers
def last(stage: str | None = None) -> answer.Output:
    """Show how the last run went; exit status 1 where it did not end well.

    stage
        Of this stage; without it, of any.

    CLI Example:

    .. code-block:: bash

        salt-run stage.last
    """
    logs = stage_log.paths(__opts__)
    log = _newest(logs, None if stage is None else _known(stage))
    since = _newest(logs[logs.index(log) + 1 :] if log else logs, ALL) if stage and _known(stage) in AS_ONE else None
    more = [f"stages were run as one since: salt-run stage.last {ALL}"] if since else []
    if log is None:
        said = "no stage has run yet" if stage is None else f"stage {_known(stage)} has not run yet"
        return {"text": "\n".join([said, *more])}
    records = stage_log.read(log)
    end = records[-1] if records[-1]["event"] == "end" else lines.unended(stage_lock.holder(__opts__), str(log))
    text = [*map(names.printable, progress.told(records)), lines.line(end) or ""]
    status = 0 if end["result"] == "done" else 1
    return answer.Answer("\n".join([*text, *more, f"({log})"]), {"log": str(log), "records": records}, status)


@answer.answers
def stop() -> answer.Output:
    """End the running stage and its jobs on the minions; say where they stopped. Ends an interrupted run's too.

    CLI Example:

    .. code-block:: bash

        salt-run stage.stop
    """
    text, steps = [], {}
    if job := stage_lock.holder(__opts__):
        if job.get("log"):
            stage_log.add(job["log"], "stop", user=stage_log.typist(__opts__))
        stage_child.end(job)
        text.append(f"stage {job['stage']} is stopped")
    for log in stage_log.paths(__opts__)[-RECENT:]:
        steps.update({record["job"]: record for record in stage_log.read(log) if record["event"] == "job"})
    asked = sorted({minion for record in steps.values() for minion in record["minions"]})
    ended = stage_jobs.end(__opts__, {jid: record["step"] for jid, record in steps.items()}, asked)
    text += by_host((minion, f"stopped in step {steps[jid]['step']}") for minion, jid in sorted(ended.items()))
    return {"text": "\n".join(text) or "no stage is running, and none left a job on its minions"}


def _followed(log: str, child: subprocess.Popen) -> Record | None:
    """Show a run until it ends. Where nobody reads it any more, as after ``| head`` or on a full disk, it is waited for
    all the same: its end is that of this command."""
    quiet = bool(__opts__.get("output"))
    try:
        return stage_show.follow(log, lambda: child.poll() is not None, quiet)
    except OSError:
        answer.unread()
        return stage_show.follow(log, lambda: child.poll() is not None, quiet=True)


def _newest(logs: Sequence[Path], stage: str | None) -> Path | None:
    """The newest of some logs, of this stage where one is named; one that begins is empty yet."""
    of = [path for path in logs if stage in (None, path.name.rpartition("-")[0])]
    return next((path for path in reversed(of) if stage_log.ends(path)), None)


def _removals(stage: str, **typed: Any) -> dict[str, Any]:
    """Arguments of the stage removal; ArgumentError where another stage is given any."""
    given = [key for key, value in typed.items() if value is not None]
    if given and stage != "removal":
        raise ArgumentError(f"{given[0]}= is of the stage removal alone: leave it out for {stage}")
    return typed


def _again(**typed: Any) -> list[str]:
    given = {key: value for key, value in typed.items() if value is not None}
    return [f"{key}={argument_readers.typed(each) if type(each) is str else each}" for key, each in given.items()]


def _known(name: object) -> str:
    """The stage's own name for what was typed (``0``, ``prep``, ``ceph.stage.prep``); ProposalError otherwise."""
    word = str(name).removeprefix("ceph.stage.")
    roots = [Path(root, "ceph", "stage") for root in reversed(__opts__["file_roots"]["base"])]
    stages = {path.stem: path for root in roots for path in root.glob("*.sls")}
    if word not in stages:
        raise ProposalError(f"there is no stage '{names.shown(word)}'{names.nearest(word, stages)}")
    return stages[word].resolve().stem  # the numbers are links to the names
