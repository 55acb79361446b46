"""Where this host's chrony takes the time from."""


def settings() -> list[str]:
    """Return the lines that chrony's own configuration is to have more: sources, or how to be one.

    Sources are the pillar's ``time_server``; without one the Salt master's host. A host that is a source itself keeps
    those that its distribution or site gave it, and serves its own clock where none of them answers.

    CLI Example:

    .. code-block:: bash

        salt 'node1' host_time.settings
    """
    servers = __pillar__.get("time_server") or __grains__["master"]
    sources = [servers] if isinstance(servers, str) else list(servers)
    if any(_here(source) for source in sources):
        # 10: any source with a clock of its own is preferred (chrony.conf(5), local).
        return ["local stratum 10", "allow"]
    return [f"server {source} iburst prefer" for source in sources]


def _here(source: str) -> bool:
    """Whether a name or address is this host's."""
    own = {__grains__[key] for key in ("id", "host", "fqdn")}
    own |= {*__grains__.get("ipv4", ()), *__grains__.get("ipv6", ())}
    by_name = {__grains__["master"]: __opts__.get("master_ip"), "localhost": "127.0.0.1"}
    return source in own or by_name.get(source) in own
