"""``salt-run validate.*``: what was chosen and every host, against a table of checks, before anything changes.

Exit status 0 where all is well, 1 where there are warnings only, 2 where there are errors. Settings of the site, in
``<pillar_root>/ceph/stack/ceph/cluster.yml``:

small_site
    ``true`` where the site is small on purpose: checks of size (how many monitors, managers, storage hosts; daemons
    on the master's host) are then shown as allowed. All others count as before.
redundancy
    What the pools are to have: a number of replicas (``3``, the default), or ``4+2`` for erasure coding.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import salt.version

from proposals.files import site
from proposals.inventory import existing_cluster, kept
from proposals.pillar import chosen as choices
from proposals.pillar import generation, served
from proposals.policy import profiles
from proposals.stages.replies import Replies
from proposals.text.errors import InventoryError, PolicyError
from proposals.validation import check, facts, hardware_facts, subject, table
from runners.engine import answer
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.cluster import health
from runners.engine.looks import facts as engine_facts
from runners.engine.looks import keys, stage_look
from runners.engine.runs import stage_lock

OLDER = (
    "the generation that is served does not say what brings up daemons, as it was made by an older version: run "
    "'salt-run state.orch ceph.stage.configure' first"
)
SILENT = "does not answer"


@answer.answers
def all_(**_: Any) -> answer.Answer:
    """Run every check; the hosts are asked in one job.

    CLI Example:

    .. code-block:: bash

        salt-run validate.all
        salt-run validate.all --out json
    """
    return _answer(*_run(table.CHECKS))


@answer.answers
def deploy(test: bool = False, **_: Any) -> dict[str, Any]:
    """Run every check for ``ceph.stage.deploy``: errors stop it, warnings are shown.

    test
        How a stage in test mode calls it; nothing is done otherwise then, as it only looks.

    CLI Example:

    .. code-block:: bash

        salt-run validate.deploy
    """
    chosen = _asked(_served())
    if chosen.first():  # none of them may be left out on the way then
        taking_part.must(__opts__, chosen.members("mon", "master"))
    stage_lock.keep(__opts__, health.MADE, bool(chosen.stores))
    findings, looked = _found(table.CHECKS, chosen)
    # The stage takes the text whatever --out was named for the stage.
    shown = {"text": check.text(findings, looked), "findings": [finding.as_dict() for finding in findings]}
    return {"retcode": 2, **shown} if check.status(findings) == 2 else shown


@answer.answers
def prep(test: bool = False, **_: Any) -> dict[str, Any]:
    """Run the checks for ``ceph.stage.prep``, before anything is configured: of prep's settings, and of the files in
    the master's file roots. Errors stop it.

    test
        How a stage in test mode calls it; it only looks, so it does the same then.

    CLI Example:

    .. code-block:: bash

        salt-run validate.prep
    """
    files = _files()
    rows = [row for row in table.CHECKS if row.looks_at in (check.FILES, check.SITE)]
    findings = check.run(
        rows, subject.of_prep(minions.told(__opts__), choices.own_files(site.site(__opts__).root), files)
    )
    text = check.text(findings, f"prep's settings, and {len(files)} files of ceph/ in the master's file roots")
    shown = {"text": text, "findings": [finding.as_dict() for finding in findings]}
    return {"retcode": 2, **shown} if check.status(findings) == 2 else shown


@answer.answers
def show(name: str | None = None, **_: Any) -> answer.Answer:
    """Show all checks; of one, named by its id, what it asks for, where that comes from, and what it finds now.

    CLI Example:

    .. code-block:: bash

        salt-run validate.show
        salt-run validate.show mtu
    """
    if name is None:
        lines = [f"{row.id:<17} {row.severity:<8} {row.about}" for row in table.CHECKS]
        rows = [{"check": row.id, "severity": row.severity, "about": row.about} for row in table.CHECKS]
        return answer.Answer("\n".join(lines), {"checks": rows})
    row = table.find(name)
    about = [f"{row.id} ({row.severity}): {row.about}", *([f"source: {row.source}"] if row.source else [])]
    about += ["'small_site: true' allows it"] if row.size else []
    return _answer(*_run([row]), about)


__func_alias__ = {"all_": "all"}


def _answer(findings: list[check.Finding], looked: str, before: Sequence[str] = ()) -> answer.Answer:
    """Findings as text or as data."""
    text = "\n".join([*before, check.text(findings, looked)])
    data = {"findings": [finding.as_dict() for finding in findings], "looked": looked}
    return answer.Answer(text, data, check.status(findings))


def _run(checks: Sequence[check.Check]) -> tuple[list[check.Finding], str]:
    """What checks find of the generation that is served, and what they looked at."""
    chosen = _served()
    if any(row.looks_at in (check.HOSTS, check.MACHINES) for row in checks):
        chosen = _asked(chosen)
    return _found(checks, chosen)


def _found(checks: Sequence[check.Check], chosen: subject.Subject) -> tuple[list[check.Finding], str]:
    """What checks find, and what they looked at; keys and machines are those of every host that answers, in another job
    than its facts: monitors and vendors' tools take seconds, and clocks are compared before.
    """
    wanted = {row.looks_at for row in checks}
    questions = [question for kind, question in engine_facts.BESIDE.items() if kind in wanted]
    answering = [minion for minion in chosen.roles if chosen.away.get(minion) != SILENT]
    replied = _replied(questions, answering) if questions else {}
    if check.MACHINES in wanted:
        chosen = dataclasses.replace(
            chosen, **_machines(chosen.hosts, replied[engine_facts.BESIDE[check.MACHINES].function])
        )
    if check.KEYS in wanted:
        held, problems = keys.read(replied[keys.ASKED])
        failed = {problem.minion: problem.text for problem in problems if not problem.silent} | dict(chosen.failed)
        chosen = dataclasses.replace(chosen, failed=failed, **keys.beside(__opts__, held))
    return check.run(checks, chosen), f"{len(checks)} checks of {len(chosen.roles)} hosts"


def _replied(questions: Sequence[jobs.Question], answering: Collection[str]) -> Mapping[str, Replies]:
    """What hosts answer, or have answered where the running stage began."""
    seen = stage_look.begun(__opts__)
    if seen and all(question.function in seen.hosts for question in questions):
        return {question.function: seen.hosts[question.function].of(answering) for question in questions}
    return jobs.ask_apart(__opts__, answering, questions)


def _files() -> dict[str, str]:
    """The files below ``ceph/`` that the master serves, each with its place; of a repository, as Salt names it."""
    roots = [Path(root) for root in __opts__["file_roots"].get("base", ())]
    paths = [path for path in __salt__["fileserver.file_list"]() if path.startswith("ceph/")]
    return {
        path: next((str(root / path) for root in roots if (root / path).is_file()), f"salt://{path}") for path in paths
    }


def _served() -> subject.Subject:
    """Who is what in the generation that is served, with the site's settings as Salt merges them, and file roots."""
    paths = site.site(__opts__)
    if not paths.current.is_dir():
        raise PolicyError("nothing is configured yet: run 'salt-run state.orch ceph.stage.configure' first")
    own = minions.told(__opts__)
    if own.get("_errors"):
        raise PolicyError(f"the master's own pillar cannot be compiled: {own['_errors']}")
    files = served.contents(paths)
    told = {path for path, content in files.items() if "daemons" in content.get("ceph", {})}
    members = own["ceph"]["members"]
    # Those of crash reports alone, such as a monitor's host, are among the members that have some.
    if not {site.minion_file(each) for role in (*generation.BRING_UP, "daemons") for each in members[role]} <= told:
        raise PolicyError(OLDER)
    inventory = kept.load_inventory(paths.inventory)["hosts"]
    layouts = files[site.minion_file(__opts__["id"])]["ceph"].get("profiles", {})
    return dataclasses.replace(
        subject.of(files, own, choices.own_files(paths.root), profiles.read(paths.proposals, layouts)),
        generation=own.get("ceph", {}).get("generation"),
        hostnames={minion: host["hostname"] for minion, host in inventory.items() if "hostname" in host},
        monitors={each["name"]: each["address"] for each in own.get("ceph", {}).get("monitors", ())},
        carrying=sorted(each for each, host in inventory.items() if existing_cluster.carries(host, own.get("fsid"))),
        salt=salt.version.__version__,
        files=_files(),
    )


