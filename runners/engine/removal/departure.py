"""A removal that is carried out: OSDs drained and purged, daemons stopped, keys taken away, each by Ceph's leave."""

from collections.abc import Callable, Mapping, Sequence

from proposals.cluster.health import judge
from proposals.cluster.removal import items, record, told
from proposals.cluster.removal.items import Item
from proposals.files.site import site
from proposals.pillar import named
from proposals.services import service_answers
from proposals.stages import replies
from proposals.text.errors import ProposalError
from proposals.text.notes import FEW, several
from runners.engine.asking import jobs
from runners.engine.cluster import health, nfs_ended, spared
from runners.engine.removal import draining, leaving
from runners.engine.removal.leaving import Look
from runners.engine.runs import one_at_a_time

LEAVE = 120  # seconds without progress after which Ceph's no stands
STOPPABLE = "cluster_health.stoppable"
TELLS = {"rgw": "rgw-frontend", "node-exporter": "prometheus", "alertmanager": "prometheus"}  # who must not ask it more
Done = dict[str, list[str]]  # what was done, by the kind and host


def carry_out(opts: Mapping, look: Look, done: Done, steps: int = 1, command: str = "ceph.stage.removal") -> None:
    """Let everything of a list leave, in its order. Each is forgotten once it has left.

    opts
        The master's options.
    look
        The list; what was confirmed is kept in the cluster before the first change.
    done
        Gets what was done, by kind and host; it holds that too where the rest fails.
    steps
        In how many the OSDs' weights go to zero.
    command
        What was typed for it.

    Raises ProposalError with what stands against the next step; the next run goes on there.
    """
    empty = {minion: host["hostname"] for minion, host in look.before.items() if not _keeps(look, minion)}
    begun = record.begin(look.items, look.seen["weights"], record.fsids(look.states), look.begun, empty)
    jobs.cluster(opts, "cluster_removal.note", [begun.as_list()], bool)
    if look.back:
        done["back"] = jobs.cluster(opts, "cluster_removal.weigh", [look.back], dict)["run"]
    for kind in items.ORDER:
        listed = [item for item in look.items if item.kind == kind]
        if kind in TELLS and listed:
            _tell(opts, look, TELLS[kind])
        if ids := look.present(listed):
            draining.drain(opts, ids, begun.weights, steps)
        groups: dict[str, list[Item]] = {}
        for item in listed:
            groups.setdefault(item.minion, []).append(item)
        for minion, group in groups.items():
            with one_at_a_time.alone(opts, command, one_at_a_time.STOPPING):  # not while data moves
                notes = LEAVES.get(kind, _part)(opts, look, group)
            if notes:
                done.setdefault(f"{minion}, to be known", []).extend(notes)
            if keys := items.keys(group, look.before, look.wanted.keys):
                jobs.cluster(opts, "cluster_auth.remove", [keys])
            named.forget(site(opts), group)
            done.setdefault(f"{kind} of {minion}" if minion else kind, []).extend(item.name for item in group)
    if begun.hosts:
        jobs.cluster(opts, "cluster_crush.prune", [list(begun.hosts)])
    named.forget(site(opts), look.past)  # last: of a host without OSDs, who was once named lets destroyed ones leave
    if not {*look.silent, *look.others} & set(begun.items):
        jobs.cluster(opts, "cluster_removal.forget", kind=bool)


def lines(done: Done) -> list[str]:
    """Return what a person reads of what was done: a line for each host and kind, of many hosts one for a kind; each is
    in the answer's ``changes``.
    """
    kinds: dict[str, dict[str, list[str]]] = {}
    for who, what in done.items():
        kind, _, minion = who.partition(" of ")
        kinds.setdefault(kind, {})[minion] = what
    said, folded = [], False
    for kind, hosts in kinds.items():
        names = [name for what in hosts.values() for name in what]
        if len(hosts) > FEW or kind == "back":
            of = f" of {several(list(hosts))}" if len(hosts) > 1 else ""
            said.append(f"{kind}{of}: {several(names, 'more', most=FEW)}")
            folded |= len(names) > FEW
        else:
            said += [f"{kind}{f' of {minion}' if minion else ''}: {', '.join(what)}" for minion, what in hosts.items()]
    return [*said, *([told.CHANGES] if folded else [])]


def _keeps(look: Look, minion: str) -> bool:
    """Whether a host has OSDs that are wanted."""
    return bool(look.wanted.hosts.get(minion, {}).get("osds"))


def _osds(opts: Mapping, look: Look, listed: Sequence[Item]) -> None:
    """Give up drained OSDs of one host, by Ceph's leave; their slots are free when the cluster has let go of them."""
    minion = listed[0].minion
    _allowed(opts, minion, look.present(listed))
    for item in listed:
        osd_id, here = leaving.number(item), not item.given_up
        if here and item.fsid:
            jobs.one(opts, minion, "osd_retire.retire", [osd_id, item.fsid])
        if look.present([item]):
            _purge(opts, minion, osd_id, item.fsid)
        if here:  # of one that was destroyed the place that waits for it
            jobs.one(opts, minion, "osd_retire.free", [osd_id], dict)


def _allowed(opts: Mapping, minion: str, ids: Sequence[int]) -> None:
    """Wait for Ceph's leave to stop OSDs and give them up."""

    def refusals() -> list[str]:
        refused: list[str] = jobs.cluster(opts, "cluster_osds.stoppable", [list(ids)])["refused"]
        return refused

    if ids:
        _by_leave(opts, minion, refusals)


