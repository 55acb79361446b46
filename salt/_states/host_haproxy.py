"""The proxy before the object gateways, as a state."""

import halocline
from salt.exceptions import CommandExecutionError


@halocline.state
def reachable(name: str) -> dict:
    """Clients lose no gateway by what HAProxy is to be given. It stays as it is while it serves them by gateways at
    their former port, or without TLS, and none runs with its new settings yet; ``name`` is only a name.
    """
    if __salt__["host_haproxy.held"]():
        raise CommandExecutionError(
            "no gateway answers at its new place yet, so HAProxy stays as it is, and serves: 'salt-run state.orch "
            "ceph.stage.restart' restarts them one by one, and brings HAProxy along"
        )
    return halocline.unchanged(name, "its gateways can be reached")
