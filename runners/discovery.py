"""``salt-run discovery.*``: look at the minions and store what they are."""

import datetime
import json
import time
import uuid

import salt.cache

from proposals import answer
from proposals.files import atomic, tree
from proposals.files.site import site
from proposals.inventory import existing_cluster, inventory_join, kept
from proposals.pillar import chosen
from proposals.policy import store
from proposals.services.radosgw import frontend
from proposals.services.table import roles
from proposals.settings import reader
from proposals.text import names as accepted
from proposals.text.errors import InventoryError, ProposalError, StoreError

JOB = ["disks.inspect", "host_nics.inspect", "host_ceph.inspect", "grains.item"]
ARGUMENTS = [[], [], [], ["host", "mem_total", "boot_id"]]
LOOKS = {
    "disks.inspect": ("disks", dict),
    "host_nics.inspect": ("network ports", list),
    "host_ceph.inspect": ("files of Ceph", dict),
    "grains.item": ("grains", dict),
}  # what each answers


@answer.answers
def collect(**_):
    """Ask every minion of ours, in one job, what it is; write ``inventory/`` and the fragments of ``proposals/``.

    A minion that does not answer keeps what was stored of it and is named.

    CLI Example:

    .. code-block:: bash

        salt-run discovery.collect
    """
    paths = site(__opts__)
    expected = __salt__["minions.ours"]()
    settings = reader.read(__salt__["minions.pillar"]() | chosen.own_settings(paths.root))
    hosts, traces = _look(expected, frontend.floating(settings))
    silent = sorted(set(expected) - set(hosts))
    if not hosts:
        return answer.bad(f"no minion answered, of {len(expected)} that are ours: look at 'salt-run manage.status'")
    stored = kept.load_inventory(paths.inventory)["hosts"] if paths.inventory.is_dir() else {}
    known = {minion: host for minion, host in stored.items() if minion in expected}
    fsid, messages = existing_cluster.cluster({**known, **hosts}, traces, _kept(paths).get("fsid"))
    asker = _asker(paths, traces, fsid)
    messages += _settle(hosts, fsid, asker)
    config = _settings(paths, {**known, **hosts}, fsid, traces, asker)
    written = _store(paths, known, hosts)
    messages += store.fragments(paths.proposals, sorted({**known, **hosts}), roles=roles(settings), **config)
    lines = [_line(minion, host) for minion, host in hosts.items()]
    lines.append(", ".join(f"{key} {value}" for key, value in _kept(paths).items()))
    lines += messages + [f"{minion}: does not answer; what was stored of it stays" for minion in silent]
    lines.append(f"inventory: {'stored ' + ', '.join(written) if written else 'nothing changed'}")
    return {"text": "\n".join(lines), "changes": {"inventory": written} if written else {}}


@answer.answers
def look(minions):
    """Return what minions are now, ``{minion: host}`` as in the inventory, and store nothing; the silent are left out.

    minions
        A list of minion ids.

    CLI Example:

    .. code-block:: bash

        salt-run discovery.look '[node1]' --out json
    """
    return _look(minions)[0]


@answer.answers
def stale(minions, hosts=None):
    """Return which of these minions the inventory does not tell of as they are now, one line for each reason.

    Nobody is asked: when discovery looked, and which boot it saw, stands in the inventory; which boot it is now in the
    grains that a minion sends when it starts.

    minions
        A list of minion ids.
    hosts
        Of the inventory, where they are read already.

    CLI Example:

    .. code-block:: bash

        salt-run discovery.stale '[node1, node2]'
    """
    folder = site(__opts__).inventory
    if hosts is None:
        hosts = kept.load_inventory(folder)["hosts"] if folder.is_dir() else {}
    cache = salt.cache.factory(__opts__)
    boots = {minion: (cache.fetch("grains", minion) or {}).get("boot_id") for minion in minions if minion in hosts}
    return inventory_join.stale(minions, hosts, boots, kept.looked(folder), time.time())


