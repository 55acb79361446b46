"""What leaves the running cluster, looked at once: the list, what stands against it, what was confirmed before."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from proposals.cluster import migrating
from proposals.cluster.removal import domains, items, record, roles, room, told
from proposals.cluster.removal.items import Found, Item, Wanted
from proposals.cluster.removal.record import Record
from proposals.files.site import site
from proposals.pillar import named, served
from proposals.stages import replies
from proposals.text import names
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.notes import FEW, by_host, several
from runners.engine.asking import jobs, minions
from runners.engine.removal import gone_hosts
from runners.engine.runs import stage_lock

LEFT = "daemons_retire.left"  # what a host still has of what it lost
FORM = f"its answer is not of the form expected ({LEFT}): run ceph.stage.prep, which brings its modules up to date"


@dataclass(frozen=True)
class Look:
    """What a look gave.

    items
        All that leaves now.
    silent
        What does not, as its host does not answer and is not given up.
    others
        What was confirmed before, still leaves, and not in this run: of hosts that ``only`` leaves out.
    before, wanted
        What was named until now, and is named.
    seen, states
        ``cluster_removal.inspect``'s and ``cluster_osds.states``'s answers.
    begun
        What was confirmed before, where that is under way.
    past
        What has left already, by somebody's hand: nothing of it is there.
    generations
        Of which generation the pillar of each host is that has something left.
    """

    items: tuple[Item, ...]
    silent: tuple[Item, ...]
    others: tuple[Item, ...]
    before: Mapping[str, Mapping]
    wanted: Wanted
    seen: Mapping[str, Any]
    states: Sequence[Mapping]
    begun: Record | None
    past: tuple[Item, ...]
    generations: Mapping[str, str | None]

    @property
    def hash(self) -> str:
        """By which the list is confirmed."""
        return record.name(self.items, self.begun)

    @property
    def goes_on(self) -> bool:
        """Whether the list is what is left of one that was confirmed."""
        return record.goes_on(self.items, self.begun)

    @property
    def moving(self) -> bool:
        """Whether data of such a list has begun to leave."""
        fsids = record.fsids(self.states)
        return self.begun is not None and self.goes_on and record.moving(self.begun, self.seen["weights"], fsids)

    @property
    def osds(self) -> list[int]:
        """The numbers of the OSDs that leave, of those that the cluster still has."""
        return self.present(self.items)

    def present(self, listed: Iterable[Item]) -> list[int]:
        """The numbers of some OSDs in the cluster, by their fsids: what a host calls one may be another's by now."""
        osds = [(number(item), item.fsid) for item in listed if item.kind == "osd"]
        return [osd_id for osd_id, fsid in osds if (osd_id, fsid) in self._has]

    @cached_property
    def _has(self) -> set[tuple[int, str]]:
        """The cluster's OSDs, each with its fsid."""
        return {(osd["id"], osd["fsid"] or "") for osd in self.states}

    @property
    def back(self) -> dict[str, float]:
        """The weights of OSDs that began to leave, and that the served generation names again."""
        planned = {fsid for host in self.wanted.hosts.values() for fsid in host["osds"]}
        stay = {str(osd["id"]) for osd in self.states if osd["fsid"] in planned}
        weights = record.back(self.begun, self.seen["weights"], record.fsids(self.states)) if self.begun else {}
        return {osd: weight for osd, weight in weights.items() if osd in stay}

    def room(self) -> room.Room | None:
        """What its OSDs move and fill; None without any."""
        return room.room(crush(self.seen), *_asked(self.seen), set(self.osds)) if self.osds else None


