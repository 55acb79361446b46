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
import time
from pathlib import Path

import salt.pillar
import salt.version

from proposals import answer
from proposals.files import tree
from proposals.files.site import MINIONS, site
from proposals.inventory import kept
from proposals.pillar import chosen as choices
from proposals.text.errors import InventoryError, PolicyError
from proposals.validation import check, facts, host_questions, subject, table

JOB = "host.facts"


@answer.answers
def all_(**_):
    """Run every check; the hosts are asked in one job.

    CLI Example:

    .. code-block:: bash

        salt-run validate.all
        salt-run validate.all --out json
    """
    found, looked = _run(table.CHECKS)
    return _told(found, looked, check.status(found))


@answer.answers
def deploy(test=False, **_):
    """Run every check for ``ceph.stage.deploy``: errors stop it, warnings are shown.

    test
        How a stage in test mode calls it; nothing is done otherwise then, as it only looks.

    CLI Example:

    .. code-block:: bash

        salt-run validate.deploy
    """
    found, looked = _run(table.CHECKS)
    told = {"text": check.text(found, looked), "findings": [one.as_dict() for one in found]}
    # The stage takes the text whatever --out was named for the stage.
    return {"retcode": 2, **told} if check.status(found) == 2 else told


@answer.answers
def prep(test=False, **_):
    """Run the checks for ``ceph.stage.prep``, before anything is configured: of prep's settings, and of the files in
    the master's file roots. Errors stop it.

    test
        How a stage in test mode calls it; it only looks, so it does the same then.

    CLI Example:

    .. code-block:: bash

        salt-run validate.prep
    """
    files = _files()
    pillar = __salt__["minions.pillar"]()
    rows = [row for row in table.CHECKS if row.looks_at in (check.FILES, check.SITE)]
    findings = check.run(rows, subject.of_prep(pillar, choices.own_files(site(__opts__).root), files))
    text = check.text(findings, f"prep's settings, and {len(files)} files of ceph/ in the master's file roots")
    told = {"text": text, "findings": [finding.as_dict() for finding in findings]}
    return {"retcode": 2, **told} if check.status(findings) == 2 else told


@answer.answers
def show(name=None, **_):
    """Show all checks; of one, named by its id, what it asks for, where that comes from, and what it finds now.

    CLI Example:

    .. code-block:: bash

        salt-run validate.show
        salt-run validate.show mtu
    """
    if name is None:
        lines = [f"{one.id:<17} {one.severity:<8} {one.about}" for one in table.CHECKS]
        rows = [{"check": one.id, "severity": one.severity, "about": one.about} for one in table.CHECKS]
        return answer.told("\n".join(lines), {"checks": rows}, __opts__.get("output"))
    one = table.find(name)
    found, looked = _run([one])
    told = [f"{one.id} ({one.severity}): {one.about}", *([f"source: {one.source}"] if one.source else [])]
    told += ["'small_site: true' allows it"] if one.size else []
    return _told(found, looked, check.status(found), "\n".join(told))


__func_alias__ = {"all_": "all"}


def _told(found, looked, status, before=""):
    """Findings as text or as data."""
    data = {"findings": [one.as_dict() for one in found], "looked": looked}
    text = "\n".join([*([before] if before else []), check.text(found, looked)])
    return answer.told(text, data, __opts__.get("output"), status)


def _run(checks):
    """What checks find of the generation that is served, and what they looked at."""
    chosen = dataclasses.replace(_served(site(__opts__)), files=_files())
    if any(one.looks_at == check.HOSTS for one in checks):
        chosen = _asked(chosen)
    found = check.run(checks, chosen)
    return found, f"{len(checks)} checks of {len(chosen.roles)} hosts"


def _files():
    """The files below ``ceph/`` that the master serves, each with its place; of a repository, as Salt names it."""
    roots = [Path(root) for root in __opts__["file_roots"].get("base", ())]
    paths = [path for path in __salt__["fileserver.file_list"]() if path.startswith("ceph/")]
    return {
        path: next((str(root / path) for root in roots if (root / path).is_file()), f"salt://{path}") for path in paths
    }


def _served(paths):
    """Who is what in the generation that is served, with the site's settings as Salt merges them."""
    if not paths.current.is_dir():
        raise PolicyError("nothing is configured yet: run 'salt-run state.orch ceph.stage.configure' first")
    own = salt.pillar.get_pillar(__opts__, {}, __opts__["id"], "base").compile_pillar()
    if own.get("_errors"):
        raise PolicyError(f"the master's own pillar cannot be compiled: {own['_errors']}")
    folders = ("cluster", MINIONS)
    files = {
        f"{folder}/{path.name}": tree.read_yaml(path)
        for folder in folders
        for path in sorted((paths.current / folder).iterdir())
    }
    inventory = kept.load_inventory(paths.inventory)["hosts"]
    made = subject.of(files, own, choices.own_files(paths.root))
    return dataclasses.replace(
        made,
        generation=own.get("ceph", {}).get("generation"),
        hostnames={minion: host["hostname"] for minion, host in inventory.items() if "hostname" in host},
        salt=salt.version.__version__,
    )


def _asked(chosen):
    """The same with what every host answers: one job, whatever their number."""
    asked = host_questions.ask(chosen, kept.load_inventory(site(__opts__).inventory)["hosts"])
    reference = time.time()
    answered = __salt__["minions.ask"](sorted(chosen.roles), [JOB], [[reference, *asked.values()]])
    took = time.time() - reference
    hosts, failed = {}, {minion: "does not answer" for minion in chosen.roles if minion not in answered}
    for minion, given in answered.items():
        try:
            hosts[minion] = facts.read(given.get(JOB))
        except InventoryError as err:
            failed[minion] = str(err)
    return dataclasses.replace(chosen, hosts=hosts, failed=failed, took=took)
