"""What services of this host do, as a state."""

import halocline


@halocline.cluster_state
def listening(name: str, process: str, port: int, unit: str, daemon: str | None = None) -> dict:
    """A process listens on a TCP port, so its unit really came up; ``name`` is only a name.

    process, port, unit, daemon
        As for the execution function of the same name.
    """
    __salt__["host_services.listening"](process, port, unit, daemon, limit=0 if __opts__["test"] else 60)
    return halocline.unchanged(name, f"{process} listens on port {port}")
