"""``salt-run discovery.*``: look at the minions and store what they are."""

import datetime
import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from proposals.files import atomic, site, tree
from proposals.inventory import all_hosts, existing_cluster, kept
from proposals.inventory.disk import parse
from proposals.inventory.paths import joined
from proposals.pillar import chosen, retiring
from proposals.policy import merging, store
from proposals.services import table
from proposals.services.radosgw import frontend
from proposals.settings import reader
from proposals.settings.cluster import NETWORKS
from proposals.stages import replies
from proposals.text.errors import ProposalError, StoreError
from proposals.text.notes import FEW, by_host, several
from runners.engine import answer
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.looks import look

Hosts = dict[str, dict]
STAYS = "what was stored of it stays"


@answer.answers
def collect(**_: Any) -> dict[str, Any]:
    """Ask every minion of ours, in one job, what it is; write ``inventory/`` and the fragments of ``proposals/``.

    A minion that does not answer keeps what was stored of it and is named.

    CLI Example:

    .. code-block:: bash

        salt-run discovery.collect
    """
    paths = site.site(__opts__)
    expected = minions.ours(__opts__)
    settings = reader.read(merging.merge([minions.pillar(__opts__), chosen.own_settings(paths.root)]))
    looked = taking_part.among(__opts__, expected)
    hosts, traces, problems = look.at(__opts__, looked, frontend.floating(settings))
    problems += [replies.Problem(minion, replies.SILENT, True) for minion in taking_part.left(__opts__)]
    if not hosts:
        text = f"no minion can be looked at, of {len(looked)} that are asked: see 'salt-run manage.status'"
        return answer.bad("\n".join([text, *replies.lines(problems)]))
    stored = kept.stored(paths.inventory, expected, hosts)
    everyone = {**stored, **hosts}
    fsid, messages = existing_cluster.cluster(everyone, traces, _kept(paths).get("fsid"), retiring.fsids(paths))
    asker = _asker(paths, traces, fsid, looked)
    messages += _settle(hosts, fsid, asker)
    config = _settings(paths, everyone, fsid, traces, asker, settings)
    written = _store(paths, stored, hosts)
    messages += store.fragments(paths.proposals, sorted(everyone), roles=table.roles(settings), **config)
    lines = _lines(hosts)
    lines.append(", ".join(f"{key} {value}" for key, value in _kept(paths).items()))
    lines += [*messages, *(f"{line}; {STAYS}" for line in replies.lines(problems))]
    lines.append(f"inventory: {'stored ' + several(written, most=FEW) if written else 'nothing changed'}")
    warnings = replies.findings((problem for problem in problems if not problem.silent), STAYS)  # silent: left out
    told = {"text": "\n".join(lines), "changes": {"inventory": written} if written else {}}
    return {**told, **({"findings": warnings} if warnings else {})}


@answer.answers
def stale(asked: Sequence[str] | None = None) -> list[str]:
    """Return which of these minions the inventory does not show as they are now, one line for each reason.

    Nobody is asked: when discovery looked, and which boot it saw, stands in the inventory; which boot it is now in the
    grains that a minion sends when it starts.

    asked
        A list of minion ids; without it, every minion of ours.

    CLI Example:

    .. code-block:: bash

        salt-run discovery.stale '[node1, node2]'
    """
    folder = site.site(__opts__).inventory
    hosts = kept.load_inventory(folder)["hosts"] if folder.is_dir() else {}
    return look.stale(__opts__, minions.ours(__opts__) if asked is None else asked, hosts)


def _asker(paths: site.Site, traces: Mapping[str, Mapping], fsid: str | None, looked: Collection[str]) -> str | None:
    """Who asks the cluster: the host with the role master, which we gave its key; before that, one that has it."""
    masters = minions.members(__opts__)["master"] if paths.current.is_dir() else []
    may = [minion for minion in masters if minion not in looked or traces.get(minion, {}).get("admin")]
    return next(iter(may), existing_cluster.asker(traces, fsid))


def _settle(hosts: Hosts, fsid: str | None, asker: str | None) -> list[str]:
    """Ask a running cluster, once, which OSDs are destroyed; where it cannot be asked, all count as in use."""
    osds = [osd for host in hosts.values() for disk in host["ceph_disks"] for osd in disk["osds"]]
    if not osds:
        return []
    if asker is None:
        return [
            "no minion that answers holds the admin's key: which OSDs are destroyed is not known, all count as in use"
        ]
    try:
        all_hosts.settle(hosts, jobs.one(__opts__, asker, "cluster_osds.states", kind=list), fsid)
    except ProposalError as err:
        return [f"which OSDs are destroyed is not known, all count as in use: {err}"]
    return []


def _store(paths: site.Site, stored: Hosts, hosts: Hosts) -> list[str]:
    """Write what changed, with the time of that change; a file's own time is that of the last look."""
    written = []
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    for minion, host in hosts.items():
        before = {key: value for key, value in stored.get(minion, {}).items() if key != "time"}
        if before != host:
            atomic.write(paths.inventory / f"{minion}.json", json.dumps({**host, "time": now}, indent=1) + "\n")
            written.append(minion)
        else:
            atomic.touch(paths.inventory / f"{minion}.json")
    return written


def _settings(
    paths: site.Site,
    hosts: Hosts,
    fsid: str | None,
    traces: Mapping[str, Mapping],
    asker: str | None,
    settings: reader.SiteSettings,
) -> dict[str, Any]:
    """What the config fragments say: an existing cluster's fsid and networks, else what the hosts' addresses tell."""
    master = minions.master(__opts__)
    here = master if master in hosts else None
    known = {key: settings[key] or _kept(paths).get(key) for key in NETWORKS}
    networks = existing_cluster.networks(traces, fsid)
    if networks is None and asker and not _kept(paths):
        networks = existing_cluster.configured(jobs.one(__opts__, asker, "cluster_cli.ask", [["config", "dump"]]))
    return {
        "fsid": fsid or str(uuid.uuid4()),
        "networks": networks or all_hosts.networks(hosts, here, known),
        "time_server": here,
    }


def _kept(paths: site.Site) -> dict[str, Any]:
    """What discovery kept of the cluster when it first ran: fsid and networks; empty before that."""
    path = paths.proposals / "config/stack/default/ceph/cluster.yml"
    kept = tree.read_yaml(path) if path.exists() else {}
    if not isinstance(kept, dict):
        raise StoreError(
            f"{path} is not a mapping: expected lines such as 'fsid: UUID'; move it away and run this again"
        )
    return kept


def _lines(hosts: Hosts) -> list[str]:
    """What was seen of each host; of many without their addresses, which all differ."""
    told = []
    for minion, host in hosts.items():
        disks = joined(tuple(map(parse, host["ceph_disks"])))
        free = sum(1 for disk in disks if not disk.reason and not disk.residents)
        addresses = f"; {', '.join(host['addresses'])}" if len(hosts) <= FEW else ""
        told.append((minion, f"{len(host['ceph_disks'])} disks, {free} free{addresses}"))
    return by_host(told)
