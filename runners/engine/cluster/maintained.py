"""Hosts in maintenance: who is, and whether the cluster and its clients can do without another one."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from proposals.cluster import maintained
from proposals.cluster.maintained import Record
from proposals.files.site import site
from proposals.pillar import named, served
from proposals.stages.replies import Question, Replies, lines
from proposals.text.errors import PolicyError, ProposalError
from runners.engine.asking import jobs, minions
from runners.engine.cluster import daemon_restart, health, spared
from runners.engine.looks import stage_look
from runners.engine.runs import one_at_a_time
from runners.engine.waiting import until_none

ASKED = stage_look.MAINTAINED
BY_MONITOR = "cluster_maintenance.hosts_by_monitor"
HANGS = "no monitor answered"  # salt/_utils/halocline.py, of a cluster that is there
UNKNOWN = "pgs have unknown state"  # Ceph's no where it cannot tell yet (src/mgr/DaemonServer.cc)
PAUSE = 2  # seconds
NO_CONF = "error calling conf_read_file"  # librados, on a host without ceph.conf: no cluster was deployed yet


@dataclass(frozen=True)
class Look:
    """A host, and all that is planned: ``hosts`` as ``pillar.named`` has them, ``records`` by host name."""

    minion: str
    hosts: Mapping[str, Mapping]
    records: Mapping[str, Record]

    @property
    def hostname(self) -> str:
        """The host's name, as CRUSH and the monitors have it."""
        return str(self.hosts[self.minion]["hostname"])

    @property
    def record(self) -> Record | None:
        """What is kept of it, where it is in maintenance."""
        return self.records.get(self.hostname)

    @property
    def gateways(self) -> list[str]:
        """The object gateways' names on it."""
        return list(self.hosts[self.minion]["parts"].get("rgw", {}).get("daemons", ()))

    @property
    def alertmanagers(self) -> list[str]:
        """The hosts with an Alertmanager, itself last."""
        own = [self.minion] if "alertmanager" in self.hosts[self.minion]["parts"] else []
        return [*self.having("alertmanager"), *own]

    def having(self, part: str) -> list[str]:
        """The other hosts with a part that are not in maintenance."""
        away = {record.minion for record in self.records.values()} | {self.minion}
        return sorted(minion for minion, host in self.hosts.items() if part in host["parts"] and minion not in away)


def at(opts: Mapping, host: object) -> Look:
    """Look at a host. Raises ProposalError where there is none of that name, or the cluster does not answer."""
    paths = site(opts)
    minions.members(opts)  # says so where nothing is configured yet
    hosts = named.hosts(served.contents(paths), named.hostnames(paths))
    kept = records(opts)
    if taken_out := {record.minion for record in kept.values()} - hosts.keys():  # of policy.cfg, since it began
        hosts |= {minion: had for minion, had in named.known(paths).items() if minion in taken_out}
    return Look(maintained.chosen(host, hosts), hosts, kept)


@contextmanager
def held(opts: Mapping, look: Look, command: str) -> Iterator[Look]:
    """Be the one command on a host's way into maintenance or out of it; look again at what is kept. Raises Busy."""
    with one_at_a_time.alone(opts, command, f"maintenance-{look.hostname}"):
        yield replace(look, records=records(opts))


def records(opts: Mapping) -> dict[str, Record]:
    """Return what the cluster keeps of hosts in maintenance, by host name. Raises ProposalError."""
    return maintained.read(jobs.cluster(opts, ASKED, kind=dict))


def records_by_any_key(opts: Mapping) -> dict[str, Record]:
    """Return the same, by the key of a monitor where the admin's is not there or not known any more. ProposalError of
    the admin's where no monitor in a quorum answers either.
    """
    try:
        return records(opts)
    except ProposalError:
        told = jobs.ask(opts, minions.members(opts)["mon"], BY_MONITOR).answers
        if not told:
            raise
        return maintained.read(next(iter(told.values())))


def questions(opts: Mapping) -> list[Question]:
    """Return what a job to many hosts asks for ``known``, of that one alone that asks the cluster; nothing before
    anything is configured.
    """
    try:
        return [Question(ASKED, [minions.members(opts)["master"][0]])]
    except PolicyError:
        return []


def known(opts: Mapping, replies: Mapping[str, Replies]) -> tuple[list[Record] | None, str]:
    """Return the hosts in maintenance for a stage that begins, None where the cluster does not say or is not there yet;
    and what is said where one is there.

    opts
        The master's options.
    replies
        By function, with those to ``questions`` or of a look at the cluster where that was asked.

    Raises InventoryError for a record of another form.
    """
    together = replies.get(stage_look.TOGETHER)
    told = stage_look.part(together, ASKED) if together else replies.get(ASKED)
    asker = minions.members(opts)["master"][0] if told else ""
    if told is None or asker in told.of([asker]).silent:
        return None, ""
    kept, failed = told.answers.get(asker, {}), told.of([asker]).failed
    try:
        if failed and HANGS in failed[0].text:
            raise ProposalError(lines(failed)[0])
        if failed and NO_CONF in failed[0].text:
            return None, ""
        if failed:  # a module from before an upgrade takes no argument
            kept = jobs.one(opts, asker, ASKED, kind=dict)
    except ProposalError as err:  # before the first deploy nobody has a key to ask by
        return None, f"which hosts are in maintenance is not known: {err}" if HANGS in str(err) else ""
    return list(maintained.read(kept).values()), ""


def against(opts: Mapping, look: Look, without: Collection[str]) -> list[str]:
    """Return what stands against a host's maintenance whatever data moves: roles that no other host has now.

    without
        Parts that clients can do without.
    """
    if look.minion in minions.members(opts)["master"]:
        return [f"{look.minion} asks the cluster for all stages (role master): it cannot be left out of them"]
    own = list(maintained.services(look.hosts[look.minion]["parts"], look.hostname))
    others = {minion for service in own for minion in look.having(service.part)}
    asked = jobs.ask(opts, sorted(others), "host_services.running") if others else Replies({}, [])
    running = {
        service.name
        for minion, told in asked.answers.items()
        for service in maintained.services(look.hosts[minion]["parts"], str(look.hosts[minion]["hostname"]))
        if service.unit in told["units"]
    }
    known = jobs.cluster(opts, "cluster_maintenance.managers", kind=dict)
    return [*maintained.managers(look.hostname, known["running"]), *maintained.alone(own, running, without)]


def refusals(opts: Mapping, look: Look, without: Collection[str]) -> list[str]:
    """Return why the cluster needs a host's monitor, OSDs and metadata servers now, in Ceph's words."""
    refused = spared.refused(opts, look.hostname, minions.members(opts)["master"][0])
    if "mds" in without:
        return refused
    # By what would stop there: a cluster that others made may call a server otherwise than its host.
    units = jobs.one(opts, look.minion, "daemons_maintenance.units", kind=dict)
    names = {f"mds.{unit.removesuffix('.service').partition('@')[2]}" for unit in units if unit.startswith("ceph-mds@")}
    servers = sorted(names & health.look(opts).running)
    return [*refused, *(daemon_restart.refusals(opts, "mds", servers) if servers else [])]


def needed(opts: Mapping, look: Look, without: Collection[str]) -> list[str]:
    """Return ``refusals``, once Ceph knows: of a pool that was just made, or after another manager has become active,
    it does not for some seconds.
    """
    refused: list[str] = []

    def unknown() -> bool:
        refused[:] = refusals(opts, look, without)
        return any(UNKNOWN in line for line in refused)

    until_none(unknown, health.SETTLE, PAUSE)
    return refused
