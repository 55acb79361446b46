"""Whether the running cluster can do without a host, ``noout`` for that host, and which hosts are in maintenance."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import halocline_monitors
from salt.exceptions import CommandExecutionError

CONNECT = 10  # seconds to find a monitor: where all are down, deploy is about to start them
FLAG = "noout"
HERE = [["osd", "tree"], ["osd", "metadata"], ["osd", "dump"]]
NOTE = "halocline/noout"  # in the monitors' key store: the hosts, and OSDs, whose noout is ours to take away
DRAINED = "halocline/drained"  # beside it: the gateways that are out of their balancer for a moment
RECORDS = "halocline/maintenance/"  # beside it: a record for each host in maintenance, under its host name


def begin(host: str) -> list[int]:
    """Set ``noout`` for a host, and keep that it is ours; return the host's OSDs. Without any, nothing is set.

    One that somebody else has set before stays theirs: ``end`` leaves it.

    host
        The host's name, as the monitors have it; CRUSH may call it otherwise.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.begin node1
    """
    (osds, names), before = _here(host), noted()
    if ours := _ours(names, before):
        __salt__["cluster_cli.tell"](["config-key", "set", NOTE, " ".join(sorted({*before, *ours}))])
        __salt__["cluster_cli.tell"](["osd", "set-group", FLAG, *ours])
    return sorted(osds)


def end() -> list[str]:
    """Take away the ``noout`` that ``begin`` has set, of an interrupted run too; return for what, empty for none.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.end
    """
    there = noted()
    if not there:
        return []
    held = {name for host, record in hosts().items() for name in _held(host, record)}  # until maintenance.end
    _unset(set(there) - held)
    __salt__["cluster_cli.tell"](["config-key", "rm", NOTE])
    return there


def noted() -> list[str]:
    """Return for what ``begin`` has set a ``noout`` that nobody took away: hosts, and OSDs that CRUSH has elsewhere
    (``osd.3``); empty for none.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.noted
    """
    return (__salt__["cluster_cli.kept"](NOTE) or "").split()


def hosts(asker: str | None = None) -> dict[str, Any]:
    """Return the record of each host in maintenance, by host name, as ``note`` has kept it.

    asker
        In a job to many hosts: the minion that asks the cluster; every other one answers nothing.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.hosts
    """
    if asker is not None and asker != __opts__["id"]:
        return {}
    return _records(__salt__["cluster_cli.ask"](["config-key", "dump", RECORDS]))


def hosts_by_monitor() -> dict[str, Any]:
    """Return the same on a monitor's host, asked in the monitor's name: the admin's key may be lost.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' cluster_maintenance.hosts_by_monitor
    """
    client = halocline_monitors.monitor(__grains__["host"], connect=CONNECT)
    return _records(halocline_monitors.ask([["config-key", "dump", RECORDS]], client)[0])


def note(host: str, record: Mapping) -> bool:
    """Keep in the monitors that a host is in maintenance, and how far: before anything is changed. No secret is in it.

    host
        As for ``begin``.
    record
        Of JSON's types (``proposals/cluster/maintained.py``).

    CLI Example: for ``salt-run maintenance.begin``.
    """
    text = json.dumps(record, separators=(",", ":"), sort_keys=True)
    __salt__["cluster_cli.tell"](["config-key", "set", f"{RECORDS}{host}", "-i", "-"], stdin=text)
    return True


def claim(host: str) -> list[str]:
    """Set ``noout`` for a host that is in maintenance; return for what, which is in its record before.

    It is empty for a host without OSDs, and where somebody else has set it before: ``forget`` leaves theirs.

    CLI Example: for ``salt-run maintenance.begin``.
    """
    record = hosts().get(host)
    if record is None:
        raise CommandExecutionError(f"{host} is not in maintenance: nobody would take its noout away")
    held = set(_held(host, record))
    if ours := _ours(_here(host)[1], {*held, *noted()}):
        held.update(ours)
        note(host, {**record, "noout": sorted(held)})
        __salt__["cluster_cli.tell"](["osd", "set-group", FLAG, *ours])
    return sorted(held)


def forget(host: str) -> bool:
    """Take the ``noout`` away that ``claim`` has set for a host, then the record of its maintenance.

    CLI Example: for ``salt-run maintenance.end``.
    """
    if (record := hosts().get(host)) is not None:
        _unset(_held(host, record))
        __salt__["cluster_cli.tell"](["config-key", "rm", f"{RECORDS}{host}"])
    return True


def drains(names: Sequence[str]) -> bool:
    """Keep which gateways are taken out of their balancer, before they are; without names, forget it.

    CLI Example: for ``ceph.stage.restart``.
    """
    if names:
        __salt__["cluster_cli.tell"](["config-key", "set", DRAINED, " ".join(names)])
    elif __salt__["cluster_cli.kept"](DRAINED) is not None:
        __salt__["cluster_cli.tell"](["config-key", "rm", DRAINED])
    return True


def drained() -> list[str]:
    """Return the gateways that are out of their balancer, also since an interrupted run; empty for none.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.drained
    """
    return (__salt__["cluster_cli.kept"](DRAINED) or "").split()


def needed(host: str) -> list[str]:
    """Return why the cluster needs a host's daemons now, in Ceph's words (``ok-to-stop``); empty where it does not.

    Flags of somebody's by which its OSDs are not to stop (``cluster_health.held``) are among it. What is down already
    is not asked of: the cluster does without it, however little is left.

    host
        As for ``begin``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.needed node1
    """
    quorum = __salt__["cluster_cli.ask"](["quorum_status"])["quorum_names"]
    questions = [["mon", "ok-to-stop", host]] if host in quorum else []
    running = sorted(osd for osd, up in _here(host)[0].items() if up)
    questions += [["osd", "ok-to-stop", *map(str, running)]] if running else []
    refused = [why for words in questions if (why := __salt__["cluster_cli.refused"](words))]
    return refused + (__salt__["cluster_health.held"](running) if running else [])


def managers() -> dict[str, Any]:
    """Return ``{active, available, running}``: the active manager, whether it answers, and all that run.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.managers
    """
    dump = __salt__["cluster_cli.ask"](["mgr", "dump"])
    running = [dump["active_name"], *(standby["name"] for standby in dump["standbys"])]
    return {"active": dump["active_name"], "available": dump["available"], "running": sorted(filter(None, running))}


def _records(kept: Mapping[str, str]) -> dict[str, Any]:
    return {key.removeprefix(RECORDS): json.loads(text) for key, text in kept.items()}


def _held(host: str, record: Mapping) -> Sequence[str]:
    """For what a host's maintenance has set ``noout``; older records do not say it: for the host."""
    return record.get("noout", [host])


