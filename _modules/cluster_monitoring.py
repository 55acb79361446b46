"""What the cluster has for its monitoring, on a host with the admin's key. What to do is planned on the master."""

OPTION = "mgr/prometheus/scrape_interval"


def inspect() -> dict:
    """Return ``{modules, scrape_interval}``: the managers' enabled modules, and every how many seconds Ceph's exporter
    is expected to be asked; ``None`` where that is not set.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_monitoring.inspect
    """
    ask = __salt__["cluster_cli.ask"]
    set_to = [row["value"] for row in ask(["config", "dump"]) if (row["section"], row["name"]) == ("mgr", OPTION)]
    enabled = ask(["mgr", "module", "ls"])["enabled_modules"]
    return {"modules": enabled, "scrape_interval": set_to[0] if set_to else None}
