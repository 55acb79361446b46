"""``salt-run discovery.*``: look at the minions and store what they are."""

import datetime
import json
import uuid

from proposals import answer, discovery, store
from proposals import names as accepted
from proposals.errors import InventoryError, ProposalError
from proposals.site import site

JOB = ["disks.inspect", "nics.inspect", "grains.item"]
ARGUMENTS = [[], [], ["host", "mem_total", "boot_id"]]
LOOKS = {
    "disks.inspect": ("disks", dict),
    "nics.inspect": ("network ports", list),
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
    answered = __salt__["minions.ask"](expected, JOB, ARGUMENTS)
    for function, (what, form) in LOOKS.items():
        wrong = [minion for minion, given in sorted(answered.items()) if not isinstance(given.get(function), form)]
        if wrong:
            said = accepted.shown(answered[wrong[0]].get(function), 300)
            return answer.bad(
                f"{', '.join(wrong)}: cannot look at their {what}: {said}; "
                "has 'salt-run state.orch ceph.stage.prep' run?"
            )
    hosts = {accepted.check_minion_id(minion): _host(minion, given) for minion, given in sorted(answered.items())}
    silent = sorted(set(expected) - set(hosts))
    if not hosts:
        return answer.bad(f"no minion answered, of {len(expected)} that are ours: look at 'salt-run manage.status'")
    known = store.load_inventory(paths.inventory)["hosts"] if paths.inventory.is_dir() else {}
    fsid = discovery.cluster({**known, **hosts})
    said = _settle(paths, hosts, fsid)
    written = _store(paths, known, hosts)
    messages = _fragments(paths, {**known, **hosts}, fsid)
    lines = [_line(minion, host) for minion, host in hosts.items()] + messages + said
    lines += [f"{minion}: does not answer; what was stored of it stays" for minion in silent]
    lines.append(f"inventory: {'stored ' + ', '.join(written) if written else 'nothing changed'}")
    return {"text": "\n".join(lines), "changes": {"inventory": written} if written else {}}


def _settle(paths, hosts, fsid):
    """Ask the cluster which OSDs it gave up, once there is one; what cannot be asked is said and changes nothing."""
    if not paths.current.is_dir() or not any(disk["osds"] for host in hosts.values() for disk in host["ceph_disks"]):
        return []
    try:
        discovery.settle(hosts, __salt__["minions.cluster"]("osd_map.states"), fsid)
    except ProposalError as err:
        return [f"which OSDs were given up cannot be told: {err}"]
    return []


def _host(minion, given):
    """One minion's answers as a host of the inventory. Raises InventoryError where they have another form."""
    grains = given["grains.item"]
    memory = grains.get("mem_total")
    try:
        return discovery.host(
            given["disks.inspect"],
            given["nics.inspect"],
            grains["host"],
            memory * 2**20 if memory else None,
            grains.get("boot_id") or None,
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
            store.write(paths.inventory / f"{minion}.json", json.dumps({**host, "time": now}, indent=1) + "\n")
            written.append(minion)
        else:
            store.touch(paths.inventory / f"{minion}.json")
    return written


def _fragments(paths, hosts, fsid):
    """The fragments that policy.cfg chooses from; the fsid is made here, once."""
    master = next((minion for minion in hosts if minion == __opts__["id"].removesuffix("_master")), None)
    return store.fragments(
        paths.proposals,
        sorted(hosts),
        fsid=_fsid(paths, fsid),
        networks=discovery.networks(hosts, master),
        time_server=master,
    )


def _fsid(paths, found):
    """The cluster's fsid: the one that was kept, else the one that disks carry, else a new one."""
    kept = paths.proposals / "config/stack/default/ceph/cluster.yml"
    known = store.read_yaml(kept).get("fsid") if kept.exists() else None
    if known and found and known != found:
        raise InventoryError(
            f"disks carry OSDs of cluster {found}, {kept} has fsid {known}: expected the same. If the disks' cluster "
            "is the one to keep, move that file away; if not, wipe its disks"
        )
    return known or found or str(uuid.uuid4())


def _line(minion, host):
    free = sum(1 for disk in host["ceph_disks"] if not disk["in_use"] and not disk["osds"])
    return f"{minion}: {len(host['ceph_disks'])} disks, {free} free; {', '.join(host['addresses'])}"