def _ours(names: Sequence[str], before: Collection[str]) -> list[str]:
    """Of what is to have ``noout``: what is ours since before, and what has none yet; the rest is somebody else's."""
    flagged = _flagged()
    return [name for name in names if name in before or name not in flagged]


def _unset(names: Collection[str]) -> None:
    """Take ``noout`` away from what has it yet; what is gone meanwhile would be an error."""
    if names and (left := sorted(_flagged().intersection(names))):
        __salt__["cluster_cli.tell"](["osd", "unset-group", FLAG, *left])


def _flagged() -> set[str]:
    """What has a ``noout`` of its own, by its name: in the CRUSH map, or an OSD's."""
    dump = __salt__["cluster_cli.ask"](["osd", "dump"])
    named = {name for name, flags in dump.get("crush_node_flags", {}).items() if FLAG in flags}
    return named | {f"osd.{osd['osd']}" for osd in dump["osds"] if FLAG in osd["state"]}


def _here(host: str) -> tuple[dict[int, bool], list[str]]:
    """The OSDs on a host, each with whether it runs, and by which names they get ``noout``.

    They are those that CRUSH has there, and those that last started there by their own word: a site may have buckets
    ``node1-ssd`` and ``node1-hdd``, or have moved an OSD by hand.
    """
    tree, metadata, dump = __salt__["cluster_cli.ask_all"](HERE)
    found = [node["children"] for node in tree["nodes"] if (node["type"], node["name"]) == ("host", host)]
    below = {osd for osds in found for osd in osds}
    # A host's own name may have its domain, which ours has not; an OSD that never started has told none.
    started = {osd["id"] for osd in metadata if osd.get("hostname", "").partition(".")[0] == host}
    osds = {osd["osd"]: bool(osd["up"]) for osd in dump["osds"] if osd["osd"] in below | started}
    return osds, [*([host] if below else []), *(f"osd.{osd}" for osd in sorted(osds.keys() - below))]
