"""Whether the running cluster can do without a host for a moment, and ``noout`` for that host."""

from collections.abc import Sequence

from salt.exceptions import CommandExecutionError

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

    host
        As for ``begin``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.needed node1
    """
    mons = {mon["name"] for mon in __salt__["cluster_cli.ask"](["mon", "dump"])["mons"]}
    questions = [["mon", "ok-to-stop", host]] if host in mons else []
    questions += [["osd", "ok-to-stop", *map(str, osds)]] if (osds := _osds(host)) else []
    return [why for words in questions if (why := _refused(words))]


def _refused(words: Sequence[str]) -> str:
    """Ceph's own words where it says no, by its exit status."""
    try:
        __salt__["cluster_cli.tell"](words)
    except CommandExecutionError as err:
        return str(err)
    return ""


def _osds(host: str) -> list[int]:
    """The OSDs that CRUSH has on a host; none where it does not know the host."""
    nodes = __salt__["cluster_cli.ask"](["osd", "tree"])["nodes"]
    return sorted(
        child for node in nodes if (node["type"], node["name"]) == ("host", host) for child in node["children"]
    )