def at(opts: Mapping, gone: object = None) -> Look:
    """Look at what leaves.

    opts
        The master's options.
    gone
        The minions that are given up, as typed: one, or several with commas between.

    Raises ProposalError where nobody knows, and for a host that is given up and is not gone.
    """
    paths, members = site(opts), minions.members(opts)
    before = named.known(paths)
    wanted = Wanted(
        named.hosts(served.contents(paths), named.hostnames(paths)), named.entities(paths, members["master"][0])
    )
    every = items.candidates(before, wanted.hosts)
    lost = _limited(opts, every)
    answers, silent = _hosts(opts, lost)
    given_up = _given_up(opts, gone, lost, silent, wanted.hosts.keys() - every.keys())
    seen = jobs.cluster(opts, "cluster_removal.inspect", kind=dict)
    states = jobs.cluster(opts, "cluster_osds.states", kind=list)
    found = Found(states, seen["monitors"], seen["keys"], answers)
    listed = items.leaving(before, wanted, found, named.made(paths), given_up)
    whole = stage_lock.own(opts).get("only") is None
    listed = [item for item in listed if (item.minion in lost if item.minion else whole)]
    away = tuple(item for item in listed if item.minion in silent and not item.given_up)
    here = tuple(item for item in listed if item not in away)
    generations = {minion: answer["generation"] for minion, answer in answers.items()}
    begun = record.read(seen["record"])
    unasked = set(every) - set(lost)
    others = tuple(item for item in begun.items if item.minion in unasked) if begun else ()
    current = served_name(opts)  # a host with another pillar does not say what it still has of what is planned there
    sure = [minion for minion, generation in generations.items() if generation == current]
    past = tuple(items.past(before, wanted.hosts, listed, sure))
    return Look(here, away, others, before, wanted, seen, states, begun, past, generations)


def number(item: Item) -> int:
    """Return an OSD's number."""
    return int(item.name.removeprefix("osd."))


def against(opts: Mapping, look: Look) -> list[str]:
    """Return what stands against carrying a list out, a line each; of one that goes on, no more than still can."""
    generation, leave = served_name(opts), {item.minion for item in look.items}
    stale = by_host(
        (minion, f"its pillar is of generation {has or 'none'}, served is {generation}: run ceph.stage.configure again")
        for minion, has in sorted(look.generations.items())
        if has != generation and minion in leave
    )
    lines = [*stale, *roles.against(look.items, look.seen, minions.members(opts)), *_targets(opts, look)]
    if not look.osds:
        return lines
    tree, pools = crush(look.seen), look.seen["pools"]
    lines += domains.lacking(tree, pools, set(look.osds))
    if not look.moving:  # else half of it has moved: what was asked before it began held for all
        lines += [*domains.emptied(tree, pools, set(look.osds)), *getattr(look.room(), "against", ())]
    return lines + gone_hosts.against(opts, look.present(item for item in look.items if item.given_up), look.states)


def gateways(look: Look) -> list[str]:
    """Return the minions whose iSCSI gateways stay."""
    return [minion for minion, host in sorted(look.wanted.hosts.items()) if "igw" in host["parts"]]


def _targets(opts: Mapping, look: Look) -> list[str]:
    """What iSCSI gateways that leave serve alone, as one that stays knows it; where all of them leave, nothing."""
    stay = gateways(look)
    leave = [item.minion for item in look.items if item.kind == "igw" and not item.given_up]
    lines: list[str] = []
    for minion in leave if stay else ():
        try:
            found = jobs.one(opts, stay[0], "iscsi.alone", [look.before[minion]["hostname"]], list)
            lines += [f"{minion}: {line}" for line in found]
        except ProposalError as err:
            lines.append(str(err))
    return list(dict.fromkeys(lines))


def stays(look: Look, osd_id: int) -> str:
    """Return why a single OSD must not be removed; empty where it may.

    look
        Of all that leaves.
    osd_id
        The OSD's number.
    """
    if any(item.name == f"osd.{osd_id}" for item in look.items):
        return ""
    if any(item.name == f"osd.{osd_id}" for item in look.silent):
        return f"osd.{osd_id}: its host does not answer: start its salt-minion, or where it is gone for good: gone="
    osd = next((osd for osd in look.states if osd["id"] == osd_id), None)
    if osd is None:
        return migrating.NO_OSD.format(osd_id)
    minion = next((each for each, host in look.wanted.hosts.items() if osd["fsid"] in host["osds"]), None)
    if minion is None:
        return f"osd.{osd_id} is in no profile that was ever served: it is not ours to remove"
    return (
        f"osd.{osd_id} is planned on {minion}, the next deploy would make it again: take its disk out of its profile's "
        f"file of {minion}, an adopted OSD out of its record there, and run ceph.stage.configure; 'salt-run "
        f"osd.replace {osd_id}' keeps its place for a new disk"
    )


