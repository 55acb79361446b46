"""Where this host's chrony takes the time from."""

import ipaddress


def settings() -> list[str]:
    """Return the lines that chrony's own configuration is to have more: sources, or how to be one.

    Sources are the pillar's ``time_server``; without one the Salt master's host. A host that is a source itself keeps
    those that its distribution or site gave it, takes the others of the list besides, and serves its own clock where
    none of them answers.

    CLI Example:

    .. code-block:: bash

        salt 'node1' host_time.settings
    """
    servers = __pillar__.get("time_server") or __grains__["master"]
    sources = [servers] if isinstance(servers, str) else list(servers)
    others = [source for source in sources if not _here(source)]
    if len(others) < len(sources):
        # 10: any source with a clock of its own is preferred; orphan: where none has, hosts that name each other follow
        # one of them (chrony.conf(5), local).
        return [
            *(f"server {source} iburst" for source in others),
            f"local stratum 10{' orphan' if others else ''}",
            "allow",
        ]
    return [f"server {source} iburst prefer" for source in sources]


def _here(source: str) -> bool:
    """Whether a name or address is this host's."""
    own = {__grains__[key].lower() for key in ("id", "host", "fqdn")}
    own |= {_plain(address) for address in (*__grains__.get("ipv4", ()), *__grains__.get("ipv6", ()))}
    by_name = {_plain(__grains__["master"]): _plain(__opts__.get("master_ip") or ""), "localhost": "127.0.0.1"}
    return _plain(source) in own or by_name.get(_plain(source)) in own


def _plain(name: str) -> str:
    """A name or address as any other form of it: Salt writes IPv6 in brackets, and people write it in several ways."""
    try:
        return str(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return name.lower()
