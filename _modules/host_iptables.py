"""Which packets this host's iptables (also those of firewalld's iptables backend, and ip6tables) would not let in."""

import ipaddress
import shlex
import shutil
from collections.abc import Mapping, Sequence

import halocline

Chains = Mapping[str, list[tuple[list[str], str]]]  # by name, each rule's words and its line

LIMIT = 10  # seconds one command may take
ENDS = ("ACCEPT", "DROP", "REJECT", "RETURN")
# Options whose value says nothing about whether a packet of ours matches.
IGNORED = ("-m", "--match", "--comment", "--reject-with", "--log-prefix", "--log-level", "--set-mark", "--nflog-group")


def blocks(packets: Sequence[Mapping]) -> list[dict | None]:
    """Return for each packet the rule that blocks it, ``{rule, sure}``, or None.

    packets
        ``[{source, destination, interface, port}]``: the first packet of a TCP connection.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' host_iptables.blocks '[{source: 10.0.0.2, destination: 10.0.0.1, interface: eth0, port: 3300}]'
    """
    saved = {}
    for packet in packets:
        if (tool := _tool(packet)) not in saved:
            saved[tool] = _save(tool)
    return [verdict(saved[_tool(packet)], packet) for packet in packets]


def verdict(saved: str, packet: Mapping) -> dict | None:
    """Return the rule of ``iptables-save``'s text that blocks a packet, ``{rule, sure}``, or None.

    Not sure: a rule before it, which we do not understand whole, may let the packet in.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' host_iptables.verdict "$(cat rules)" '{source: 10.0.0.2, destination: 10.0.0.1, port: 22}'
    """
    chains, policy = _filter(saved)
    unclear: list[str] = []
    end, rule = _walk("INPUT", chains, packet, unclear)
    if end is None:
        end, rule = policy, f"INPUT's policy {policy}"
    return {"rule": rule, "sure": not unclear} if end in ("DROP", "REJECT") else None


def _tool(packet: Mapping) -> str:
    return "ip6tables-save" if ":" in packet["destination"] else "iptables-save"


def _save(tool: str) -> str:
    """The rules as the tool prints them; empty where there is none or they cannot be read."""
    return halocline.run([tool, "-t", "filter"], ok=None, limit=LIMIT) if shutil.which(tool) else ""


def _filter(saved: str) -> tuple[Chains, str]:
    """The rules of each chain of table filter, and INPUT's policy."""
    chains: dict[str, list[tuple[list[str], str]]] = {}
    policy, table = "ACCEPT", ""
    for line in saved.splitlines():
        if line.startswith("*"):
            table = line[1:].strip()
        elif table == "filter" and line.startswith(":INPUT "):
            policy = line.split()[1]
        elif table == "filter" and line.startswith("-A "):
            _, chain, *words = shlex.split(line)
            chains.setdefault(chain, []).append((words, line))
    return chains, policy


def _walk(chain: str, chains: Chains, packet: Mapping, unclear: list[str]) -> tuple[str | None, str | None]:
    """How a packet leaves a chain, and by which rule; None where it only passes."""
    for words, line in chains.get(chain, []):
        matches, target = _rule(words, packet)
        goto = "-g" in words or "--goto" in words
        if matches is False or target is None:
            continue
        if matches is None:  # understood in part: it may let the packet in, or send it elsewhere
            if target not in ("DROP", "REJECT"):
                unclear.append(line)
            continue
        if target == "RETURN":
            return None, None
        end, rule = (target, line) if target in ENDS else _walk(target, chains, packet, unclear)
        if end or goto:
            return end, rule
    return None, None


def _rule(words: Sequence[str], packet: Mapping) -> tuple[bool | None, str | None]:
    """Whether a rule matches (None: not understood), and its target."""
    matches: bool | None = True
    target, negated = None, False
    options = iter(words)
    for option in options:
        if option == "!":
            negated = True
            continue
        value = next(options, "")
        if option in ("-j", "-g", "--jump", "--goto"):
            target = value
        elif option == "--tcp-flags":
            first_packets = (value, next(options, "")) == ("FIN,SYN,RST,ACK", "SYN")
            matches = _both(matches, first_packets != negated)
        elif option not in IGNORED:
            holds = _option(option, value, packet)
            matches = _both(matches, holds if holds is None else holds != negated)
        negated = False
    return matches, target


def _both(left: bool | None, right: bool | None) -> bool | None:
    """Both are true; None where that is not known."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _option(option: str, value: str, packet: Mapping) -> bool | None:
    if option in ("-p", "--protocol"):
        return value in ("tcp", "all", "6", "0")
    if option in ("-s", "--source", "-d", "--destination"):
        address = packet["source"] if option in ("-s", "--source") else packet["destination"]
        return ipaddress.ip_address(address) in ipaddress.ip_network(value, strict=False)
    if option in ("-i", "--in-interface"):
        name = packet.get("interface", "")
        return name.startswith(value[:-1]) if value.endswith("+") else name == value
    if option in ("--dport", "--dports", "--destination-port", "--destination-ports"):
        return any(_port(part, packet["port"]) for part in value.split(","))
    if option in ("--ctstate", "--state"):
        return "NEW" in value.split(",")
    if option == "--dst-type":
        return "LOCAL" in value.split(",")  # a packet that is asked about is for this host
    return None


def _port(part: str, port: int) -> bool:
    low, colon, high = part.partition(":")
    return int(low or 0) <= port <= int((high or 65535) if colon else low)