def _purge(opts: Mapping, minion: str, osd_id: int, fsid: str) -> None:
    """Purge an OSD that has stopped, by Ceph's leave. Ceph may take that back for a while, between two questions too:
    once it forgets what the OSD said last, all groups have to be clean.
    """
    _by_leave(opts, minion, lambda: spared.no(lambda: jobs.cluster(opts, "cluster_osds.purge", [osd_id, fsid])))


def _by_leave(opts: Mapping, minion: str, refusals: Callable[[], Sequence[str]]) -> None:
    """Wait for a yes as long as data moves that may bring it; raise ProposalError with Ceph's no."""
    if why := spared.leave(opts, refusals, LEAVE):
        verdict = health.judged(opts)
        lines = [f"{minion}: its data would be at risk: {why}", *judge.lines((*verdict.wrong, *verdict.moves))]
        raise ProposalError("\n".join([*lines, draining.AGAIN]))


def _mon(opts: Mapping, look: Look, listed: Sequence[Item]) -> None:
    """A monitor leaves its host by ``ok-to-rm``, then the map."""
    for item in listed:
        name = item.name.removeprefix("mon.")
        there = name in jobs.cluster(opts, "cluster_mons.monitors", kind=dict)["names"]
        if there:
            jobs.cluster(opts, "cluster_mons.removable", [name], bool)
        if not item.given_up:
            jobs.one(opts, item.minion, "mon.retire", kind=str)
        if there:
            jobs.cluster(opts, "cluster_mons.remove", [name], dict)


def _mgr(opts: Mapping, look: Look, listed: Sequence[Item]) -> None:
    """The active manager hands over first."""
    name = listed[0].name.removeprefix("mgr.")
    if jobs.cluster(opts, "cluster_removal.inspect", kind=dict)["active"] == name:
        jobs.cluster(opts, "cluster_crush.apply", [[["mgr", "fail", name]]])
    _part(opts, look, listed)


def _mds(opts: Mapping, look: Look, listed: Sequence[Item]) -> None:
    """A metadata server ends when Ceph says ``ok-to-stop``; of a host that is gone another one takes over.

    The one before may have left it its place. A standby is asked of too: Ceph says no while any takes over.
    """
    name = listed[0].name.removeprefix("mds.")
    now = jobs.cluster(opts, "cluster_removal.inspect", kind=dict)
    serving = {server for system in now["file_systems"] for server in system["servers"]}
    if name in {*serving, *now["standbys"]}:
        words = ["mds", [name]]
        if why := spared.leave(opts, lambda: spared.no(lambda: jobs.cluster(opts, STOPPABLE, words)), LEAVE):
            raise ProposalError(f"mds.{name}: {why}; {draining.AGAIN}")
    if name in serving and listed[0].given_up:
        jobs.cluster(opts, "cluster_crush.apply", [[["mds", "fail", name]]])
    _part(opts, look, listed)


def _ganesha(opts: Mapping, look: Look, listed: Sequence[Item]) -> list[str]:
    """An NFS server leaves the grace database by itself; of a host that is gone another server takes it out, and only
    time its sessions: it may run yet.
    """
    _part(opts, look, listed)
    own, minion = items.told(listed[0], look.before), listed[0].minion
    if not listed[0].given_up:
        return nfs_ended.release(opts, minion, look.before[minion]["hostname"], own, others=False)
    _leave_grace(opts, look, own)
    return []


def _leave_grace(opts: Mapping, look: Look, own: Mapping) -> None:
    """Take an NFS server out of its grace database, by any of its cluster that answers. Raises ProposalError."""
    refused: list[ProposalError] = []
    for other, host in look.wanted.hosts.items():
        grace = host["parts"].get("ganesha", {}).get("grace")
        if grace and grace["namespace"] == own["grace"]["namespace"]:
            words = [own["daemons"][0], *(grace[key] for key in ("user", "pool", "namespace"))]
            try:
                jobs.one(opts, other, "ganesha_grace.leave", words, object)
            except ProposalError as err:
                refused.append(err)
            else:
                return
    if refused:
        raise refused[0]


def _igw(opts: Mapping, look: Look, listed: Sequence[Item]) -> None:
    """A gateway leaves every target first, by another's word; ceph-iscsi takes none out that does not answer."""
    stay = leaving.gateways(look)
    if stay and not listed[0].given_up:
        jobs.one(opts, stay[0], "iscsi.release", [look.before[listed[0].minion]["hostname"]], list)
    _part(opts, look, listed)


def _part(opts: Mapping, look: Look, listed: Sequence[Item]) -> None:
    """Daemons and files of one part of one host."""
    for item in listed:
        if item.kind != "key" and not item.given_up:
            jobs.one(opts, item.minion, "daemons_retire.retire", [item.kind, items.told(item, look.before)], dict)


LEAVES: Mapping[str, Callable[[Mapping, Look, Sequence[Item]], Sequence[str] | None]] = {
    "osd": _osds,
    "mon": _mon,
    "mgr": _mgr,
    "mds": _mds,
    "ganesha": _ganesha,
    "igw": _igw,
}


def _tell(opts: Mapping, look: Look, part: str) -> None:
    """Those who send requests to what leaves are told of it first, as the stage services does."""
    stay = [minion for minion, host in look.wanted.hosts.items() if part in host["parts"]]
    if stay:
        asked = jobs.ask(opts, stay, "state.apply", [f"ceph.service.{part}"], timeout=60)
        if failed := service_answers.applied(part, asked.answers, replies.lines(asked.failed)).failed:
            raise ProposalError("\n".join([*failed, draining.AGAIN]))
