"""What the cluster has for its monitoring, on a host with the admin's key. What to do is planned on the master."""

OPTION = "mgr/prometheus/scrape_interval"


def inspect() -> dict:
    """Return ``{modules, scrape_interval}``: the managers' enabled modules, and every how many seconds Ceph's exporter
    is expected to be asked; ``None`` where that is not set.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_monitoring.inspect
    """
    config, modules = __salt__["cluster_cli.ask_all"]([["config", "dump"], ["mgr", "module", "ls"]])
    set_to = [row["value"] for row in config if (row["section"], row["name"]) == ("mgr", OPTION)]
    return {"modules": modules["enabled_modules"], "scrape_interval": set_to[0] if set_to else None}
