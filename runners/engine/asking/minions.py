"""Which minions are ours, which role each has, and what the site tells its own master."""

import copy
import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import salt.pillar

from proposals.files import atomic, tree
from proposals.files.site import site
from proposals.inventory import kept
from proposals.text.errors import PolicyError, ProposalError
from proposals.text.form import has
from proposals.text.names import closest, shown
from proposals.text.notes import FEW, several
from runners.engine.asking import matching, serves
from runners.engine.runs import stage_lock
from runners.engine.runs.stage_memory import Memory

TARGET, SHIPPED = "ceph_minions", "*"  # of pillar/ceph/minions.sls
OWN = ("minions.sls", "site.sls")  # what a site may have of its own in place of the shipped ones
BROKEN = re.compile(r" error in (?P<path>/.+):$")  # of Salt's pillar module `stack`
KEY = re.compile(r"^([^\s#:{-][^\s:]*)\s*:", re.MULTILINE)  # of an SLS, at its outermost
PROBLEM = re.compile(r'^(.+)\n  in "<unicode string>", line (\d+), column \d+$', re.MULTILINE)  # of PyYAML, the last
NEEDED = {"all", "master"}  # of the members that configure names
_PILLAR: Memory[dict[str, Any]] = Memory()


def ours(opts: Mapping) -> list[str]:
    """Return the accepted minions that ``ceph_minions`` matches, sorted.

    Raises ProposalError where this master serves something else already and nobody said which minions are ours.
    """
    _files(opts)
    target = told(opts)[TARGET]
    own_file = site(opts).root / "minions.sls"
    if not isinstance(target, str) or not target.strip():
        raise ProposalError(
            f"ceph_minions is {shown(target)}: expected a Salt compound match such as 'osd*': correct it in {own_file}"
        )
    if target == SHIPPED and not own_file.is_file() and (other := serves.beside(opts)):
        accepted = several(matching.match(opts, "*"), "more", FEW) or "none"
        raise ProposalError(
            f"this master serves its minions something else already ({other}): which of them are Halocline's? Write "
            f"for example \"ceph_minions: 'osd*'\" into {own_file}; accepted are {accepted}"
        )
    return matching.match(opts, target)


def seen(opts: Mapping) -> dict[str, Any]:
    """Return the inventory of our minions alone: a host that is gone for good, or has another id now, has no say."""
    inventory, own = kept.load_inventory(site(opts).inventory), set(ours(opts))
    return {**inventory, "hosts": {minion: host for minion, host in inventory["hosts"].items() if minion in own}}


def addressed(opts: Mapping, stage: str, members: Sequence[str] | None, changes: int = 0) -> list[str]:
    """Return the minions that a stage addresses; ProposalError where there are none, or where no minion is told of a
    change (``pillar_cache``).

    Its steps share the pillar that Salt has compiled for its SLS, until one of them changes anything.

    opts
        The master's options.
    stage
        Its name, for the message.
    members
        Their ids; None for every minion of ours.
    changes
        How many steps of its run, before it, have changed anything.
    """
    if opts.get("pillar_cache"):
        raise ProposalError(
            f"stage {stage}: pillar_cache: True hides each change from minions for pillar_cache_ttl: set it to False "
            "in the master's configuration, and restart the master"
        )
    if not changes and TARGET in opts.get("pillar", ()):
        _PILLAR.keep(opts, dict(opts["pillar"]))
    if members is not None and not members:
        raise ProposalError(f"stage {stage}: nothing is configured yet: run 'salt-run state.orch ceph.stage.configure'")
    expected = sorted(members) if members else ours(opts)
    if not expected:
        raise ProposalError(
            f"stage {stage}: no minion is managed by Halocline: accept keys (salt-key), or look at ceph_minions in "
            f"{site(opts).root}/minions.sls"
        )
    return expected


def listed(minions: Collection[str]) -> str:
    """Return our minions as a message names them."""
    return (
        f"managed are {several(sorted(minions), 'more', FEW)}"
        if minions
        else "no minion is yet (salt-key --accept-all)"
    )


def master(opts: Mapping) -> str:
    """Return the id of the minion on the master's own host, as a master derives its own id from it."""
    return opts["id"].removesuffix("_master")