def _look(minions, floating=()):
    """Ask minions, in one job, what they are: hosts of the inventory, and what tells of a cluster on each."""
    answered = __salt__["minions.ask"](minions, JOB, ARGUMENTS)
    for function, (what, form) in LOOKS.items():
        wrong = [minion for minion, given in sorted(answered.items()) if not isinstance(given.get(function), form)]
        if wrong:
            said = accepted.shown(answered[wrong[0]].get(function), 300)
            raise ProposalError(
                f"{', '.join(wrong)}: cannot look at their {what}: {said}; "
                "has 'salt-run state.orch ceph.stage.prep' run?"
            )
    hosts = {accepted.check_minion_id(each): _host(each, given, floating) for each, given in sorted(answered.items())}
    return hosts, {minion: given["host_ceph.inspect"] for minion, given in answered.items()}


def _asker(paths, traces, fsid):
    """Who asks the cluster: the host with the role master, which we gave its key; before that, one that has it."""
    masters = __salt__["minions.members"]()["master"] if paths.current.is_dir() else []
    return next(
        (minion for minion in masters if traces.get(minion, {}).get("admin")), existing_cluster.asker(traces, fsid)
    )


def _settle(hosts, fsid, asker):
    """Ask a running cluster which OSDs it gave up, once; where that cannot be, it is said and all count as in use."""
    osds = [osd for host in hosts.values() for disk in host["ceph_disks"] for osd in disk["osds"]]
    if not osds:
        return []
    if asker is None:
        return ["which OSDs the cluster gave up cannot be told: no minion that answers holds the admin's key"]
    try:
        inventory_join.settle(hosts, __salt__["minions.one"](asker, "cluster_osds.states"), fsid)
    except ProposalError as err:
        return [f"which OSDs the cluster gave up cannot be told: {err}"]
    return []


def _host(minion, given, floating):
    """One minion's answers as a host of the inventory. Raises InventoryError where they have another form."""
    grains = given["grains.item"]
    memory = grains.get("mem_total")
    try:
        return inventory_join.host(
            given["disks.inspect"],
            given["host_nics.inspect"],
            grains["host"],
            memory * 2**20 if memory else None,
            grains.get("boot_id") or None,
            floating,
        )
    except (AttributeError, KeyError, TypeError) as err:
        raise InventoryError(f"{minion}: its answer is not of the form expected ({err}): run ceph.stage.prep") from err


def _store(paths, known, hosts):
    """Write what changed, with the time of that change; a file's own time is that of the last look."""
    written = []
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    for minion, host in hosts.items():
        before = {key: value for key, value in known.get(minion, {}).items() if key != "time"}
        if before != host:
            atomic.write(paths.inventory / f"{minion}.json", json.dumps({**host, "time": now}, indent=1) + "\n")
            written.append(minion)
        else:
            atomic.touch(paths.inventory / f"{minion}.json")
    return written


def _settings(paths, hosts, fsid, traces, asker):
    """What the config fragments say: an existing cluster's fsid and networks, else what the hosts' addresses tell."""
    master = next((minion for minion in hosts if minion == __opts__["id"].removesuffix("_master")), None)
    networks = existing_cluster.networks(traces, fsid)
    if networks is None and asker and not _kept(paths):
        networks = existing_cluster.configured(__salt__["minions.one"](asker, "cluster_cli.ask", [["config", "dump"]]))
    return {
        "fsid": fsid or str(uuid.uuid4()),
        "networks": networks or inventory_join.networks(hosts, master),
        "time_server": master,
    }


def _kept(paths):
    """What discovery kept of the cluster when it first ran: fsid and networks; empty before that."""
    path = paths.proposals / "config/stack/default/ceph/cluster.yml"
    kept = tree.read_yaml(path) if path.exists() else {}
    if not isinstance(kept, dict):
        raise StoreError(
            f"{path} is not a mapping: expected lines such as 'fsid: UUID'; move it away and run this again"
        )
    return kept


def _line(minion, host):
    free = sum(1 for disk in host["ceph_disks"] if not disk["in_use"] and not disk["osds"])
    return f"{minion}: {len(host['ceph_disks'])} disks, {free} free; {', '.join(host['addresses'])}"
