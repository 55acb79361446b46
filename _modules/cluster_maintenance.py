"""Whether the running cluster can do without a host, ``noout`` for that host, and which hosts are in maintenance."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from salt.exceptions import CommandExecutionError

NOTE = "halocline/noout"  # in the monitors' key store: the hosts whose noout is ours to take away
DRAINED = "halocline/drained"  # beside it: the gateways that are out of their balancer for a moment
RECORDS = "halocline/maintenance/"  # beside it: a record for each host in maintenance, under its host name


def begin(host: str) -> list[int]:
    """Set ``noout`` for a host, and keep that it is ours; return the host's OSDs. Without any, nothing is set.

    host
        The host's name, as CRUSH and the monitors have it.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.begin node1
    """
    if osds := _osds(host):
        noted = (__salt__["cluster_cli.kept"](NOTE) or "").split()
        __salt__["cluster_cli.tell"](["config-key", "set", NOTE, " ".join(sorted({*noted, host}))])
        __salt__["cluster_cli.tell"](["osd", "set-group", "noout", host])
    return osds


def end() -> list[str]:
    """Take away the ``noout`` that ``begin`` has set, of an interrupted run too; return its hosts, empty for none.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.end
    """
    there = noted()
    if not there:
        return []
    away = hosts()  # whose noout is that of their maintenance, which ends by maintenance.end
    for host in there:
        if host not in away:
            __salt__["cluster_cli.tell"](["osd", "unset-group", "noout", host])
    __salt__["cluster_cli.tell"](["config-key", "rm", NOTE])
    return there


def noted() -> list[str]:
    """Return the hosts whose ``noout`` ``begin`` has set and nobody took away; empty for none.

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
    kept = __salt__["cluster_cli.ask"](["config-key", "dump", RECORDS])
    return {key.removeprefix(RECORDS): json.loads(text) for key, text in kept.items()}


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


def hold(host: str) -> list[int]:
    """Set ``noout`` for a host that is in maintenance; return its OSDs. Without any, nothing is set.

    CLI Example: for ``salt-run maintenance.begin``.
    """
    if host not in hosts():
        raise CommandExecutionError(f"{host} is not in maintenance: nobody would take its noout away")
    if osds := _osds(host):
        __salt__["cluster_cli.tell"](["osd", "set-group", "noout", host])
    return osds


def forget(host: str) -> bool:
    """Take ``noout`` away from a host, then the record of its maintenance.

    CLI Example: for ``salt-run maintenance.end``.
    """
    if _osds(host):
        __salt__["cluster_cli.tell"](["osd", "unset-group", "noout", host])
    if host in hosts():
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

    What is down already is not asked of: the cluster does without it, however little is left.

    host
        As for ``begin``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.needed node1
    """
    quorum = __salt__["cluster_cli.ask"](["quorum_status"])["quorum_names"]
    questions = [["mon", "ok-to-stop", host]] if host in quorum else []
    questions += [["osd", "ok-to-stop", *map(str, osds)]] if (osds := _osds(host, running=True)) else []
    return [why for words in questions if (why := __salt__["cluster_cli.refused"](words))]


def managers() -> dict[str, Any]:
    """Return ``{active, available, running}``: the active manager, whether it answers, and all that run.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.managers
    """
    dump = __salt__["cluster_cli.ask"](["mgr", "dump"])
    running = [dump["active_name"], *(standby["name"] for standby in dump["standbys"])]
    return {"active": dump["active_name"], "available": dump["available"], "running": sorted(filter(None, running))}


def _osds(host: str, running: bool = False) -> list[int]:
    """The OSDs that CRUSH has on a host, all or those that run; none where it does not know the host."""
    nodes = {node["id"]: node for node in __salt__["cluster_cli.ask"](["osd", "tree"])["nodes"]}
    mine = [node["children"] for node in nodes.values() if (node["type"], node["name"]) == ("host", host)]
    return sorted(osd for osds in mine for osd in osds if not running or nodes[osd]["status"] == "up")