def pillar(opts: Mapping) -> dict[str, Any]:
    """Return the master's own pillar: what stages, and runners, are told by the site.

    Raises ProposalError where the master does not serve Halocline's pillar, or a file of it is broken: what that file
    says would be missing without a word.
    """
    own = told(opts)
    if errors := own.get("_errors"):
        lines = "; ".join(map(_error, errors))
        raise ProposalError(f"the master's own pillar cannot be compiled: {lines}; 'salt-run policy.check' says more")
    return own


def told(opts: Mapping) -> dict[str, Any]:
    """Return the same as far as Salt could compile it, with ``_errors`` where it could not: for what reads the site's
    files by itself, or says what is wrong with them.

    The steps of a stage share one until one of them changes anything (``anew``): to compile it takes 0.1 s and more.

    Raises ProposalError where the master does not serve Halocline's pillar, or a file of the site's for it is no file.
    """
    compiled = _PILLAR.kept(opts)
    if compiled is None:
        compiled = _compiled(opts)
        _PILLAR.keep(opts, compiled)
    return copy.deepcopy(compiled)


def _error(text: object) -> str:
    """One of Salt's errors in a line: the file, the line in it, and the problem; it repeats the file's content."""
    first, _, rest = str(text).partition("\n")
    if not (found := BROKEN.search(first)):
        return first
    problem, line = next(reversed(PROBLEM.findall(rest)), (rest.partition("\n")[0].strip('"'), ""))
    return f"{found['path']}{f' line {line}' if line else ''}: {problem}"


def anew(opts: Mapping) -> None:
    """Have the running stage compile the master's pillar once more: a step changed something."""
    _PILLAR.keep(opts, None)


def _compiled(opts: Mapping) -> dict[str, Any]:
    _files(opts)
    typed = stage_lock.inline(opts) if stage_lock.own(opts) else None  # has the last word, as where Salt compiles it
    fresh = {"clean_cache": True} if opts.get("pillar_cache") else {}  # else of up to an hour ago
    own = salt.pillar.get_pillar(opts, {}, opts["id"], "base", pillar_override=typed, **fresh).compile_pillar()
    if TARGET not in own:
        raise ProposalError(_without(site(opts).root / "minions.sls", own.get("_errors", ())))
    return own


def _without(own_file: Path, errors: Sequence[object]) -> str:
    """Why the master's pillar does not hold ceph_minions, and what to do."""
    said = "; ".join(map(_error, errors))
    if own_file.is_file():
        keys = KEY.findall(atomic.read_text(own_file))
        if not said and TARGET not in keys:
            found = f"found {near}" if (near := closest(TARGET, keys)) else "found no such key"
            return f"{own_file}: expected ceph_minions, {found}: write for example \"ceph_minions: 'osd*'\" into it"
        if said:
            return f"the master's pillar does not hold ceph_minions ({said}): mend that, then run this again"
    return (
        f"the master's pillar does not hold ceph_minions ({said or 'no error'}): run srv/install again and restart the "
        "master"
    )


def members(opts: Mapping) -> dict[str, list[str]]:
    """Return the minions of each role in the generation that is served; PolicyError where there is none, or where its
    file was damaged since: configure writes it anew.
    """
    assigned = site(opts).current / "stack" / "default" / "ceph" / "minions" / f"{opts['id']}.yml"
    if not assigned.exists():
        raise PolicyError("nothing is configured yet: run 'salt-run state.orch ceph.stage.configure' first")
    found = tree.mapping(assigned)
    if not has(found, {"ceph": {"members": {"*": [str]}}}) or not found["ceph"]["members"].keys() >= NEEDED:
        raise PolicyError(f"{assigned} is not as configure wrote it: run 'salt-run state.orch ceph.stage.configure'")
    every: dict[str, list[str]] = found["ceph"]["members"]
    return every


def _files(opts: Mapping) -> None:
    """Refuse what lies in the place of a file of the site's and is none: Salt takes the shipped one without a word."""
    for path in (site(opts).root / name for name in OWN):
        if not os.path.lexists(path):
            continue
        try:
            mode = path.stat().st_mode
        except OSError as err:
            what = err.strerror
        else:
            if stat.S_ISREG(mode):
                continue
            what = "a folder" if stat.S_ISDIR(mode) else "no file"
        to = f" -> {path.readlink()}" if path.is_symlink() else ""
        raise ProposalError(
            f"{path}{to}: expected a file, found {what}: Salt would take the shipped one without a word; mend or "
            "remove it, then run this again"
        )
