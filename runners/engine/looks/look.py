"""What minions are now, in one job, and which of them the inventory does not show as they are now."""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import salt.cache

from proposals.files.site import site
from proposals.inventory import all_hosts, existing_cluster, inventory_join, kept
from proposals.stages.replies import Problem, together
from proposals.text.errors import ProposalError
from proposals.text.names import check_minion_id
from runners.engine.asking import jobs
from runners.engine.looks import early

TRACES = "host_ceph.inspect"  # what on a host tells of a cluster
QUESTIONS = (
    jobs.Question("disks.inspect"),
    jobs.Question("host_nics.inspect", kind=list),
    jobs.Question(TRACES),
    jobs.Question("grains.item", ["host", "mem_total", "boot_id"]),
)


class Looked(NamedTuple):
    """What a look at minions gave.

    ``hosts``: of the inventory; ``traces``: what tells of a cluster on each; ``problems``: of the minions that are in
    neither.
    """

    hosts: dict[str, dict]
    traces: dict[str, Mapping]
    problems: list[Problem]


def at(opts: Mapping, minions: Sequence[str], floating: Collection[str] = ()) -> Looked:
    """Ask minions, in one job, what they are; the running stage's first step has asked already, where it asks.

    opts
        The master's options.
    minions
        Their ids.
    floating
        Addresses of services, which move from host to host.
    """
    told = early.taken(opts, minions, TRACES)
    replies = together(told.replies, QUESTIONS) if told else jobs.ask_several(opts, minions, QUESTIONS)
    hosts, traces, problems = {}, {}, list(replies.problems)
    for minion, answer in replies.answers.items():
        try:
            hosts[check_minion_id(minion)] = _host(answer, floating)
            traces[minion] = existing_cluster.check(answer[TRACES])
        except ProposalError as err:
            hosts.pop(minion, None)
            problems.append(Problem(minion, str(err)))
    return Looked(hosts, traces, problems)


def _host(answer: Mapping[str, Any], floating: Collection[str]) -> dict:
    """One minion's answers as a host of the inventory. Raises InventoryError where they have another form."""
    grains = answer["grains.item"]
    memory = grains.get("mem_total")
    return inventory_join.host(
        answer["disks.inspect"],
        answer["host_nics.inspect"],
        str(grains.get("host")),
        memory * 2**20 if type(memory) is int else None,
        grains.get("boot_id") or None,
        floating,
        answer[TRACES].get("cipher", ""),  # modules from before prep do not tell it
    )


def stale(opts: Mapping, minions: Collection[str], hosts: Mapping[str, Mapping]) -> list[str]:
    """Return which of these minions the inventory does not show as they are now, one line for each reason.

    Nobody is asked: when discovery looked, and which boot it saw, stands in the inventory; which boot it is now in the
    grains that a minion sends when it starts.

    opts
        The master's options.
    minions
        Their ids.
    hosts
        Of the inventory.
    """
    cache = salt.cache.factory(opts)
    boots = {minion: (cache.fetch("grains", minion) or {}).get("boot_id") for minion in minions if minion in hosts}
    return all_hosts.stale(minions, hosts, boots, kept.looked(site(opts).inventory), time.time())
