"""Alerts that a host's maintenance would raise, silenced by this host's Alertmanager through its own amtool."""

import halocline

URL = "http://127.0.0.1:9093"
LIMIT = 30  # seconds one command may take
BY = "halocline/{}"  # who made a silence: by this it is found again
# Of Ceph's own rules (ceph_default_alerts.yml of 16.2.15) those that name no host and that a host's absence raises.
# What another failure would raise beside is not here: CephHealthError, CephPGsInactive, CephPGUnavilableBlockingIO,
# CephFilesystemOffline, CephFilesystemDegraded.
RULES = (
    *("CephHealthWarning", "CephMonDown", "CephMonDownQuorumAtRisk", "CephOSDDown", "CephOSDDownHigh"),
    *("CephOSDHostDown", "CephPGsUnclean", "CephFilesystemInsufficientStandby"),
)


def silence(host: str, hours: int) -> list[str]:
    """Silence the alerts about a host, and those rules that its absence alone raises; return the silences' ids.

    host
        Its host name, which Prometheus has as ``instance``.
    hours
        After which the silences end by themselves.

    CLI Example:

    .. code-block:: bash

        salt 'client1' host_alerts.silence node1 4
    """
    unsilence(host)  # those of an interrupted run, of which one may lack
    for matcher in (f'instance="{host}"', f'alertname=~"{"|".join(RULES)}"'):
        about = ["--author", BY.format(host), "--duration", f"{int(hours)}h", "--comment", f"maintenance of {host}"]
        _amtool("add", *about, matcher)
    return _silences(host)


def unsilence(host: str) -> list[str]:
    """End the silences of a host's maintenance; return their ids.

    host
        As for ``silence``.

    CLI Example:

    .. code-block:: bash

        salt 'client1' host_alerts.unsilence node1
    """
    ids = _silences(host)
    if ids:
        _amtool("expire", *ids)
    return ids


def _silences(host: str) -> list[str]:
    return _amtool("query", "--quiet", "--created-by", BY.format(host)).split()


def _amtool(*words: str) -> str:
    return halocline.run(["amtool", "--alertmanager.url", URL, "silence", *words], limit=LIMIT)