def served_name(opts: Mapping) -> str:
    """Return the name of the generation that is served."""
    return site(opts).current.resolve().name


def plan(look: Look, typed: Mapping[str, str | int]) -> list[str]:
    """Return what a person reads of a list, before it is carried out; ``typed`` beside its hash."""
    nothing = not look.items and look.silent
    lines = [] if nothing else told.plan(look.items, look.hash, look.room(), typed, look.goes_on)
    lines += told.held_back(look.silent, sorted({item.minion for item in look.silent}))
    lines += told.past(look.past)
    lines += told.weights(look.back, "named again, and gets its weight {weight} back: {osds}")
    strangers = items.strangers(look.before, look.wanted, look.states)
    named = several(strangers, "more", most=FEW)
    lines += [f"left alone, in no profile of ours: {named}"] if strangers else []
    many = [Item("osd", "", osd) for osd in (*look.back, *strangers)]
    return lines + told.each(typed, look.items, look.silent, look.past, many)


def data(look: Look) -> dict[str, Any]:
    """Return the same for programs, with everything by its name."""
    return {
        "hash": look.hash,
        "items": [item._asdict() for item in look.items],
        "silent": [item._asdict() for item in look.silent],
        "past": [item._asdict() for item in look.past],
        "back": dict(look.back),
        "strangers": items.strangers(look.before, look.wanted, look.states),
    }


def crush(seen: Mapping) -> domains.Map:
    """Return the CRUSH map of ``cluster_removal.inspect``'s answer, with what each OSD is in by."""
    return domains.Map(seen["crush"], {int(osd): share for osd, share in seen["inside"].items()})


def _asked(seen: Mapping) -> tuple[Sequence[Mapping], Sequence[Mapping], Mapping]:
    return seen["pools"], seen["usage"], seen["limits"]


def _limited(opts: Mapping, lost: Mapping[str, dict]) -> dict[str, dict]:
    """Those of some hosts that the running stage's ``only`` names; one that is gone may be no minion any more."""
    only = stage_lock.own(opts).get("only")
    return {minion: own for minion, own in lost.items() if only is None or fnmatchcase(minion, str(only))}


def _hosts(opts: Mapping, lost: Mapping[str, dict]) -> tuple[dict[str, dict], set[str]]:
    """What is left on each host that answers, and who does not."""
    ours = set(minions.ours(opts))
    asked = jobs.ask_own(opts, {each: own for each, own in lost.items() if each in ours}, LEFT, lambda own: [own])
    wrong = [replies.Problem(each, FORM) for each, answer in asked.answers.items() if not _sound(answer)]
    if wrong or asked.failed:
        raise ProposalError("\n".join(replies.lines([*asked.failed, *wrong])))
    return asked.answers, set(lost) - asked.answers.keys()


def _sound(answer: Mapping) -> bool:
    osds = answer.get("osds")
    if not isinstance(osds, Mapping) or not isinstance(answer.get("parts"), list) or "generation" not in answer:
        return False
    return all(isinstance(fsid, str) and type(osd_id) is int for fsid, osd_id in osds.items())


def _given_up(
    opts: Mapping, gone: object, before: Mapping[str, Mapping], silent: Collection[str], whole: Collection[str]
) -> set[str]:
    """The hosts that are given up, which may not answer; of the ``whole`` ones nothing leaves, and none was asked."""
    words = {word.strip() for word in str(gone).split(",")} if gone else set()
    for word in sorted(words):
        if word in whole:
            raise ArgumentError(
                f"gone={word}: all that it has is served, so nothing of it leaves: take its lines out of policy.cfg, "
                "run ceph.stage.configure, then this again"
            )
        if before and word not in before:  # where nothing leaves any more, it has left
            raise ArgumentError(f"gone={names.shown(word)}: no host of ours is called so{names.nearest(word, before)}")
        if word in stage_lock.own(opts).get("maintenance", ()):
            raise ProposalError(f"gone={word}: it is in maintenance: 'salt-run maintenance.end {word}' first")
        if before and word not in silent:
            raise ProposalError(f"gone={word}: it answers, so it is not gone: leave gone= out, and it leaves in order")
    return words
