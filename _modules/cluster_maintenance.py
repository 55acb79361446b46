"""Whether the running cluster can do without a host for a moment, and ``noout`` for that host."""

NOTE = "halocline/noout"  # in the monitors' key store: the host whose noout is ours to take away


def begin(host: str) -> list[int]:
    """Set ``noout`` for a host, and keep that it is ours; return the host's OSDs. Without any, nothing is set.

    host
        The host's name, as CRUSH and the monitors have it.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.begin node1
    """
    if osds := _osds(host):
        __salt__["cluster_cli.tell"](["config-key", "set", NOTE, host])
        __salt__["cluster_cli.tell"](["osd", "set-group", "noout", host])
    return osds


def end() -> list[str]:
    """Take away the ``noout`` that ``begin`` has set, of an interrupted run too; return its host, empty for none.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.end
    """
    host = __salt__["cluster_cli.kept"](NOTE)
    if host is None:
        return []
    __salt__["cluster_cli.tell"](["osd", "unset-group", "noout", host])
    __salt__["cluster_cli.tell"](["config-key", "rm", NOTE])
    return [host]


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


def _osds(host: str, running: bool = False) -> list[int]:
    """The OSDs that CRUSH has on a host, all or those that run; none where it does not know the host."""
    nodes = {node["id"]: node for node in __salt__["cluster_cli.ask"](["osd", "tree"])["nodes"]}
    mine = [node["children"] for node in nodes.values() if (node["type"], node["name"]) == ("host", host)]
    return sorted(osd for osds in mine for osd in osds if not running or nodes[osd]["status"] == "up")
