"""The master's keys beside those that hosts hold: before configure makes any, and before deploy hands them out."""

from collections.abc import Collection, Mapping
from typing import Any

from proposals.files.site import Site, site
from proposals.inventory import existing_cluster
from proposals.pillar import held, key_store
from proposals.pillar.generation import Generation
from proposals.stages import replies
from proposals.stages.replies import Question
from proposals.text.errors import PolicyError
from proposals.text.notes import several
from proposals.validation import check, subject
from proposals.validation import keys as rows
from runners.engine.asking import jobs, minions
from runners.engine.looks import early

ASKED = "host_keys.inspect"
QUESTION = Question(ASKED, [False])  # without the monitors: nobody waits for one that hangs
Found = Mapping[str, held.Held]


def look(opts: Mapping, asked: Collection[str]) -> tuple[Found, list[replies.Problem]]:
    """Return what minions hold, by hash, and the problems of those of which that is not known: as the running stage's
    first step was told, or as they say now.

    opts
        The master's options.
    asked
        Their ids.
    """
    told = early.taken(opts, asked, ASKED)
    return read(told.replies[ASKED] if told else jobs.ask(opts, asked, ASKED, QUESTION.arguments))


def read(replied: replies.Replies) -> tuple[Found, list[replies.Problem]]:
    """Return what minions hold as they replied, and the problems of those of which that is not known."""
    told = replies.read(replied, held.check)
    return told.answers, told.problems


def of_cluster(opts: Mapping, name: str) -> set[str] | None:
    """Return the hashes of an entity's key as monitors know it, more than one where they differ; empty where they have
    none. None where none of them says so.
    """
    told, _ = read(jobs.ask(opts, minions.members(opts)["mon"], ASKED, [True]))
    answered = [places for places in told.values() if held.MONITORS in places]
    if not answered:
        return None
    # `mon.` itself is in their stores, and not among what they list
    keyrings = [
        keys for places in answered for place, keys in places.items() if name == "mon." or place == held.MONITORS
    ]
    return {keys[name] for keys in keyrings if name in keys}


def beside(opts: Mapping, found: Found) -> dict[str, Any]:
    """Return what the check of keys looks at, as ``Subject`` takes it: what hosts hold, and the master's."""
    paths = site(opts)
    return {"held": found, "keys": key_store.held(paths), "keys_file": str(paths.keys)}


def refuse(opts: Mapping, built: Generation, hosts: Mapping[str, Mapping], fsid: str) -> list[str]:
    """Raise PolicyError where a generation's hosts hold keys of a cluster that the master has not; before anything is
    written. Return a line for each host that answered, and of which that is not known.

    Fresh keys are made only for a cluster that does not exist: then the hosts of its monitors must have answered, and
    no host may have an OSD of it.

    opts
        The master's options.
    built
        The generation.
    hosts
        Of the inventory.
    fsid
        The cluster's.
    """
    by_minion, failed = look(opts, built.roles)
    about = subject.Subject(built.roles, {}, {}, **beside(opts, by_minion))
    if findings := check.run(rows.CHECKS, about):
        raise PolicyError(f"nothing was changed:\n{check.text(findings, 'keys')}")
    if not set(held.CORE) <= about.keys.known.keys():
        _fresh(site(opts), set(built.members["mon"]) - by_minion.keys(), failed, hosts, fsid)
    return replies.lines(problem for problem in failed if not problem.silent)


def _fresh(
    paths: Site, unseen: Collection[str], failed: list[replies.Problem], hosts: Mapping[str, Mapping], fsid: str
) -> None:
    """Refuse to make fresh keys for a cluster that exists, or may."""
    if osds := sorted(minion for minion, host in hosts.items() if existing_cluster.carries(host, fsid)):
        raise PolicyError(
            f"nothing was changed: {several(osds)}: OSDs of cluster {fsid} are there, and the master has no keys of "
            f"it: put {paths.keys} back, as root only, from a copy of the master that deployed it; where that cluster "
            "is gone for good, wipe its disks (disk.wipe) and run discovery again"
        )
    if unseen:
        told = replies.lines(problem for problem in failed if problem.minion in unseen)
        raise PolicyError(
            "nothing was changed: the master has no keys yet, and makes them only when every monitor's host has said "
            "that there is no cluster:\n" + "\n".join(told)
        )
