"""A cluster looked at before it is taken apart: its hosts, its disks, what stands against it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proposals.cluster.purge import against, disks, told
from proposals.cluster.purge.disks import Disk
from proposals.files.site import site
from proposals.pillar import key_store, named, served
from proposals.stages import replies
from proposals.stages.replies import Question
from proposals.text.errors import ProposalError
from proposals.text.notes import by_host
from runners.engine.asking import jobs, minions

HOST, OSDS, CLUSTER = "daemons_purge.look", "osd_purge.look", "cluster_purge.look"
LIMIT = 300  # seconds for a host's answer: it reads its disks


@dataclass(frozen=True)
class Look:
    """What a look gave.

    fsid
        The cluster's that was typed.
    hosts
        What each host is told, as ``pillar.named`` has it; those that are left are not among them.
    left
        The hosts that are left as they are.
    seen
        ``daemons_purge.look``'s and ``osd_purge.look``'s answers of each host together, and ``cluster``, the fsid.
    disks, notes
        ``disks.sorted_out``'s of each host.
    against
        What stands against it, a line each.
    """

    fsid: str
    hosts: Mapping[str, Mapping]
    left: tuple[str, ...]
    seen: Mapping[str, Mapping[str, Any]]
    disks: Mapping[str, tuple[Disk, ...]]
    notes: Mapping[str, Sequence[str]]
    against: tuple[str, ...]

    def plan(self, wipe: bool) -> dict[str, list[told.Said]]:
        """What is said of each host: what would go, what stays."""
        return {
            minion: told.plan(host, self.seen[minion], self.disks[minion], self.notes[minion], wipe)
            for minion, host in sorted(self.hosts.items())
            if minion in self.seen
        }

    def lines(self, wipe: bool) -> list[str]:
        """The same for a person."""
        return [*told.lines(self.plan(wipe)), *by_host((minion, "left as it is") for minion in self.left)]


def keys(opts: Mapping) -> list[str]:
    """Return the hashes of all keys that the master has or had: by them hosts tell whose a keyring is."""
    held = key_store.held(site(opts))
    return sorted({*held.known.values(), *(each for listed in held.earlier.values() for each in listed)})


def at(opts: Mapping, fsid: str, despite: Collection[str], left: Collection[str]) -> Look:
    """Look at the cluster that is served.

    opts
        The master's options.
    fsid
        As typed; it is the one that is served.
    despite, left
        As typed: what is accepted, hosts that are left as they are.
    """
    paths = site(opts)
    now = named.hosts(served.contents(paths), named.hostnames(paths))
    hosts = named.merged(named.known(paths), now)
    managed = minions.ours(opts)
    asked = sorted(set(hosts) & set(managed))
    answers, problems = _hosts(opts, asked, hosts, fsid)
    silent = {problem.minion for problem in problems if problem.silent} | (set(hosts) - set(managed))
    lines = list(against.hosts(answers, fsid))
    lines += replies.lines(problem for problem in problems if not problem.silent)
    lines += against.left(left, hosts, silent)
    seen, why = _cluster(opts, [name for host in hosts.values() for name in _entities(host)])
    lines += against.cluster(seen, why, fsid, despite)
    found = {
        minion: disks.sorted_out(answer, fsid, set(hosts[minion]["osds"]) & set(now.get(minion, {"osds": ()})["osds"]))
        for minion, answer in answers.items()
    }
    return Look(
        fsid,
        {minion: host for minion, host in hosts.items() if minion not in left},
        tuple(sorted(left)),
        {minion: {**answer, "cluster": fsid} for minion, answer in answers.items()},
        {minion: listed for minion, (listed, _) in found.items()},
        {minion: notes for minion, (_, notes) in found.items()},
        tuple(lines),
    )


def said(hosts: Mapping[str, Mapping], asked: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return what hosts are told of themselves: their parts. OSDs they find by what lies there."""
    return {minion: {"parts": hosts[minion]["parts"]} for minion in asked}


def _hosts(
    opts: Mapping, asked: Sequence[str], hosts: Mapping[str, Mapping], fsid: str
) -> tuple[dict[str, dict], list[replies.Problem]]:
    held, osds = keys(opts), Question(OSDS, [fsid], dict)
    replied = replies.joined(
        [
            jobs.ask_several(opts, list(share), [Question(HOST, [fsid, share, held], dict), osds], LIMIT)
            for share in jobs.apart(said(hosts, asked))
        ]
    )
    answers = {minion: {**answer[OSDS], **answer[HOST]} for minion, answer in replied.answers.items()}
    return answers, replied.problems


def _cluster(opts: Mapping, own: Sequence[str]) -> tuple[dict[str, Any] | None, str]:
    """What the monitors say, or why they cannot be asked."""
    try:
        return jobs.cluster(opts, CLUSTER, [sorted(own)], dict), ""
    except ProposalError as err:
        return None, str(err)


def _entities(host: Mapping) -> list[str]:
    """The entities of a host's own daemons: a client's keyring (``clients``) is a client's."""
    daemons = [told for part, told in host["parts"].items() if part != "client-cephfs"]
    return [*(key for told in daemons for key in told.get("keys", ())), "client.crash"]
