"""What of the cluster serves its monitoring, on a host with the admin's key. What to do is planned on the master."""

OPTION = "mgr/prometheus/scrape_interval"


def found():
    """Return ``{modules, scrape_interval}``: the managers' enabled modules, and every how many seconds Ceph's exporter
    is expected to be asked; ``None`` where nobody said.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_monitoring.found
    """
    ask = __salt__["cluster_cli.ask"]
    said = [row["value"] for row in ask(["config", "dump"]) if (row["section"], row["name"]) == ("mgr", OPTION)]
    return {"modules": ask(["mgr", "module", "ls"])["enabled_modules"], "scrape_interval": said[0] if said else None}