def _asked(chosen: subject.Subject) -> subject.Subject:
    """The same with what every host answers: one job, whatever their number."""
    replies, took = engine_facts.ask(__opts__, chosen)
    hosts, failed = {}, {problem.minion: problem.text for problem in replies.failed}
    for minion, answers in replies.answers.items():
        try:
            hosts[minion] = facts.read(answers)
        except InventoryError as err:
            failed[minion] = str(err)
    takes = set(taking_part.among(__opts__, chosen.roles))
    silent = dict.fromkeys(replies.silent, SILENT)
    return dataclasses.replace(
        chosen,
        answered=hosts,
        hosts={minion: each for minion, each in hosts.items() if minion in takes},
        failed={minion: why for minion, why in failed.items() if minion in takes},
        silent={minion: why for minion, why in silent.items() if minion in takes},
        away={**dict.fromkeys(set(chosen.roles) - takes, "only= leaves it as it is"), **silent},
        took=took,
    )


def _machines(hosts: Collection[str], replied: Replies) -> dict[str, Any]:
    """What the machines of hosts are. A host that cannot tell is named, and holds nothing back."""
    found: dict[str, Any] = {}
    unknown = {problem.minion: problem.text for problem in replied.problems if problem.minion in hosts}
    for minion, answers in replied.answers.items():
        if minion not in hosts:
            continue
        try:
            found[minion] = hardware_facts.read(answers)
        except InventoryError as err:
            unknown[minion] = str(err)
    return {"hardware": found, "unknown": unknown}
