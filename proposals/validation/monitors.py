"""Checks of monitors: new ones are made for a cluster that does not exist, or join the one that does."""

from collections.abc import Iterable

from proposals.validation.check import ERROR, HOSTS, Check, Found, at
from proposals.validation.subject import Subject


def first_monitors(subject: Subject) -> Iterable[Found]:
    """Monitors' hosts, and the master's, that take no part in a first deploy."""
    needed = subject.members("mon", "master") if subject.first() else ()
    yield from (at(minion, why=subject.away[minion]) for minion in needed if minion in subject.away)


def monitors_lost(subject: Subject) -> Iterable[Found]:
    """Hosts with OSDs of a cluster of which no host has a monitor any more, as far as all were to have one answer."""
    osds = _with_osds(subject)
    if subject.first() and set(subject.members("mon")) <= subject.hosts.keys() and osds:
        yield at(*osds)


def monitors_many(subject: Subject) -> Iterable[Found]:
    """New monitors that are a majority of all planned ones, beside a cluster: they would hold a quorum without those
    that know its data, and begin an empty cluster with its name and keys.

    Fewer than a majority, one after the other, would come to the same: see ``monitors_alone``.
    """
    new, planned = _new_monitors(subject), len(subject.members("mon"))
    if len(new) > planned // 2:
        yield at(*new, planned=planned, stores=", ".join(subject.stores))


def monitors_alone(subject: Subject) -> Iterable[Found]:
    """New monitors beside a cluster whose own are in no quorum, so that there is none that they could join."""
    new = _new_monitors(subject)
    if new and not any(subject.answered[minion].monitor_quorum for minion in subject.stores):
        yield at(*new, stores=", ".join(subject.stores))


def _new_monitors(subject: Subject) -> list[str]:
    """The hosts that take part and would get a monitor, beside a cluster; none in a first deploy.

    A first deploy that was interrupted has stores on hosts of monitors alone, and no OSD yet.
    """
    planned, stores = subject.members("mon"), subject.stores
    begun = stores and (_with_osds(subject) or set(stores) - set(planned))
    return [minion for minion in planned if begun and minion in subject.hosts and minion not in stores]


def _with_osds(subject: Subject) -> list[str]:
    """The hosts with OSDs of the cluster, also of those that were made since discovery looked: they say so now."""
    return sorted({*subject.carrying, *(minion for minion, facts in subject.answered.items() if facts.osds)})


CHECKS = (
    Check(
        *("first_monitors", ERROR, HOSTS, "a first deploy reaches every monitor's host, and the master's"),
        "{why}; no monitor has a store yet, and a first deploy needs the hosts of all monitors and the master's",
        "start its salt-minion and deploy without only=, or take its role out of policy.cfg and run configure",
        first_monitors,
    ),
    Check(
        *("monitors_lost", ERROR, HOSTS, "monitors are made anew only for a cluster that does not exist"),
        "OSDs of this cluster are there, and no host of policy.cfg has a monitor's store: monitors that are made anew "
        "know none of these OSDs",
        "give the role mon to a host that has the store, or put it back (/var/lib/ceph/mon there). Where all are lost, "
        "Ceph rebuilds one from its OSDs: wipe none of them. A cluster that is gone for good: wipe its disks "
        "('salt-run disk.wipe'), move the folders in /var/lib/ceph/osd there away and run ceph.stage.discovery",
        monitors_lost,
        "docs.ceph.com, rados/troubleshooting/troubleshooting-mon (recovery using OSDs)",
    ),
    Check(
        *("monitors_many", ERROR, HOSTS, "new monitors beside a cluster are fewer than a majority"),
        "would get a new monitor, a majority of {planned} in all: without {stores}, where stores are, they would be an "
        "empty cluster of their own",
        "move monitors one after the other: leave role-mon where stores are, add a host, run ceph.stage.configure and "
        "ceph.stage.deploy, then take an old one out (ceph.stage.removal). Where stores were lost, bring the others "
        "into quorum first",
        monitors_many,
        "docs.ceph.com, rados/operations/add-or-rm-mons",
    ),
    Check(
        *("monitors_alone", ERROR, HOSTS, "new monitors join the quorum of those that are there"),
        "would get a new monitor, and none of those that are there ({stores}) is in a quorum: there is none to join",
        "bring those into quorum first: 'systemctl status ceph-mon@*' there, clocks, network. Where the stores of a "
        "majority are lost, take these out of the monitor map of one that is left, as Ceph's documentation says",
        monitors_alone,
        "docs.ceph.com, rados/operations/add-or-rm-mons (removing monitors from an unhealthy cluster)",
    ),
)
