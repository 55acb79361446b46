"""``salt-run osd.*``: the cluster's OSDs, on all hosts."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from proposals.cluster import growth, migrating, moves, report
from proposals.cluster.removal import told
from proposals.files import atomic, site
from proposals.pictures import drawing
from proposals.pictures import report as pictures
from proposals.stages import plan_steps, replies
from proposals.text import names
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.notes import counted
from runners.engine import answer
from runners.engine.asking import jobs, minions, planned
from runners.engine.cluster import growing
from runners.engine.osds import migration, replacing
from runners.engine.removal import departure, leaving
from runners.engine.runs import stage_lock, stage_log


@answer.answers
def report_(*, page: str | None = None, all: bool = False, **_: Any) -> answer.Output:
    """Show every planned OSD's real data, DB and WAL beside the plan; exit status 1 where one differs.

    page
        A file, ``.html`` or ``.svg``: the same as a picture is written there too.
    all
        Tell of each OSD; else, where hosts are many, of those that are not as planned.

    CLI Example:

    .. code-block:: bash

        salt-run osd.report
        salt-run osd.report page=/srv/osds.html
    """
    form, members = drawing.form_of(page) if page else "", minions.members(__opts__)
    hosts = jobs.ask(__opts__, members["storage"], "osd.report")
    metadata = jobs.ask(__opts__, members["master"], "cluster_osds.metadata", kind=list).whole()
    osds = report.report(planned.osds(site.site(__opts__)), hosts.answers, next(iter(metadata.values())))
    good = sum(not osd["problems"] for osd in osds)
    silent = replies.lines(hosts.problems)
    if page:
        atomic.write(str(page), drawing.rendered(pictures.picture(osds, silent), form))
    text = "\n".join([*report.lines(osds, all), *silent, f"{good} of {len(osds)} OSDs are as planned"])
    return answer.Answer(text, {"osds": osds, "messages": silent}, status=int(good != len(osds)))


__func_alias__ = {"report_": "report", "growth_": "growth"}


@answer.answers
def replace(
    osd_id: int | None = None, host: str | None = None, device: str | int | None = None, test: bool = False
) -> dict[str, Any]:
    """Destroy an OSD whose disk is to be replaced, or all OSDs behind a DB or WAL device that died.

    Of a data disk the slot is freed, and the next new disk of its host takes its number. Behind a DB or WAL device all
    keep numbers and places, which nobody else gets; the lines that wipe their data disks are printed. Refused while
    Ceph does not call all of them safe to destroy together. Run again after any interruption.

    osd_id
        The OSD's number.
    host
        The minion of the DB or WAL device.
    device
        That device: its id (``/dev/disk/by-id/...``) or its serial number.
    test
        Only say what is at risk, how much would be rebuilt and what stands against it.

    CLI Example:

    .. code-block:: bash

        salt-run osd.replace 12
        salt-run osd.replace host=osdnode1 device=BTWA632602TU480FGN test=true
        salt-run osd.replace host=osdnode1 device=BTWA632602TU480FGN
    """
    stage_lock.free(__opts__)
    look = _given_up(osd_id, host, device)
    plan = replacing.plan(__opts__, look)
    if against := replacing.against(__opts__, look):
        return answer.bad("\n".join([*plan, *against]))
    if test:
        would = f"would destroy {', '.join(f'osd.{each}' for each in look.alive)}: Ceph calls that safe"
        return {"text": "\n".join([*plan, would if look.alive else "nothing is left to destroy"])}
    offered = replacing.spares(__opts__, look)  # before anything is changed: a setting may not be understood
    done = replacing.after(look, replacing.carry_out(__opts__, look))
    return {"text": "\n".join([*plan, *done, *offered])}


def _given_up(osd_id: object, host: object, device: object) -> replacing.Look:
    """The OSDs that were meant."""
    if osd_id is None and host is not None and device is not None:
        return replacing.behind(__opts__, host, device)
    if osd_id is None or host is not None or device is not None:
        raise ArgumentError(
            "expected an OSD's number, as in 'salt-run osd.replace 12', or a DB or WAL device, as in 'salt-run "
            "osd.replace host=osdnode1 device=SERIAL'"
        )
    if type(osd_id) is not int:
        raise ArgumentError(f"'{names.shown(osd_id)}' is not an OSD's number: expected one such as 12")
    return replacing.one(__opts__, osd_id)


@answer.answers
def remove(*osd_ids: int, gone: str | None = None, test: bool = False) -> answer.Output:
    """Drain single OSDs that no profile names any more, and take them out of the cluster and their host.

    An OSD that a profile names would be made again: take its disk out of the profile's file of its host, and run
    ceph.stage.configure first. Refused as the stage removal is. Interrupted, the same command goes on.

    osd_ids
        The OSDs' numbers.
    gone
        Minions whose hosts are gone for good.
    test
        Only say what would be done, how much moves, and what stands against it.

    CLI Example:

    .. code-block:: bash

        salt-run osd.remove 12 13 test=true
        salt-run osd.remove 12 13
    """
    if not osd_ids or any(type(osd_id) is not int for osd_id in osd_ids):
        raise ArgumentError(f"{_shown(osd_ids)}: expected numbers of OSDs, such as 'salt-run osd.remove 12 13'")
    stage_lock.free(__opts__)
    every = leaving.at(__opts__, gone)
    if wrong := [line for osd_id in osd_ids if (line := leaving.stays(every, osd_id))]:
        return answer.bad("\n".join(wrong))
    chosen = tuple(item for item in every.items if item.kind == "osd" and leaving.number(item) in osd_ids)
    rest = tuple(item for item in every.items if item not in chosen)
    look = dataclasses.replace(every, items=chosen, others=(*every.others, *rest))
    if look.begun and not look.goes_on:
        return answer.bad(
            f"removal {look.begun.hash} is under way, of others too: go on with 'salt-run stage.run removal "
            f"confirm={look.begun.hash}', or call it off with 'salt-run removal.cancel'"
        )
    text = "\n".join([*told.listed(chosen), *([room.line()] if (room := look.room()) else [])])
    if against := leaving.against(__opts__, look):
        return answer.bad("\n".join([text, "refused, nothing was changed:", *against]))
    if test:
        plan = [line for step in told.dry(look.items, 1) for line in plan_steps.lines(step)]
        return {"text": "\n".join([text, *plan])}
    done: departure.Done = {}
    stage_log.note(__opts__, "osd.remove", "removes", osds=", ".join(item.name for item in chosen))
    try:
        departure.carry_out(__opts__, look, done, command="osd.remove")
    except ProposalError as err:
        return {**answer.bad("\n".join([*departure.lines(done), str(err)]), 1), "changes": done}
    stage_log.note(__opts__, "osd.remove", "removed", done=done)
    return {"text": "\n".join([text, *departure.lines(done)]), "changes": done}


@answer.answers
def growth_(test: bool = False) -> answer.Output:
    """Say how much data moves to new OSDs; give those that wait their weights where nothing moves. A step of deploy.

    New OSDs wait where the site says ``hold_new_osds``. Which ones do is read from the CRUSH map itself, so that an
    interrupted stage goes on; a new cluster, in which there is nothing to move, waits for nobody.

    test
        Only say how much would move to the OSDs that deploy would make, and what else moves data.

    CLI Example:

    .. code-block:: bash

        salt-run osd.growth test=true
    """
    if test:
        try:
            return {"text": "\n".join(growing.coming(__opts__))}
        except ProposalError as err:  # before the first deploy nobody answers
            return {"text": f"how much data moves is not known yet: {err}"}
    held = minions.pillar(__opts__).get(growing.HOLD)
    if held:
        growing.started(__opts__)
    look = growing.look(__opts__)
    if look.begun:
        return {"text": "\n".join([*growth.listed(look.items), growth.goes_on(look.begun)])}
    if not look.items:
        return {"text": "no OSD waits for data: nothing changed"}
    try:
        nothing, unknown = held and not moves.total(look.moves(__opts__)), []
    except ProposalError as err:
        nothing, unknown = False, [f"how much data moves is not known yet: {err}"]
    if nothing:
        ran = jobs.cluster(__opts__, "cluster_fill.fill", [look.weights, growth.digest(look.items)])["run"]
        return {"text": f"{counted(len(look.items), 'OSD')}: weights given, no data moves", "changes": {"ceph": ran}}
    return {"text": "\n".join(["wait for data:", *growth.listed(look.items), *unknown, growth.WAIT])}


@answer.answers
def fill(confirm: str | None = None, test: bool = False) -> answer.Output:
    """Give data to the new OSDs that wait for it, all in one movement.

    Without ``confirm`` it prints which ones they are, how much data moves, what else moves data and what stands against
    it. Refused where an OSD would be too full, or placement groups would find too few failure domains. Data moves by
    itself afterwards, at the recovery settings that OSDs have. Interrupted, the same command goes on.

    confirm
        The hash that was printed with the list.
    test
        Only print it.

    CLI Example:

    .. code-block:: bash

        salt-run osd.fill
        salt-run osd.fill confirm=bdfhkmpr
    """
    stage_lock.free(__opts__)
    look = growing.look(__opts__)
    if not look.items and not look.begun:
        return {"text": "no OSD waits for data: nothing changed"}
    found, told = look.moves(__opts__), jobs.cluster(__opts__, "cluster_fill.movers", kind=dict)
    lines = growth.plan(look.items, found, told, look.absent)
    lines += [growth.goes_on(look.begun)] if look.begun else []
    if against := moves.against(found):
        return answer.bad("\n".join([*lines, "refused, nothing was changed:", *against]))
    if test:
        return {"text": "\n".join(lines)}
    weights = look.confirmed(confirm)
    if weights is None:
        typed = f"confirm={names.shown(confirm)} is another list's hash" if confirm else "nothing was confirmed"
        return answer.bad("\n".join([*lines, f"{typed}: nothing was changed"]))
    stage_log.note(__opts__, "osd.fill", "fills", weights=weights)
    ran = jobs.cluster(__opts__, "cluster_fill.fill", [weights, confirm])["run"]
    done = f"{counted(len(weights), 'OSD')}: weights given; 'ceph -s' shows how data comes to them"
    return {"text": "\n".join([*moves.lines(found), done, *moves.held(ran)]), "changes": {"ceph": ran}}


@answer.answers
def migrate(*osd_ids: int, test: bool = False, at_once: int = 1) -> answer.Output:
    """Move DB and WAL of OSDs that run to where the served generation plans them, host by host.

    ``proposal.populate … migrate=true`` plans it, ceph.stage.configure serves the plan. Each OSD is stopped when Ceph
    says ``ok-to-stop``, copied, checked by fsck and started; its old slot is freed when the cluster has seen it on the
    new one. Interrupted, the same command goes on. What could not begin again, and encrypted OSDs, are named.

    osd_ids
        The OSDs' numbers; without, all that are to move.
    test
        Only say what moves how many bytes, and what Ceph says to each OSD's being stopped.
    at_once
        How many OSDs of one host at most, 1 to 8, where Ceph says ``ok-to-stop`` of all of them together.

    CLI Example:

    .. code-block:: bash

        salt-run osd.migrate test=true
        salt-run osd.migrate at_once=4
        salt-run osd.migrate 12 13
    """
    if any(type(osd_id) is not int for osd_id in osd_ids) or type(test) is not bool:
        raise ArgumentError(
            f"{_shown((*osd_ids, f'test={test}'))}: expected numbers of OSDs and test=true, such as "
            "'salt-run osd.migrate 12 13 test=true'"
        )
    if type(at_once) is not int or not 1 <= at_once <= 8:
        raise ArgumentError(f"at_once={at_once}: expected how many OSDs of a host may move at once, 1 to 8")
    stage_lock.free(__opts__)
    osds, silent = migration.found(__opts__)
    picked, wrong = migration.chosen(__opts__, osds, osd_ids)
    against = [*wrong, *silent]
    if not picked:
        nothing = {"text": f"{migrating.NOTHING}: nothing changed"}
        return answer.bad("\n".join(against), 2 if wrong else 1) if against else nothing
    if test:
        return {"text": "\n".join([*migration.dry(__opts__, picked), *against])}
    done: dict[str, list[str]] = {}
    try:
        migration.every(__opts__, picked, done, at_once)
    except ProposalError as err:
        lines = [line for each in done.values() for line in each]
        return {**answer.bad("\n".join([*lines, str(err), *against]), 1), "changes": done}
    finally:
        stage_log.note(__opts__, "osd.migrate", "migrated", done=done)
    text = "\n".join([*(line for each in done.values() for line in each), *against])
    return {**answer.bad(text, 1), "changes": done} if against else {"text": text, "changes": done}


def _shown(typed: Iterable[object]) -> str:
    """What was typed, as a message names it."""
    return " ".join(map(names.shown, typed)) or "nothing"
