"""``salt-run crush.*``: where hosts stand in the CRUSH map."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from proposals.cluster import classes, crush, moves
from proposals.files import site
from proposals.inventory import kept
from proposals.text import names
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.notes import several
from proposals.text.sizes import MIB
from runners.engine import answer
from runners.engine.asking import jobs, minions, planned, taking_part
from runners.engine.cluster import ceph, health
from runners.engine.looks import stage_look
from runners.engine.runs import stage_lock

SMALL = 64 * MIB  # what a new cluster's own pools hold: moving it takes a moment, and holds back no deploy
NONE = "no host has a place of its own (crush_locations): nothing changed"
KEPT = "left where they are, as their data would move ('salt-run crush.move' says how much, and moves them by name)"
INTERRUPTED = "interrupted, norebalance is set and data waits; it goes on, and takes the flag back, by: {}"
UNKNOWN = "the next deploy without only= asks again; 'salt-run crush.move' moves them by name"


@answer.answers
def place(test: bool = False) -> dict[str, Any]:
    """Bring the storage hosts to the places that the site's ``crush_locations`` gives them; a step of the deploy stage.

    In ``<pillar_root>/ceph/stack/ceph/cluster.yml``: ``crush_locations: {'osdnode[12]': {rack: r1, row: a}}``. Hosts
    whose data would move are named and left where they are: ``crush.move`` moves them.

    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run crush.place test=true
    """
    places, interrupted = _places(), _interrupted(known=False)
    if not places:
        return {"text": "\n".join([NONE, *interrupted])}
    found = ceph.found(__opts__, test)
    if found is None:
        return {"text": ceph.LATER}
    commands = crush.commands(places, found["tree"])
    still = crush.still(commands, found["tree"])
    moving = [words for words in commands if words not in still]
    told, findings = [], []
    if moving:
        hosts = several([words[3] for words in moving], "more")
        try:
            estimated = _estimate(commands)
            dragged = crush.dragged(commands, places, found["tree"])
            if moves.total(estimated) < SMALL and not [*moves.against(estimated), *dragged]:
                still = commands
            else:
                told = [f"{hosts}: {KEPT}", *moves.lines(estimated), *dragged]
        except ProposalError as err:
            told = [f"{hosts}: left where they are: how much data moves is not known yet: {err}"]
            findings = [{"severity": "warning", "hosts": [], "message": told[0], "fix": UNKNOWN}]
    done = ceph.run(__opts__, still, test, f"{len(places)} hosts have crush_locations, and none is to be placed")
    return {**done, "text": "\n".join([done["text"], *told, *interrupted]), "findings": findings}


@answer.answers
def move(*hosts: str, test: bool = False) -> answer.Output:
    """Move hosts with data to the places that the site's ``crush_locations`` gives them; only those that are named.

    Without names it says which hosts are elsewhere, and how much data moves where all of them are moved. Refused where
    placement groups would find too few failure domains, OSDs would be too full, or a bucket would take hosts along that
    are not named. Data moves by itself afterwards, at the recovery settings that OSDs have, in one movement:
    ``norebalance`` holds it back until the last host stands at its place. Interrupted, the same command goes on; deploy
    names it.

    hosts
        Minion ids, or globs of them.
    test
        Only say what would be done, what would move and what stands against it.

    CLI Example:

    .. code-block:: bash

        salt-run crush.move
        salt-run crush.move osdnode1 osdnode2 test=true
        salt-run crush.move osdnode1 osdnode2
    """
    stage_lock.free(__opts__)
    places = _places(hosts)
    if not places:
        return _nothing("crush.move", hosts, NONE, test)
    found = ceph.found(__opts__, False) or {}
    commands = crush.commands(places, found["tree"])
    if not commands:
        there = f"{several(sorted(places), 'more')}: at their crush_locations: nothing changed"
        return _nothing("crush.move", hosts, there, test)
    against = crush.dragged(commands, places, found["tree"])
    return _asked("crush.move", hosts, commands, _estimate(commands), test, against)


@answer.answers
def reclass(*hosts: str, test: bool = False) -> answer.Output:
    """Give OSDs that exist the device class that their profile says (``class`` of an OSD); on hosts that are named.

    Without names it says which OSDs are of another class, and how much data moves. Refused where placement groups would
    find too few failure domains, or OSDs would be too full. A profile without ``class`` leaves Ceph's own alone. Data
    moves and an interruption is mended as with ``crush.move``.

    hosts
        Minion ids, or globs of them.
    test
        Only say what would be done, what would move and what stands against it.

    CLI Example:

    .. code-block:: bash

        salt-run crush.reclass osdnode1 test=true
        salt-run crush.reclass osdnode1
    """
    stage_lock.free(__opts__)
    states = jobs.cluster(__opts__, "cluster_osds.states", kind=list)
    found = classes.differing(planned.osds(site.site(__opts__)), states, _named(hosts))
    if not found:
        steady = "every OSD is of the class that its profile says: nothing changed"
        return _nothing("crush.reclass", hosts, steady, test)
    moved = jobs.cluster(__opts__, "cluster_moves.estimate", [[], None, classes.devices(found)], dict)
    return _asked("crush.reclass", hosts, classes.commands(found), moved, test)


def _asked(
    command: str,
    hosts: Sequence[str],
    commands: Sequence[list[str]],
    moved: Mapping[str, Any],
    test: bool,
    against: Sequence[str] = (),
) -> answer.Output:
    """Run planned commands for hosts that are named; else, and in test mode, say them; refuse what would hurt."""
    told, dry = [*moves.lines(moved), *_interrupted()], test or not hosts
    log = {"command": command, "event": "moves"}
    done = ceph.change(__opts__, commands, told, [*moves.against(moved), *against], dry, _typed(command, hosts), **log)
    if not hosts and "text" in done:
        done["text"] += f"\nto do it, name the hosts: salt-run {command} HOST …"
    return done


def _nothing(command: str, hosts: Sequence[str], steady: str, test: bool) -> dict[str, Any]:
    """Nothing is to be moved; where hosts are named, what an interruption left is taken back."""
    interrupted = _interrupted()
    if not interrupted or test or not hosts:
        return {"text": "\n".join([steady, *interrupted])}
    ran = jobs.cluster(__opts__, "cluster_crush.move", [[], _typed(command, hosts)], dict)["run"]
    lines = [ceph.typed(words.split()) for words in ran]
    return {"text": "\n".join([steady.removesuffix(": nothing changed"), *lines]), "changes": {"ceph": lines}}


def _interrupted(known: bool = True) -> list[str]:
    """What was interrupted and holds data back; a step of a stage asks where a cluster may not be ``known`` yet."""
    if stage_lock.kept(__opts__, health.MADE) is False:  # this stage makes it
        return []
    looked = stage_look.kept(__opts__)
    try:
        typed = looked.cluster[stage_look.HELD] if looked else jobs.cluster(__opts__, stage_look.HELD, kind=str)
    except ProposalError:
        if known:
            raise
        return []
    return [INTERRUPTED.format(typed)] if typed else []


def _typed(command: str, hosts: Sequence[str]) -> str:
    return shlex.join(["salt-run", command, *map(str, hosts)])


def _estimate(commands: Iterable[list[str]]) -> dict[str, Any]:
    """What planned commands would move."""
    found: dict[str, Any] = jobs.cluster(__opts__, "cluster_moves.estimate", [crush.edits(commands)], dict)
    return found


def _places(named: Sequence[object] = ()) -> Mapping[str, Mapping[str, str]]:
    """The places of the storage hosts of this run by host name; of those that are named, where any are."""
    wanted, locations = _named(named), minions.pillar(__opts__).get("crush_locations")
    if not locations:
        return {}
    hosts = kept.load_inventory(site.site(__opts__).inventory)["hosts"]
    shelves = crush.shelves(planned.osds(site.site(__opts__)), hosts)
    return crush.locations(locations, {minion: hosts[minion]["hostname"] for minion in wanted}, shelves)


def _named(named: Sequence[object]) -> list[str]:
    """The storage hosts of this run; those that are named, where any are. Raises ArgumentError for a name of none."""
    members = taking_part.among(__opts__, minions.members(__opts__)["storage"])
    for name in map(str, named):
        if not any(fnmatchcase(minion, name) for minion in members):
            raise ArgumentError(f"no storage host is called {names.shown(name)}{names.nearest(name, members)}")
    return [minion for minion in members if not named or any(fnmatchcase(minion, str(name)) for name in named)]
